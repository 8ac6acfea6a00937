package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"corral/e2e/rounds"
	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
	"corral/tui/terminal"
	"corral/vt"
)

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

func TestAScreenOfThePastHasItsTime(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Recoverable)
	d := with(t, 80, 24, one)
	d.stream(one.ID, 1).Past(55, 22, "left on the screen", d.now.Add(-65*time.Second), sessions.Recoverable)
	d.shows("as of 11:58:55")
	d.shows("left on the screen")
	d.shows("R restarts, x closes")
	if c := d.display.Cell(25, 1); c.Style.Attr&vt.Faint == 0 {
		t.Error("the last screen is not dimmed")
	}
	d.Press("enter")
	if d.focused() {
		t.Error("a picture has the keyboard")
	}
	d.change(later(one, sessions.Detached))
	d.stream(one.ID, 2).Live(55, 22, "back again")
	d.shows("back again")
	if text := d.display.Text(); strings.Contains(text, "as of") || strings.Contains(text, "left on") {
		t.Errorf("the past shines through:\n%s", text)
	}
}

func TestTroubleWithTheRecorderShows(t *testing.T) {
	t.Parallel()
	d := with(t, 80, 24, session(1, "one", sessions.Detached))
	node := sessions.NodeStatus{Name: "box", State: sessions.Up, Warning: "sessions are not recorded: the disk is full"}
	d.backend.Tell(sessions.Change{Type: sessions.ChangeNode, Nodes: []sessions.NodeStatus{node}})
	d.shows(node.Warning)
	node.Warning = ""
	d.backend.Tell(sessions.Change{Type: sessions.ChangeNode, Nodes: []sessions.NodeStatus{node}})
	d.Until("the warning gone", func() bool { return !strings.Contains(d.display.Text(), "not recorded") })
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
	d.Until("the link live, the loss still told", func() bool {
		text := d.display.Text()
		return strings.Contains(text, "2 keys dropped") && !strings.Contains(text, "reconnecting")
	})
	if !d.focused() {
		t.Error("a cut took the keyboard away")
	}
	if s.Input() != "" {
		t.Errorf("dropped keys were sent later: %q", s.Input())
	}
	sink.Input([]byte("z")) // who types on has seen it
	d.Until("the note gone", func() bool { return !strings.Contains(d.display.Text(), "dropped") })
	if s.Input() != "z" {
		t.Errorf("the program got %q", s.Input())
	}
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
