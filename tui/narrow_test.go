package tui_test

import (
	"strings"
	"testing"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
)

func TestFilterIsTypedIntoTheList(t *testing.T) {
	t.Parallel()
	d := with(t, 80, 24, session(1, "one", sessions.Detached), session(2, "quux", sessions.Detached))
	d.stream(session(1, "", "").ID, 1).Live(55, 22, "screen of one")
	d.shows("screen of one")
	d.Press("/")
	d.shows("enter done")
	if c := d.display.Cursor(); !c.Visible || c.X != 2 || c.Y != 1 {
		t.Errorf("the cursor is not where the filter is typed: %+v", c)
	}
	d.Type("qu") // keys of the dashboard, were they typed elsewhere
	d.shows("1 of 2")
	d.stream(session(2, "", "").ID, 1).Live(55, 22, "screen of quux")
	d.shows("screen of quux")
	if d.Quit() || strings.Contains(d.display.Text(), "● one") {
		t.Errorf("the filter does not filter:\n%s", d.display.Text())
	}
	d.Type(" zz")
	d.shows("Nothing matches")
	d.Press("backspace", "backspace", "backspace", "enter", "n")
	d.shows("New session")
	d.Press("esc", "esc")
	d.lacks("1 of 2")
	d.shows("○ one")
}

func TestWhatIsMadeIsShownThroughAnyFilter(t *testing.T) {
	t.Parallel()
	made := session(3, "three", sessions.Starting)
	b := &tuitest.Backend{OnCreate: func(sessions.CreateRequest) (sessions.Session, error) { return made, nil }}
	d := open(t, 80, 24, tui.Config{}, b)
	d.tell(session(1, "one", sessions.Starting))
	d.Press("/")
	d.Type("one")
	d.Press("enter", "n", "enter")
	d.shows("▌… three")
}

func TestKeyboardIsNotTakenByAStateThatIsFilteredOut(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.WaitingForInput)
	d := with(t, 80, 24, one, session(2, "two", sessions.Detached))
	d.stream(one.ID, 1).Live(55, 22, "May I?")
	d.Press("f", "enter")
	if !d.focused() {
		t.Fatal("the pane has not got the keyboard")
	}
	d.change(later(one, sessions.Running))
	if !d.focused() {
		t.Error("the answer took the keyboard away")
	}
	d.shows("▌● one")
}

func TestLogOfADaemonStaysWhileTheListChanges(t *testing.T) {
	t.Parallel()
	log := func(text string) func() tui.TaskLog { return func() tui.TaskLog { return tuitest.NewLog(text) } }
	one := session(1, "one", sessions.Detached)
	d := open(t, 80, 24, tui.Config{DaemonLogs: []tui.DaemonLog{
		{Name: "server", Open: log("the server started\n")}, {Name: "runtime", Open: log("the runtime started\n")},
	}}, &tuitest.Backend{})
	d.tell(one)
	d.stream(one.ID, 1).Live(55, 22, "screen of one")
	d.shows("screen of one")
	d.Press("L")
	d.shows("log of the server")
	d.shows("the server started")
	d.change(later(one, sessions.Running))
	d.shows("● one")
	d.shows("the server started")
	d.Press("L")
	d.shows("the runtime started")
	d.Press("L")
	d.shows("the server started")
	d.Press("q")
	d.shows("screen of one")
	if d.Quit() {
		t.Error("q quit the dashboard instead of the log")
	}
	d.Press("?")
	d.shows("In the dashboard")
}

func TestGoldenNarrowed(t *testing.T) {
	t.Parallel()
	inEverySize(t, "narrowed", func(t *testing.T, cols, rows int) *dashboard {
		d := open(t, cols, rows, tui.Config{StartSelected: session(1, "", "").ID}, &tuitest.Backend{})
		d.tell(everyState()...)
		d.Press("s", "f", "/")
		d.Type("e")
		if rows >= 12 {
			d.shows("/e")
		}
		return d
	})
}
