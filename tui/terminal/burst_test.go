package terminal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/e2e/rounds"
	"corral/tui/canvas"
)

// dashboard is a program as small as one can be that has a pane: enter diverts, the prefix gives the keyboard back, the
// prefix again sends it.
type dashboard struct {
	term    *Terminal
	pane    *memory
	focused bool
	last    string
	keys    *memory // what the dashboard itself was told
}

func (d *dashboard) Init() tea.Cmd { return nil }
func (d *dashboard) View() string  { return "" }

func (d *dashboard) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	k, ok := m.(tea.KeyMsg)
	if !ok {
		return d, nil
	}
	runtime.Gosched() // leaves the reader time to run ahead
	switch s := k.String(); {
	case s == "enter":
		d.term.Divert(d.pane, canvas.Rect{W: 80, H: 24})
		d.focused = true
	case s == DefaultPrefix.String() && d.focused:
		d.focused = false
	case s == DefaultPrefix.String() && d.last == s:
		d.pane.Input(DefaultPrefix.Bytes())
		d.term.Divert(d.pane, canvas.Rect{W: 80, H: 24})
		d.focused = true
	case d.focused:
		d.keys.Input([]byte("!" + s)) // a key of the pane's
	default:
		d.keys.Input([]byte(s))
	}
	d.last = k.String()
	return d, nil
}

// TestBurst types into a real Bubble Tea program, as one burst and in random pieces, while other messages keep it busy:
// nothing is lost and nothing goes to the wrong side.
func TestBurst(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	term := open(t, p.config())
	d := &dashboard{term: term, pane: newMemory(), keys: newMemory()}
	ctx, cancel := context.WithCancel(context.Background())
	program := tea.NewProgram(d, tea.WithContext(ctx), tea.WithoutRenderer(), tea.WithInput(term.Input()), tea.WithoutSignalHandler())
	term.SetBarrier(func() { program.Send(nil) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = program.Run()
	}()
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		for ctx.Err() == nil {
			program.Send(struct{}{})
		}
	}()

	var pane, keys strings.Builder
	for i := range rounds.N(100, 400, 3000) {
		text := fmt.Sprintf("echo %d é漢\r\x1b[A", i)
		in := "jk\r" + text
		pane.WriteString(text)
		keys.WriteString("jk")
		if i%3 == 0 { // the prefix for the program
			in += "\x1c\x1c" + "after"
			pane.WriteString("\x1cafter")
		}
		in += "\x1cgG"
		keys.WriteString("gG")
		for len(in) > 0 {
			n := len(in)
			if i%2 == 1 {
				n = 1 + rand.IntN(n)
			}
			p.types(in[:n])
			in = in[n:]
		}
		if i%10 == 9 {
			d.pane.gets(t, pane.String())
			d.keys.gets(t, keys.String())
		}
	}
	d.pane.gets(t, pane.String())
	d.keys.gets(t, keys.String())

	start := time.Now()
	program.Quit()
	<-done
	if took := time.Since(start); took > 400*time.Millisecond {
		t.Errorf("quitting took %v: the input could not be cancelled", took)
	}
	cancel()
	<-busy
}

// TestSingleKeys checks that keys typed in one burst are messages of their own, and so is a paste.
func TestSingleKeys(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	term := open(t, p.config())
	d := &dashboard{term: term, pane: newMemory(), keys: newMemory()}
	program := tea.NewProgram(d, tea.WithoutRenderer(), tea.WithInput(term.Input()), tea.WithoutSignalHandler())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = program.Run()
	}()
	paste := strings.Repeat("漢x", 1000)
	p.types("jjj\x1b")
	d.keys.gets(t, "jjjesc")
	p.types("\x1b[200~" + paste + "\x1b[201~" + "\x1b[A")
	d.keys.gets(t, "jjjesc["+paste+"]up")
	program.Quit()
	<-done
}
