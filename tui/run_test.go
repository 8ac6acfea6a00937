package tui_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"corral/e2e/rounds"
	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
	"corral/tui/terminal"
	"corral/vt"
)

// program is the whole dashboard on a terminal of its own, with a fake backend behind it and an emulator as its user's
// eyes.
type program struct {
	t       *testing.T
	backend *tuitest.Backend
	master  *os.File
	outcome chan result

	mu     sync.Mutex
	screen *vt.Screen   // guarded by mu
	heard  func([]byte) // hears all that the dashboard prints; guarded by mu, may be nil
	wrote  chan struct{}
}

type result struct {
	tui.Outcome
	err error
}

// patience is how long a test waits for what has to happen.
const patience = 20 * time.Second

func run(ctx context.Context, t *testing.T, b *tuitest.Backend) *program {
	t.Helper()
	return runWith(ctx, t, b, b)
}

// nonblocking returns a file like f, which it closes, whose Close ends its Read. The PTY package leaves its files blocking.
func nonblocking(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	return os.NewFile(uintptr(fd), "master")
}

// runWith runs a dashboard with a backend of which b is a part.
func runWith(ctx context.Context, t *testing.T, whole tui.Backend, b *tuitest.Backend) *program {
	t.Helper()
	master, slave := openPTY(t, 80, 24)
	term, err := terminal.Open(terminal.Config{
		In: slave, Out: slave, Env: terminal.Env{Term: "xterm-256color", Locale: "C.UTF-8"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &program{
		t: t, backend: b, master: master, outcome: make(chan result, 1),
		screen: vt.New(80, 24), wrote: make(chan struct{}, 1),
	}
	var eyes sync.WaitGroup
	eyes.Go(p.watch)
	go func() {
		out, err := tui.Run(ctx, tui.Config{Backend: whole, Terminal: term, CWD: "/home/me"})
		if cerr := term.Close(); cerr != nil {
			t.Log("close:", cerr)
		}
		p.outcome <- result{out, err}
	}()
	t.Cleanup(func() {
		_ = slave.Close()
		_ = master.Close()
		eyes.Wait()
	})
	return p
}

func (p *program) watch() {
	buf := make([]byte, 32<<10)
	for {
		n, err := p.master.Read(buf)
		p.mu.Lock()
		_, _ = p.screen.Write(buf[:n])
		if p.heard != nil {
			p.heard(buf[:n])
		}
		p.mu.Unlock()
		select {
		case p.wrote <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (p *program) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.Frame().Text()
}

func (p *program) shows(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q", text), func(f *vt.Frame) bool { return strings.Contains(f.Text(), text) })
}

func (p *program) until(what string, ok func(*vt.Frame) bool) {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		f := p.screen.Frame()
		p.mu.Unlock()
		if ok(f) {
			return
		}
		select {
		case <-p.wrote:
		case <-deadline:
			p.t.Fatalf("waited in vain for %s; the screen:\n%s", what, f.Text())
		}
	}
}

func (p *program) typed(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.master, keys); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) ends() result {
	p.t.Helper()
	select {
	case r := <-p.outcome:
		return r
	case <-time.After(patience):
		p.t.Fatalf("the dashboard does not end; the screen:\n%s", p.text())
		return result{}
	}
}

// stream waits for the first stream.
func (p *program) stream() *tuitest.Stream {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		if all := p.backend.Streams(); len(all) > 0 {
			return all[0]
		}
		select {
		case <-p.wrote: // the header of the pane is drawn in the same update
		case <-deadline:
			p.t.Fatal("no stream was opened")
		}
	}
}

func TestProgramRunsFromFirstFrameToFarewell(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Detached)
	p := run(t.Context(), t, &tuitest.Backend{})
	p.backend.Link(sessions.Link{State: sessions.LinkLive})
	p.backend.Tell(sessions.Change{Type: sessions.ChangeSnapshot, Sessions: []sessions.Session{one}})
	s := p.stream()
	s.Live(55, 22, "$ ")
	p.shows("$")
	// In one burst: enter, what is meant for the program, the prefix, what is meant for the dashboard.
	p.typed("\recho hi\r\x1c?")
	p.shows("Keys")
	if got := s.Input(); got != "echo hi\r" {
		t.Errorf("the program read %q", got)
	}
	p.typed("q")
	p.typed("q")
	r := p.ends()
	if r.err != nil || r.Selected != one.ID || len(r.Sessions) != 1 {
		t.Errorf("outcome: %+v", r)
	}
	if s.Closed() != 1 {
		t.Errorf("stream closed %d times", s.Closed())
	}
}

func TestProgramGetsThePrefixInItsPlace(t *testing.T) {
	t.Parallel()
	p := run(t.Context(), t, &tuitest.Backend{})
	p.backend.Tell(sessions.Change{Type: sessions.ChangeSnapshot, Sessions: []sessions.Session{session(1, "one", sessions.Detached)}})
	s := p.stream()
	s.Live(55, 22, "$ ")
	p.shows("$")
	var want strings.Builder
	p.typed("\r")
	for i := range rounds.N(20, 100, 1000) {
		fmt.Fprintf(&want, "a%d\x1cb", i)
		p.typed(fmt.Sprintf("a%d\x1c\x1cb", i))
	}
	p.typed("\x1c?")
	p.shows("Keys")
	if got := s.Input(); got != want.String() {
		t.Errorf("the program read %q, want %q", got, want.String())
	}
	p.typed("qq")
	if r := p.ends(); r.err != nil {
		t.Error(r.err)
	}
}

func TestProgramKeepsFiveThousandKeysInOrder(t *testing.T) {
	t.Parallel()
	p := run(t.Context(), t, &tuitest.Backend{})
	p.backend.Tell(sessions.Change{Type: sessions.ChangeSnapshot, Sessions: []sessions.Session{session(1, "one", sessions.Detached)}})
	s := p.stream()
	s.Live(55, 22, "$ ")
	p.shows("$")
	p.typed("\r")
	var want strings.Builder
	for i := range 5000 {
		k := fmt.Sprintf("%c", 'a'+i%26)
		want.WriteString(k)
		p.typed(k)
	}
	p.typed("\x1c?")
	p.shows("Keys")
	if s.Input() != want.String() {
		t.Error("keys were lost or came out of order")
	}
	p.typed("qq")
	if r := p.ends(); r.err != nil {
		t.Error(r.err)
	}
}

func TestProgramEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := run(ctx, t, &tuitest.Backend{})
	p.shows("Looking for sessions")
	cancel()
	if r := p.ends(); r.err != nil {
		t.Error(r.err)
	}
}

func TestProgramEndsWhenTheTerminalHangsUp(t *testing.T) {
	t.Parallel()
	p := run(t.Context(), t, &tuitest.Backend{})
	p.shows("Looking for sessions")
	if err := p.master.Close(); err != nil {
		t.Fatal(err)
	}
	if r := p.ends(); r.err != nil {
		t.Error(r.err)
	}
}

func TestPanicsRestoreTheTerminal(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		backend *tuitest.Backend
		keys    string
	}{
		"in a command": {&tuitest.Backend{OnStop: func(sessions.ID) (sessions.Session, error) { panic("boom") }}, "xy"},
		"in update":    {&tuitest.Backend{OnAttach: func(sessions.ID) { panic("boom") }}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := run(t.Context(), t, tt.backend)
			p.backend.Tell(sessions.Change{Type: sessions.ChangeSnapshot, Sessions: []sessions.Session{session(1, "one", sessions.Detached)}})
			if tt.keys != "" {
				p.shows("one")
				p.typed(tt.keys)
			}
			r := p.ends()
			if r.err == nil || !strings.Contains(r.err.Error(), "boom") {
				t.Errorf("err = %v", r.err)
			}
			p.until("the ordinary screen", func(f *vt.Frame) bool { return !f.Modes.AlternateScreen })
		})
	}
}
