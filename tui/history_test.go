package tui_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
	"corral/tui/terminal"
	"corral/vt"
)

// replay makes a stream bring what a resync with history does.
func replay(s *tuitest.Stream, first, last int, screen string) {
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, "line %d\r\n", i)
	}
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameSize, Cols: 55, Rows: 22})
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameReplay, Lines: last - first + 1, Bytes: b.Len(), Truncated: first > 1, Total: last})
	s.Handler.StreamBytes([]byte(b.String()))
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameRestore, SessionID: s.ID, ScreenText: screen})
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameLive})
}

// reading returns a dashboard that shows a session with history, and its stream.
func reading(t *testing.T, cfg tui.Config, b *tuitest.Backend) (*dashboard, *tuitest.Stream) {
	t.Helper()
	one := session(1, "one", sessions.Detached)
	d := open(t, 80, 24, cfg, b)
	d.tell(one)
	s := d.stream(one.ID, 1)
	s.Live(55, 22, "$ prompt")
	d.shows("$ prompt")
	return d, s
}

func wheel(d *dashboard, button tea.MouseButton, times int) {
	for range times {
		d.Update(tea.MouseMsg{X: 40, Y: 10, Button: button, Action: tea.MouseActionPress})
	}
}

func lastCall(s *tuitest.Stream) string {
	calls := s.Calls()
	if len(calls) == 0 {
		return ""
	}
	return calls[len(calls)-1]
}

func TestLookingBackAsksOnceAndShowsEveryLine(t *testing.T) {
	t.Parallel()
	d, s := reading(t, tui.Config{Replay: 500}, &tuitest.Backend{})
	d.Press("l")
	if got := lastCall(s); got != "replay 500" {
		t.Fatalf("the stream was told %q", got)
	}
	d.shows("getting the history")
	replay(s, 101, 200, "$ prompt")
	d.shows("line 200")
	if text := d.display.Text(); strings.Contains(text, "line 180\n") || !strings.Contains(text, "$ prompt") || !strings.Contains(text, "history, live") {
		t.Errorf("not the end of the history:\n%s", text)
	}
	d.Press("g")
	if got := lastCall(s); got != "replay 20000" {
		t.Errorf("older lines were not asked for: %q", got)
	}
	replay(s, 1, 200, "$ prompt")
	d.shows("line 1\n")
	d.Press("q")
	if text := d.display.Text(); strings.Contains(text, "line") || strings.Contains(text, "history") {
		t.Errorf("not live again:\n%s", text)
	}
	d.Press("l", "enter")
	if !d.focused() {
		t.Error("enter did not give the keyboard to the session")
	}
}

func TestOutputIsCountedAndMovesNothing(t *testing.T) {
	t.Parallel()
	total := make(chan int, 4)
	b := &tuitest.Backend{OnHistory: func(int, int) (sessions.History, error) { return sessions.History{Total: <-total}, nil }}
	d, s := reading(t, tui.Config{}, b)
	d.Press("pgup")
	replay(s, 1, 100, "$ prompt")
	d.shows("line 81")
	before := d.display.Text()
	s.Handler.StreamBytes([]byte("\r\nmore\r\nand more"))
	d.shows("new output below")
	total <- 142
	d.shows("42 new lines below")
	if now := d.display.Text(); strings.Split(now, "\n")[5] != strings.Split(before, "\n")[5] {
		t.Errorf("the view moved:\n%s\nwas\n%s", now, before)
	}
	d.Press("q")
	d.shows("and more")
}

func TestTheWheelLooksBackAndTypingComesBack(t *testing.T) {
	t.Parallel()
	d, s := reading(t, tui.Config{}, &tuitest.Backend{})
	d.Press("enter")
	wheel(d, tea.MouseButtonWheelUp, 2) // before the history is there
	replay(s, 1, 100, "$ prompt")
	d.shows("line 76")
	if !d.focused() {
		t.Fatal("the wheel took the keyboard")
	}
	sink, _ := d.display.Sink()
	sink.Input([]byte("\x1b[I"))
	sink.Input([]byte("x"))
	d.Until("the live screen", func() bool { return !strings.Contains(d.display.Text(), "line 76") })
	if got := s.Input(); got != "\x1b[Ix" {
		t.Errorf("the program read %q", got)
	}
	wheel(d, tea.MouseButtonWheelUp, 1)
	replay(s, 1, 100, "$ prompt")
	d.shows("line 82")
	wheel(d, tea.MouseButtonWheelDown, 1)
	d.shows("$ prompt")
	d.shows("line 100")
	wheel(d, tea.MouseButtonWheelDown, 1)
	d.Until("the live screen", func() bool { return !strings.Contains(d.display.Text(), "line 100") })
}

func TestDraggingCopiesWithoutMovingTheScreen(t *testing.T) {
	t.Parallel()
	filled := make(chan string, 1)
	cfg := tui.Config{Clip: func(_ context.Context, text []byte) error { filled <- string(text); return nil }}
	d, s := reading(t, cfg, &tuitest.Backend{})
	s.Live(55, 22, "first\r\n"+strings.Repeat("wrapped ", 9)+"\r\n"+strings.Repeat("\r\n", 17)+"last")
	d.shows("last")
	d.Press("enter")
	at := func(x, y int, a tea.MouseAction) {
		d.Update(tea.MouseMsg{X: 25 + x, Y: 1 + y, Button: tea.MouseButtonLeft, Action: a})
	}
	before := d.display.Text()
	at(2, 0, tea.MouseActionPress)
	at(4, 1, tea.MouseActionMotion)
	at(16, 2, tea.MouseActionMotion)
	if text := d.display.Text(); text != before {
		t.Errorf("the screen moved:\n%s\nwas\n%s", d.display.Text(), before)
	}
	if c := d.display.Cell(25+3, 1); c.Style.Attr&vt.Reverse == 0 {
		t.Error("the selection is not marked")
	}
	s.Handler.StreamBytes([]byte("\x1b[Hwho was here"))
	at(16, 2, tea.MouseActionRelease)
	want := "rst\n" + strings.TrimRight(strings.Repeat("wrapped ", 9), " ")
	if got := d.display.Copied(); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
	d.shows("copied 2 lines")
	d.shows("who was here")
	d.Until("the machine's clipboard", func() bool { return len(filled) == 1 })
	if got := <-filled; got != want {
		t.Errorf("the machine's clipboard has %q", got)
	}
	if !d.focused() || len(s.Calls()) != 1 {
		t.Errorf("the selection moved the keyboard or asked for history: %v", s.Calls())
	}
}

func TestProgramsThatAskedForTheMouseKeepIt(t *testing.T) {
	t.Parallel()
	d, s := reading(t, tui.Config{}, &tuitest.Backend{})
	s.Handler.StreamBytes([]byte("\x1b[?1049h\x1b[?1002h\x1b[?1006h"))
	d.Until("the modes", func() bool { d.Press("enter"); return d.display.Modes().MouseTracking == 1002 })
	// What reaches the dashboard of the mouse then is what happens outside of the pane; the router has a test of its own.
	if d.display.Modes().MouseTracking != 1002 {
		t.Error("the terminal was not told")
	}
}

func TestHistoryThatACutSwallowsComesWithTheConnection(t *testing.T) {
	t.Parallel()
	d, s := reading(t, tui.Config{}, &tuitest.Backend{})
	d.Press("l")
	s.Handler.StreamLink(sessions.Link{State: sessions.LinkReconnecting, RetryAt: d.now.Add(2 * time.Second)})
	d.shows("cut off; the history comes with the connection")
	s.Live(55, 22, "$ again") // its replay of no lines is not what was asked for
	s.Handler.StreamLink(sessions.Link{State: sessions.LinkLive})
	if got := lastCall(s); got != "replay 2000" {
		t.Fatalf("the stream was told %q", got)
	}
	replay(s, 1, 5, "$ again")
	d.shows("line 5")
}

func TestAnotherSessionIsShownLive(t *testing.T) {
	t.Parallel()
	d, s := reading(t, tui.Config{}, &tuitest.Backend{})
	two := session(2, "two", sessions.Detached)
	d.tell(session(1, "one", sessions.Detached), two)
	wheel(d, tea.MouseButtonWheelUp, 1)
	replay(s, 1, 100, "$ prompt")
	d.shows("line 95")
	d.now = d.now.Add(time.Second)
	d.Press("j")
	d.stream(two.ID, 1).Live(55, 22, "screen of two")
	d.shows("screen of two")
	d.Press("k")
	if text := d.display.Text(); strings.Contains(text, "line 95") {
		t.Errorf("still in the past:\n%s", text)
	}
}

func TestTheHeaderSaysWhatTheStreamDoes(t *testing.T) {
	t.Parallel()
	d, s := reading(t, tui.Config{}, &tuitest.Backend{})
	d.shows("live")
	frame := func(f sessions.Frame) { s.Handler.StreamFrame(f) }
	frame(sessions.Frame{Type: sessions.FrameViewers, Attached: 1, Watching: 3})
	d.shows("+3  live")
	d.Update(terminalEvent(terminal.Resized{Cols: 120, Rows: 24}))
	d.shows("+1 attached, +2 watching, their size  live")
	d.Update(terminalEvent(terminal.Resized{Cols: 80, Rows: 24}))
	frame(sessions.Frame{Type: sessions.FrameBehind})
	d.shows("behind, resyncing")
	frame(sessions.Frame{Type: sessions.FrameReplay, Bytes: 1})
	d.shows("replaying")
	s.Handler.StreamBytes([]byte("x"))
	frame(sessions.Frame{Type: sessions.FrameRestore, ScreenText: "$ prompt"})
	frame(sessions.Frame{Type: sessions.FrameLive})
	d.shows("live")
	d.Press("enter")
	frame(sessions.Frame{Type: sessions.FrameSize, Cols: 100, Rows: 30, Owner: true})
	frame(sessions.Frame{Type: sessions.FrameViewers, Attached: 2})
	d.shows("55x22 of 100x30  +1  live")
	s.SetDeaf(true)
	sink, _ := d.display.Sink()
	s.Handler.StreamLink(sessions.Link{State: sessions.LinkReconnecting, RetryAt: d.now.Add(3 * time.Second)})
	sink.Input([]byte("x"))
	sink.Input([]byte("y"))
	d.shows("reconnecting in 3 s (2 keys dropped)")
	s.End(sessions.Failed, 3)
	d.shows("ended (3)")
}

func TestACroppedWindowCanBePanned(t *testing.T) {
	t.Parallel()
	d, s := reading(t, tui.Config{}, &tuitest.Backend{})
	s.Live(120, 22, "\x1b[1;60Hto the right\x1b[2;1Hprompt")
	d.shows("55x22 of 120x22")
	if strings.Contains(d.display.Text(), "to the right") {
		t.Fatal("all of it is shown")
	}
	right := tea.KeyMsg{Type: tea.KeyShiftRight}
	d.Update(right)
	d.Update(right)
	d.shows("to the right")
	s.Handler.StreamBytes([]byte("."))
	d.shows("to the right") // output does not move what the user has chosen
	d.Press("enter")
	sink, _ := d.display.Sink()
	sink.Input([]byte("x"))
	s.Handler.StreamBytes([]byte("x"))
	d.shows("prompt.x")
}

func TestProgramsAndTheClipboard(t *testing.T) {
	t.Parallel()
	for setting, want := range map[tui.Clipboard]string{
		tui.ClipboardOff: "", tui.ClipboardOn: "secret", "": "secret",
	} {
		d, s := reading(t, tui.Config{Clipboard: setting}, &tuitest.Backend{})
		put := func(text string) {
			s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameClipboard, Data: base64.StdEncoding.EncodeToString([]byte(text))})
			s.Handler.StreamBytes([]byte("\r\n" + text + " was put"))
			d.shows(text + " was put")
		}
		put("unfocused")
		if got := d.display.Copied(); got != "" {
			t.Errorf("%q: a program that nobody types into put %q into the clipboard", setting, got)
		}
		d.Press("enter")
		put("secret")
		if setting != tui.ClipboardOff {
			d.Until("the copy", func() bool { return d.display.Copied() == want })
		}
		if setting == "" {
			d.shows("one put 6 characters into your clipboard")
		}
		if got := d.display.Copied(); got != want {
			t.Errorf("%q: the clipboard has %q, want %q", setting, got, want)
		}
	}
}

func TestAClipboardThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	cfg := tui.Config{Clip: func(context.Context, []byte) error { return errors.New("no display") }}
	d, _ := reading(t, cfg, &tuitest.Backend{})
	d.Press("l", "y")
	d.shows("copy to the clipboard: no display")
}
