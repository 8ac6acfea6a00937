package tui_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
	"corral/tui/terminal"
	"corral/vt"
)

func TestUpdateAndViewMakeNoCalls(t *testing.T) {
	t.Parallel()
	var all []sessions.Session
	for i := range 40 {
		all = append(all, session(i, fmt.Sprintf("s%d", i), sessions.Detached))
	}
	d := with(t, 120, 40, all...)
	keys := []string{"j", "k", "G", "g", "n", "esc", "r", "esc", "?", "esc", "i", "esc", "z", "x", "n", "x", "y", "down", "up", "R", "X", "u", "ctrl+l"}
	for i := range 1000 {
		_, _ = d.app.Update(tuitest.Key(keys[i%len(keys)])) // the command it returns is not run
		if view := d.app.View(); view != "" {
			t.Fatalf("View = %q; the terminal is not Bubble Tea's", view)
		}
	}
	if calls := d.backend.Calls(); len(calls) > 0 {
		t.Errorf("Update or View called the backend: %v", calls)
	}
}

func TestIdleDashboardPresentsNothing(t *testing.T) {
	t.Parallel()
	d := with(t, 80, 24, session(1, "one", sessions.Detached))
	d.stream(session(1, "", "").ID, 1).Live(55, 22, "$ ")
	d.shows("$")
	before, _, _ := d.display.Counts()
	d.backend.Tell(sessions.Change{Type: sessions.ChangeAlive})
	d.Update(terminalEvent(terminal.SyncSupported{}))
	if after, _, _ := d.display.Counts(); after != before {
		t.Errorf("%d frames while nothing happened", after-before)
	}
	if n := d.Running(); n != 0 {
		t.Errorf("%d clocks run in an idle dashboard", n)
	}
}

func TestEnterGivesAndPrefixTakesTheKeyboard(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Detached)
	d := with(t, 80, 24, one)
	s := d.stream(one.ID, 1)
	s.Live(55, 22, "\x1b[?1000h\x1b[?2004h$ ")
	d.shows("$")
	d.Press("enter")
	sink, area := d.display.Sink()
	if sink == nil || area.W != 55 || area.H != 22 {
		t.Fatalf("keyboard not given: %v %v", sink, area)
	}
	if m := d.display.Modes(); m.MouseTracking != 1000 || !m.BracketedPaste {
		t.Errorf("modes of the program do not reach the terminal: %+v", m)
	}
	if c := d.display.Cursor(); !c.Visible || c.X != area.X+2 || c.Y != area.Y {
		t.Errorf("cursor = %+v, want it behind the prompt in %v", c, area)
	}
	sink.Input([]byte("ls\r"))
	sink.Paste([]byte("pasted"))
	if got := s.Input(); got != "ls\rpasted" {
		t.Errorf("the program read %q", got)
	}
	d.Press(`ctrl+\`)
	if d.focused() || d.display.Modes() != (vt.Modes{}) || d.display.Cursor().Visible {
		t.Error("the prefix key did not give everything back")
	}
	if got := strings.Join(s.Calls(), " "); got != "own paste release" {
		t.Errorf("stream calls: %s", got)
	}
}

func TestPrefixTwiceGoesToTheProgram(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Detached)
	d := with(t, 80, 24, one)
	s := d.stream(one.ID, 1)
	s.Live(55, 22, "$ ")
	d.shows("$")

	d.Press("enter", `ctrl+\`, `ctrl+\`)
	if got := s.Input(); got != "\x1c" || !d.focused() {
		t.Errorf("twice: program read %q, keyboard with it: %v", got, d.focused())
	}
	d.Press(`ctrl+\`)
	d.now = d.now.Add(2 * time.Second)
	d.Press(`ctrl+\`)
	if got := s.Input(); got != "\x1c" || d.focused() {
		t.Errorf("a late second press went to the program: %q", got)
	}
	d.Press("enter", `ctrl+\`, "?", "esc", `ctrl+\`)
	if got := s.Input(); got != "\x1c" {
		t.Errorf("a press after another key went to the program: %q", got)
	}
}

func TestInputKeepsItsOrder(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Detached)
	d := with(t, 80, 24, one)
	s := d.stream(one.ID, 1)
	s.Live(55, 22, "$ ")
	d.shows("$")
	d.Press("enter")
	sink, _ := d.display.Sink()
	var want strings.Builder
	buf := make([]byte, 0, 8) // one buffer for all, as the reader has
	for i := range 5000 {
		buf = fmt.Appendf(buf[:0], "%d ", i)
		want.Write(buf)
		sink.Input(buf)
	}
	if s.Input() != want.String() {
		t.Error("5000 keys did not arrive in order")
	}
}

func TestDownIsSaidAndUStarts(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	cfg := tui.Config{Start: func(context.Context) error { started <- struct{}{}; return nil }}
	d := open(t, 120, 40, cfg, &tuitest.Backend{})
	d.tell(session(1, "one", sessions.Detached))
	d.backend.Link(sessions.Link{State: sessions.LinkReconnecting, Err: fmt.Errorf("watch: %w", tui.ErrDown)})
	d.shows("stopped by corral down, press u")
	d.Press("x")
	d.shows("press u to start it")
	d.Press("u")
	d.Until("the start", func() bool { return len(started) == 1 })
	d.backend.Link(sessions.Link{State: sessions.LinkLive})
	d.Until("the banner gone", func() bool { return !strings.Contains(d.display.Text(), "corral down") })
}

func TestFocusTriesTheServerAtOnce(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Running)
	d := with(t, 80, 24, one)
	s := d.stream(one.ID, 1)
	d.backend.Link(sessions.Link{State: sessions.LinkReconnecting, RetryAt: d.now.Add(9 * time.Second)})
	d.shows("the server is away; reconnecting in 9 s")
	if n := d.backend.Watches(); n != 1 {
		t.Fatalf("%d watches", n)
	}
	d.Update(terminalEvent(terminal.Focus{In: true}))
	d.Until("another watch", func() bool { return d.backend.Watches() == 2 })
	if got := strings.Join(s.Calls(), " "); got != "wake" {
		t.Errorf("the stream was told %q, want wake", got)
	}
}

func TestCreateShowsTheNewSession(t *testing.T) {
	t.Parallel()
	made := session(9, "fresh", sessions.Detached)
	var asked sessions.CreateRequest
	b := &tuitest.Backend{OnCreate: func(r sessions.CreateRequest) (sessions.Session, error) {
		asked = r
		return made, nil
	}}
	d := open(t, 120, 40, tui.Config{CWD: "/home/me"}, b)
	d.tell(session(1, "one", sessions.Detached))
	d.Press("n")
	d.Type("fresh")
	d.Press("enter")
	d.stream(made.ID, 1)
	if asked.Title != "fresh" || asked.CWD != "/srv/one" || asked.Kind != sessions.KindShell || asked.Cols != 87 || asked.Rows != 38 {
		t.Errorf("asked for %+v", asked)
	}
	if text := d.display.Text(); strings.Contains(text, "New session") {
		t.Errorf("the form is still open:\n%s", text)
	}
	if d.focused() {
		t.Error("a new session took the keyboard unasked")
	}
}

func TestFailedCreateKeepsTheForm(t *testing.T) {
	t.Parallel()
	b := &tuitest.Backend{OnCreate: func(sessions.CreateRequest) (sessions.Session, error) {
		return sessions.Session{}, &sessions.Error{Code: sessions.CodeInvalid, Message: "/home/me is no directory"}
	}}
	d := open(t, 120, 40, tui.Config{}, b)
	d.tell()
	d.Press("n")
	d.Type("typed")
	d.Press("enter")
	d.shows("is no directory")
	d.shows("typed")
}

func TestStopAsksFirst(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Detached)
	d := with(t, 80, 24, one)
	d.Press("x")
	d.shows(`Stop "one"?`)
	d.Press("n")
	if calls := d.backend.Calls(); len(calls) > 0 {
		t.Errorf("no meant %v", calls)
	}
	d.Press("x", "y")
	d.Until("the stop", func() bool { return strings.Join(d.backend.Calls(), " ") == "stop" })
}

func TestRecoverableIsClosedNotStopped(t *testing.T) {
	t.Parallel()
	d := with(t, 80, 24, session(1, "one", sessions.Recoverable))
	d.Press("x")
	d.shows(`Close "one"?`)
	d.Press("y")
	d.Until("the close", func() bool { return strings.Join(d.backend.Calls(), " ") == "close" })
}

func TestImpossibleKeysSayWhy(t *testing.T) {
	t.Parallel()
	d := with(t, 120, 40, session(1, "one", sessions.Running))
	d.Press("R")
	d.shows("only an ended session can be restarted")
	if calls := d.backend.Calls(); len(calls) > 0 {
		t.Errorf("calls: %v", calls)
	}
}

func TestFailureIsShown(t *testing.T) {
	t.Parallel()
	b := &tuitest.Backend{OnRestart: func(sessions.ID) (sessions.Session, error) { return sessions.Session{}, errors.New("it broke") }}
	d := open(t, 80, 24, tui.Config{}, b)
	d.tell(session(1, "one", sessions.Failed))
	d.Press("R")
	d.shows("restart: it broke")
}

func TestBurstOfKeysIsTakenOneByOne(t *testing.T) {
	t.Parallel()
	d := with(t, 80, 24, session(1, "one", sessions.Detached), session(2, "two", sessions.Detached), session(3, "three", sessions.Detached))
	d.Press("jjn")
	d.shows("New session")
	d.shows("/srv/three")
}

func TestPasteIsNoRowOfCommands(t *testing.T) {
	t.Parallel()
	d := with(t, 80, 24, session(1, "one", sessions.Detached))
	for _, text := range []string{"x", "x1", "?"} {
		k := tuitest.Key(text)
		k.Paste = true
		d.Update(k)
		if screen := d.display.Text(); strings.Contains(screen, "Stop \"") || strings.Contains(screen, "Keys") {
			t.Errorf("the paste %q was taken for keys:\n%s", text, screen)
		}
	}
}

func TestQuit(t *testing.T) {
	t.Parallel()
	d := with(t, 80, 24, session(1, "one", sessions.Detached))
	d.Press("q")
	d.Until("the quit", d.Quit)
}

func TestSuspendAndRedraw(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Detached)
	d := with(t, 80, 24, one)
	s := d.stream(one.ID, 1)
	d.Press("ctrl+z")
	d.Until("the stop", func() bool { _, _, stops := d.display.Counts(); return stops == 1 })
	d.Update(terminalEvent(terminal.Resumed{}))
	d.Press("ctrl+l")
	if _, invalidated, _ := d.display.Counts(); invalidated != 2 {
		t.Errorf("%d repaints for a resume and a ctrl+l", invalidated)
	}
	if got := strings.Join(s.Calls(), " "); got != "wake" {
		t.Errorf("after a resume the stream was told %q, want wake", got)
	}
}
