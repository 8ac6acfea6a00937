package tuitest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"
)

// patience is how long a test waits for something that has to happen. It is long: a loaded machine must not fail a test.
const patience = 20 * time.Second

// Loop runs a model as Bubble Tea does, one message after the other, on the test's goroutine.
type Loop struct {
	t     *testing.T
	model tea.Model
	msgs  chan tea.Msg
	done  chan struct{}
	quit  bool

	running atomic.Int64
}

// NewLoop returns a loop over a model. Stop it before waiting for those who Post.
func NewLoop(t *testing.T, m tea.Model) *Loop {
	t.Helper()
	l := &Loop{t: t, model: m, msgs: make(chan tea.Msg), done: make(chan struct{})}
	l.run(m.Init())
	return l
}

// Post brings a message from another goroutine, as Program.Send does; it waits until the loop takes it.
func (l *Loop) Post(m tea.Msg) {
	select {
	case l.msgs <- m:
	case <-l.done:
	}
}

// Stop drops what is posted from now on.
func (l *Loop) Stop() { close(l.done) }

// Update has the model handle one message now, and runs the command it returns.
func (l *Loop) Update(m tea.Msg) {
	switch m := m.(type) {
	case nil:
		return
	case tea.QuitMsg:
		l.quit = true
		return
	case tea.BatchMsg:
		for _, c := range m {
			l.run(c)
		}
		return
	}
	_, cmd := l.model.Update(m)
	l.run(cmd)
}

func (l *Loop) run(c tea.Cmd) {
	if c == nil {
		return
	}
	l.running.Add(1)
	go func() {
		m := c()
		l.running.Add(-1)
		l.Post(m)
	}()
}

// Running returns how many commands have not answered yet, clocks included.
func (l *Loop) Running() int { return int(l.running.Load()) }

// Quit reports whether the model asked to quit.
func (l *Loop) Quit() bool { return l.quit }

// Press has the model handle keys, in Bubble Tea's spelling; what is no special key is typed as text.
func (l *Loop) Press(keys ...string) {
	for _, k := range keys {
		l.Update(Key(k))
	}
}

// Type has the model handle each character of s as a key.
func (l *Loop) Type(s string) {
	for _, r := range s {
		l.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
}

// Until handles messages until ok.
func (l *Loop) Until(what string, ok func() bool) {
	l.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !ok() {
		select {
		case m := <-l.msgs:
			l.Update(m)
		case <-deadline.C:
			l.t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// Key returns the message of a key.
func Key(name string) tea.KeyMsg {
	special := map[string]tea.KeyType{
		"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "up": tea.KeyUp,
		"down": tea.KeyDown, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
		"backspace": tea.KeyBackspace, "ctrl+c": tea.KeyCtrlC, "ctrl+l": tea.KeyCtrlL, "ctrl+z": tea.KeyCtrlZ,
		"ctrl+u": tea.KeyCtrlU, `ctrl+\`: tea.KeyCtrlBackslash, "ctrl+v": tea.KeyCtrlV,
	}
	if t, ok := special[name]; ok {
		return tea.KeyMsg{Type: t}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

var update = flag.Bool("update", false, "write the goldens")

// Golden compares text with testdata/<name>.golden; -update writes it.
func Golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s differs (-want +got); -update writes it:\n%s", file, diff)
	}
}
