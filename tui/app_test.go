package tui_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/e2e/rounds"
	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
	"corral/tui/terminal"
	"corral/vt"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // goldens show times
	goleak.VerifyTestMain(m)
}

// dashboard is an App with everything round it faked, and its loop.
type dashboard struct {
	*tuitest.Loop
	t       *testing.T
	backend *tuitest.Backend
	display *tuitest.Display
	app     *tui.App
	now     time.Time // what the App takes the time to be
}

func open(t *testing.T, cols, rows int, cfg tui.Config, b *tuitest.Backend) *dashboard {
	t.Helper()
	d := &dashboard{t: t, backend: b, display: &tuitest.Display{}, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	cfg.Backend = b
	if cfg.CWD == "" {
		cfg.CWD = "/home/me"
	}
	rig := tui.NewRig(cfg, d.display, cols, rows, func() time.Time { return d.now })
	d.app = rig.App
	d.Loop = tuitest.NewLoop(t, rig.App)
	ctx, cancel := context.WithCancel(context.Background())
	ended := rig.Start(ctx, d.Post)
	t.Cleanup(func() { cancel(); d.Stop(); <-ended })
	return d
}

// with opens a dashboard that shows the given sessions.
func with(t *testing.T, cols, rows int, all ...sessions.Session) *dashboard {
	t.Helper()
	d := open(t, cols, rows, tui.Config{Version: "1.0"}, &tuitest.Backend{})
	d.tell(all...)
	return d
}

// tell makes the watch give a snapshot and waits until the dashboard has taken it.
func (d *dashboard) tell(all ...sessions.Session) {
	d.t.Helper()
	d.backend.Link(sessions.Link{State: sessions.LinkLive})
	d.backend.Tell(sessions.Change{Type: sessions.ChangeSnapshot, Sessions: all})
	d.Until("the list", func() bool { return d.app.Listed() && len(d.app.Sessions()) == len(all) })
}

// change makes the watch tell of one session and waits until it shows.
func (d *dashboard) change(s sessions.Session) {
	d.t.Helper()
	d.backend.Tell(sessions.Change{Type: sessions.ChangeSession, Session: &s})
	d.Until("the change", func() bool {
		for _, have := range d.app.Sessions() {
			if have.ID == s.ID {
				return have.State == s.State && have.UpdatedAt.Equal(s.UpdatedAt)
			}
		}
		return false
	})
}

// stream waits for the nth stream of a session.
func (d *dashboard) stream(id sessions.ID, n int) *tuitest.Stream {
	d.t.Helper()
	var found *tuitest.Stream
	d.Until(fmt.Sprintf("stream %d of %s", n, id), func() bool {
		count := 0
		for _, s := range d.backend.Streams() {
			if s.ID == id {
				if count++; count == n {
					found = s
					return true
				}
			}
		}
		return false
	})
	return found
}

func (d *dashboard) shows(text string) {
	d.t.Helper()
	deadline := d.display.Text
	d.Until(fmt.Sprintf("%q on the screen", text), func() bool { return strings.Contains(deadline(), text) })
}

func (d *dashboard) focused() bool {
	sink, _ := d.display.Sink()
	return sink != nil
}

var birth = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// session returns a session that was created n minutes after the first.
func session(n int, title string, state sessions.State) sessions.Session {
	return sessions.Session{
		ID:        sessions.ID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", n)),
		Title:     title,
		CWD:       "/srv/" + title,
		Kind:      sessions.KindShell,
		State:     state,
		Node:      "box",
		CreatedAt: birth.Add(time.Duration(n) * time.Minute),
		UpdatedAt: birth.Add(time.Duration(n) * time.Minute),
	}
}

func later(s sessions.Session, state sessions.State) sessions.Session {
	s.State = state
	s.UpdatedAt = s.UpdatedAt.Add(time.Second)
	return s
}

func TestPaneFollowsTheSelection(t *testing.T) {
	t.Parallel()
	one, two := session(1, "one", sessions.Detached), session(2, "two", sessions.Running)
	d := with(t, 80, 24, one, two)
	d.stream(one.ID, 1).Live(55, 22, "screen of one")
	d.shows("screen of one")

	d.now = d.now.Add(time.Second)
	d.Press("j")
	d.stream(two.ID, 1).Live(55, 22, "screen of two")
	d.shows("screen of two")

	d.Press("k") // warm: no other stream, at once
	if text := d.display.Text(); !strings.Contains(text, "screen of one") {
		t.Errorf("a warm pane is not shown at once:\n%s", text)
	}
	if n := len(d.backend.Streams()); n != 2 {
		t.Errorf("%d streams for 2 sessions", n)
	}
}

func TestHiddenPanesDrawNothing(t *testing.T) {
	t.Parallel()
	one, two := session(1, "one", sessions.Detached), session(2, "two", sessions.Running)
	d := with(t, 80, 24, one, two)
	first := d.stream(one.ID, 1)
	first.Live(55, 22, "screen of one")
	d.shows("screen of one")
	d.now = d.now.Add(time.Second)
	d.Press("j")
	second := d.stream(two.ID, 1)
	second.Live(55, 22, "screen of two")
	d.shows("screen of two")

	before, _, _ := d.display.Counts()
	for range 100 {
		first.Handler.StreamBytes([]byte("noise\r\n"))
	}
	second.Handler.StreamBytes([]byte(" end"))
	d.shows("screen of two end")
	if after, _, _ := d.display.Counts(); after != before+1 {
		t.Errorf("%d frames for one visible change", after-before)
	}
}

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

func TestEndShowsTheLastScreenAndRestartTakesItUpAgain(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Running)
	b := &tuitest.Backend{OnRestart: func(id sessions.ID) (sessions.Session, error) {
		s := later(later(one, sessions.Failed), sessions.Starting)
		return s, nil
	}}
	d := open(t, 80, 24, tui.Config{}, b)
	d.tell(one)
	s := d.stream(one.ID, 1)
	s.Live(55, 22, "last words")
	d.shows("last words")
	d.Press("enter")
	s.End(sessions.Failed, 7)
	d.shows("exited 7 - R restarts")
	if d.focused() {
		t.Error("a dead session keeps the keyboard")
	}
	if text := d.display.Text(); !strings.Contains(text, "last words") {
		t.Errorf("the last screen is gone:\n%s", text)
	}
	if c := d.display.Cell(25, 1); c.Style.Attr&vt.Faint == 0 {
		t.Error("the last screen is not dimmed")
	}
	seven := 7
	failed := later(one, sessions.Failed)
	failed.ExitCode = &seven
	d.change(failed)
	if n := len(d.backend.Streams()); n != 1 {
		t.Fatalf("%d streams: an ended session was attached again", n)
	}
	d.Press("R")
	d.shows("restarted one")
	d.change(later(later(failed, sessions.Starting), sessions.Detached))
	again := d.stream(one.ID, 2)
	again.Live(55, 22, "fresh prompt")
	d.shows("fresh prompt")
	if text := d.display.Text(); strings.Contains(text, "last words") || strings.Contains(text, "exited 7") {
		t.Errorf("the old screen shines through:\n%s", text)
	}
	d.Until("the old stream closed", func() bool { return s.Closed() == 1 })
}

func TestSomebodyElsesRestartIsTakenUp(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Running)
	d := with(t, 80, 24, one)
	s := d.stream(one.ID, 1)
	s.Live(55, 22, "$ ")
	d.shows("$")
	s.End(sessions.Recoverable, 0)
	lost := later(one, sessions.Recoverable)
	d.change(lost)
	d.shows("R restarts, x closes")
	d.change(later(lost, sessions.Detached)) // STARTING was merged away
	d.stream(one.ID, 2).Live(55, 22, "back again")
	d.shows("back again")
}

func TestReconnectingPaneCountsWhatIsLost(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Running)
	d := with(t, 80, 24, one)
	s := d.stream(one.ID, 1)
	s.Live(55, 22, "$ ")
	d.shows("$")
	d.Press("enter")
	s.SetDeaf(true)
	s.Handler.StreamLink(sessions.Link{State: sessions.LinkReconnecting, Attempt: 1, RetryAt: d.now.Add(3 * time.Second)})
	d.shows("reconnecting in 3 s")
	sink, _ := d.display.Sink()
	sink.Input([]byte("x"))
	sink.Input([]byte("y"))
	d.shows("(2 keys dropped)")
	s.SetDeaf(false)
	s.Handler.StreamLink(sessions.Link{State: sessions.LinkLive})
	d.Until("the note gone", func() bool { return !strings.Contains(d.display.Text(), "dropped") })
	if !d.focused() {
		t.Error("a cut took the keyboard away")
	}
	if s.Input() != "" {
		t.Errorf("dropped keys were sent later: %q", s.Input())
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

func TestRemovedSelectionMovesToTheNeighbour(t *testing.T) {
	t.Parallel()
	one, two, three := session(1, "one", sessions.Detached), session(2, "two", sessions.Detached), session(3, "three", sessions.Detached)
	d := with(t, 80, 24, one, two, three)
	d.now = d.now.Add(time.Second)
	d.Press("j")
	gone := d.stream(two.ID, 1)
	gone.Live(55, 22, "$ ")
	d.shows("$")
	d.Press("enter")
	d.now = d.now.Add(time.Second)
	d.backend.Tell(sessions.Change{Type: sessions.ChangeRemoved, ID: two.ID})
	d.stream(three.ID, 1)
	d.Until("the stream closed", func() bool { return gone.Closed() == 1 })
	if d.focused() {
		t.Error("the keyboard went to another session unasked")
	}
}

func TestOnlyTwelveStreamsStayWarm(t *testing.T) {
	t.Parallel()
	var all []sessions.Session
	for i := range 20 {
		all = append(all, session(i, fmt.Sprintf("s%02d", i), sessions.Detached))
	}
	d := with(t, 80, 24, all...)
	for i := range all {
		d.stream(all[i].ID, 1)
		d.now = d.now.Add(time.Second)
		d.Press("j")
	}
	d.Until("eight streams closed", func() bool {
		closed := 0
		for _, s := range d.backend.Streams() {
			closed += s.Closed()
		}
		return closed == 8
	})
}

func TestHeldKeyConnectsOnlyWhereItRests(t *testing.T) {
	t.Parallel()
	var all []sessions.Session
	for i := range 20 {
		all = append(all, session(i, fmt.Sprintf("s%02d", i), sessions.Detached))
	}
	d := with(t, 80, 24, all...)
	d.stream(all[0].ID, 1)
	for range all {
		d.Press("j")
	}
	d.stream(all[19].ID, 1)
	if n := len(d.backend.Streams()); n != 2 {
		t.Errorf("%d streams for a key held down", n)
	}
}

func TestFloodIsCoalesced(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Running)
	d := with(t, 120, 40, one)
	s := d.stream(one.ID, 1)
	s.Live(87, 38, "")
	chunks := rounds.N(2000, 5000, 20000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range chunks {
			s.Handler.StreamBytes(fmt.Appendf(nil, "line %d\r\n", i))
		}
		s.Handler.StreamBytes([]byte("the end"))
	}()
	d.shows("the end")
	<-done
	if presents, _, _ := d.display.Counts(); presents > chunks/2 {
		t.Errorf("%d frames for %d chunks", presents, chunks)
	}
}

func TestResizeStormIsToldOnce(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Running)
	d := with(t, 80, 24, one)
	s := d.stream(one.ID, 1)
	s.Live(55, 22, "$ ")
	d.shows("$")
	for i := range 200 {
		d.Update(terminalEvent(terminal.Resized{Cols: 20 + i, Rows: 5 + i%60}))
	}
	d.Update(terminalEvent(terminal.Resized{Cols: 120, Rows: 40}))
	d.Until("the size told", func() bool { return len(s.Calls()) > 0 })
	if got := strings.Join(s.Calls(), ", "); got != "resize 87x38" {
		t.Errorf("told: %s", got)
	}
}

func TestCroppedWindowSaysSoAndKeepsTheCursor(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Running)
	d := with(t, 80, 24, one)
	s := d.stream(one.ID, 1)
	s.Live(120, 40, "\x1b[40;100Hhere")
	d.shows("55x22 of 120x40")
	d.Press("enter")
	_, area := d.display.Sink()
	if c := d.display.Cursor(); !c.Visible || !area.Contains(c.X, c.Y) {
		t.Errorf("cursor %+v is not in %v", c, area)
	}
	d.shows("here")
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameSize, Cols: 55, Rows: 22, Owner: true})
	d.Until("the mark gone", func() bool { return !strings.Contains(d.display.Text(), " of ") })
}

func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	s := session(1, "one", sessions.Running)
	s.Title = "evil\x1b[2J\x1b]0;title\x07\u202etxt"
	s.CWD = "/srv/\x1b[31mred\n"
	s.StateReason = "\x1b]52;c;AAAA\x07"
	s.Project = "pro\x1bject"
	d := with(t, 120, 40, s)
	d.shows("evil")
	if text := d.display.Text(); strings.ContainsAny(text, "\x1b\x07\u202e") {
		t.Errorf("escape sequences reach the screen: %q", text)
	}
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

func TestZoomGivesThePaneEverything(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Running)
	d := with(t, 80, 24, one)
	s := d.stream(one.ID, 1)
	s.Live(80, 24, "top\x1b[24;1Hbottom")
	d.shows("top")
	d.Press("z")
	lines := strings.Split(d.display.Text(), "\n")
	if lines[0] != "top" || lines[23] != "bottom" {
		t.Errorf("zoomed pane:\n%s", d.display.Text())
	}
	if got := strings.Join(s.Calls(), " "); got != "resize 80x24" {
		t.Errorf("stream calls: %s", got)
	}
	d.Press("x")
	d.shows("Stop")
}

func terminalEvent(e terminal.Event) any { return tui.TerminalMsg(e) }
