package scrollback_test

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"corral/tui/canvas"
	"corral/tui/keys"
	"corral/tui/scrollback"
	"corral/tui/style"
	"corral/vt"
)

// rig is a view with somebody who presses keys and looks.
type rig struct {
	*scrollback.View
	t      *testing.T
	w, h   int
	copied string
	wants  []int
}

// numbered returns lines first to last of a history as a replay brings it.
func numbered(first, last int) *vt.History {
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, "line %d\r\n", i)
	}
	return vt.ParseHistory([]byte(b.String() + "\x1b[0m"))
}

func screen(cols, rows int, text string) *vt.Frame {
	s := vt.New(cols, rows)
	_, _ = s.Write([]byte(text))
	return s.Frame()
}

func open(t *testing.T, w, h int, s scrollback.Snapshot) *rig {
	t.Helper()
	r := &rig{View: scrollback.New(keys.New(""), s.Screen, w, h), t: t, w: w, h: h}
	if s.History != nil {
		r.Ask(2000)
		r.errands()
		r.Set(s)
	}
	return r
}

func (r *rig) errands() {
	for {
		e := r.Errand()
		if e.Lines > 0 {
			r.wants = append(r.wants, e.Lines)
		}
		if e.Copy != "" {
			r.copied = e.Copy
		}
		if e.Search == nil {
			return
		}
		r.Found(e.Search.Run())
	}
}

func (r *rig) press(names ...string) scrollback.Outcome {
	special := map[string]tea.KeyType{
		"enter": tea.KeyEnter, "esc": tea.KeyEsc, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "ctrl+r": tea.KeyCtrlR, "ctrl+u": tea.KeyCtrlU,
	}
	out := scrollback.Stays
	for _, name := range names {
		k := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
		if kind, ok := special[name]; ok {
			k = tea.KeyMsg{Type: kind}
		}
		out = r.HandleKey(k)
		r.errands()
	}
	return out
}

// rows returns what is shown, trailing blanks cut; the last one is the status line.
func (r *rig) rows() []string {
	c := canvas.New(r.w, r.h)
	r.Draw(c, canvas.Rect{W: r.w, H: r.h}, style.New(true, style.Full), true)
	out := make([]string, r.h)
	for y := range out {
		var b strings.Builder
		for _, cell := range c.Row(y) {
			b.WriteString(cell.Text)
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}

func (r *rig) shows(want ...string) {
	r.t.Helper()
	got := r.rows()
	if got := strings.Join(got[:r.h-1], "|"); got != strings.Join(want, "|") {
		r.t.Fatalf("shows %q, want %q", got, strings.Join(want, "|"))
	}
}

func (r *rig) says(want string) {
	r.t.Helper()
	if got := r.rows()[r.h-1]; !strings.Contains(got, want) {
		r.t.Fatalf("the status line says %q, want %q in it", got, want)
	}
}

func TestEveryLineOnceUpAndDown(t *testing.T) {
	t.Parallel()
	r := open(t, 30, 6, scrollback.Snapshot{History: numbered(1, 20), Screen: screen(30, 4, "line 21\r\nline 22\r\n$ ")})
	r.shows("line 19", "line 20", "line 21", "line 22", "$")
	for first := 18; first >= 1; first-- {
		r.press("k")
		r.shows(fmt.Sprintf("line %d", first), fmt.Sprintf("line %d", first+1), fmt.Sprintf("line %d", first+2), fmt.Sprintf("line %d", first+3), fmt.Sprintf("line %d", first+4))
	}
	r.press("k")
	r.says("begin")
	r.press("pgdown")
	r.shows("line 5", "line 6", "line 7", "line 8", "line 9")
	r.press("G")
	r.shows("line 19", "line 20", "line 21", "line 22", "$")
	r.says("end")
	r.press("pgup", "pgup")
	r.shows("line 11", "line 12", "line 13", "line 14", "line 15")
	r.press("g")
	r.shows("line 1", "line 2", "line 3", "line 4", "line 5")
	if len(r.wants) != 1 {
		t.Errorf("asked for %v though everything was there", r.wants)
	}
}

func TestWrappedLinesAreOneForSearchAndCopy(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefghi ", 5)
	r := open(t, 12, 8, scrollback.Snapshot{
		History: vt.ParseHistory([]byte("\x1b[31mred" + long + "x\r\nplain  \r\n\x1b[0m")),
		Screen:  screen(12, 4, "0123456789abcdef\r\nend"),
	})
	r.press("g")
	r.shows("redabcdefghi", " abcdefghi a", "bcdefghi abc", "defghi abcde", "fghi x", "plain", "0123456789ab")
	r.press("/", "h", "i", " ", "a", "b", "c", "enter")
	r.press("esc", "g", "V")
	r.press("g", "V", "V") // from the match to the first line
	r.press("y")
	if want := "red" + long + "x"; r.copied != want {
		t.Errorf("copied %q, want %q", r.copied, want)
	}
	r.press("/", "enter", "G", "V", "g", "y")
	if want := "red" + long + "x\nplain\n0123456789abcdef\nend"; r.copied != want {
		t.Errorf("copied %q, want %q", r.copied, want)
	}
}

func TestNewOutputDoesNotMoveTheView(t *testing.T) {
	t.Parallel()
	r := open(t, 30, 4, scrollback.Snapshot{History: numbered(1, 20), Screen: screen(30, 4, "$ ")})
	r.press("k")
	r.shows("line 18", "line 19", "line 20")
	r.Printed(0)
	r.says("new output below")
	r.Printed(7)
	r.shows("line 18", "line 19", "line 20")
	r.says("7 new lines below")
	r.press("G")
	if want := []int{2000, 20}; fmt.Sprint(r.wants) != fmt.Sprint(want) {
		t.Fatalf("asked for %v lines, want %v", r.wants, want)
	}
	r.Set(scrollback.Snapshot{History: numbered(1, 27), Screen: screen(30, 4, "$ ")})
	r.shows("line 26", "line 27", "$")
	if s := r.rows()[3]; strings.Contains(s, "new") {
		t.Errorf("the status line still says %q", s)
	}
}

func TestOlderLinesComeWhenTheTopIsReached(t *testing.T) {
	t.Parallel()
	r := open(t, 50, 4, scrollback.Snapshot{History: numbered(101, 120), Truncated: true, Screen: screen(30, 4, "$ ")})
	r.Scroll(-18)
	r.shows("line 101", "line 102", "line 103")
	r.press("k", "k")
	r.shows("line 101", "line 102", "line 103")
	if want := []int{2000, scrollback.Deepest}; fmt.Sprint(r.wants) != fmt.Sprint(want) {
		t.Fatalf("asked for %v, want %v", r.wants, want)
	}
	r.says("getting the history")
	// Three more lines were printed meanwhile: what is looked at stays, and the two steps up are made up for.
	r.Set(scrollback.Snapshot{History: numbered(1, 123), Screen: screen(30, 4, "$ ")})
	r.shows("line 99", "line 100", "line 101")
	r.press("g")
	r.shows("line 1", "line 2", "line 3")
}

func TestHistoryThatComesLateLetsTheWheelTurn(t *testing.T) {
	t.Parallel()
	r := open(t, 30, 5, scrollback.Snapshot{Screen: screen(30, 4, "line 21\r\n$ ")})
	r.Ask(2000)
	r.errands()
	r.shows("line 21", "$", "", "")
	r.Scroll(-3)
	r.Scroll(-3)
	r.Set(scrollback.Snapshot{History: numbered(1, 20), Screen: screen(30, 4, "line 21\r\n$ ")})
	r.shows("line 13", "line 14", "line 15", "line 16")
}

func TestSearch(t *testing.T) {
	t.Parallel()
	r := open(t, 60, 5, scrollback.Snapshot{History: numbered(1, 300), Screen: screen(60, 4, "line 301\r\n$ ")})
	r.press("/", "l", "i", "n", "e", " ", "9", "9", "enter")
	r.says(`"line 99" 1 of 1`)
	if rows := r.rows(); !strings.Contains(strings.Join(rows, "|"), "line 99") {
		t.Errorf("the match is not shown: %q", rows)
	}
	r.press("G", "/", "ctrl+r", "2", "[", "5", "-", "6", "]", "0", "$", "enter")
	r.says(`"2[5-6]0$" 2 of 2`)
	r.press("n")
	r.says(`1 of 2`)
	r.press("n")
	r.says("no older match")
	r.press("N", "N")
	r.says("no newer match")
	r.press("/", "ctrl+u", "(", "enter")
	r.says("no regular expression")
	r.press("ctrl+u", "n", "o", "w", "h", "e", "r", "e", "enter")
	r.says("is nowhere")
}

func TestSearchMarksItsMatches(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 4, scrollback.Snapshot{History: vt.ParseHistory([]byte("日本語 ab ab\r\n")), Screen: screen(20, 4, "$ ")})
	r.press("/", "a", "b", "enter")
	c := canvas.New(20, 4)
	r.Draw(c, canvas.Rect{W: 20, H: 4}, style.New(true, style.Full), true)
	var marks strings.Builder
	for x := range 14 {
		switch s := c.Cell(x, 0).Style; {
		case s.Attr&vt.Reverse == 0:
			marks.WriteByte('.')
		case s.Attr&vt.Bold != 0:
			marks.WriteByte('B')
		default:
			marks.WriteByte('r')
		}
	}
	if got, want := marks.String(), ".......rr.BB.."; got != want {
		t.Errorf("marks %q, want %q", got, want)
	}
}

func TestSelectionByKeyboard(t *testing.T) {
	t.Parallel()
	r := open(t, 30, 6, scrollback.Snapshot{History: numbered(1, 9), Screen: screen(30, 4, "see 日本 here   \r\n$ ")})
	r.press("v", "k", "w", "v", "w")
	r.says("y copies")
	r.press("h", "y")
	if r.copied != "日本" {
		t.Errorf("copied %q", r.copied)
	}
	r.press("v", "k", "k", "$", "v", "j", "0", "l", "l", "y")
	if r.copied != "9\nsee" {
		t.Errorf("copied %q", r.copied)
	}
	r.press("v", "v", "k", "esc")
	if r.Selecting() {
		t.Error("esc did not give the selection up")
	}
	if out := r.press("esc"); out != scrollback.Leaves {
		t.Errorf("the second esc: %v", out)
	}
	if out := r.press("enter"); out != scrollback.Enters {
		t.Errorf("enter: %v", out)
	}
}

func TestSelectionByMouse(t *testing.T) {
	t.Parallel()
	r := open(t, 30, 6, scrollback.Snapshot{History: numbered(1, 9), Screen: screen(30, 4, "hello world\r\n$ ")})
	r.shows("line 7", "line 8", "line 9", "hello world", "$")
	r.Press(6, 3)
	r.Drag(7, 3)
	r.Drag(10, 3)
	r.Release()
	r.errands()
	if r.copied != "world" {
		t.Errorf("copied %q", r.copied)
	}
	r.Press(5, 1)
	r.Drag(4, -1) // above the top: the view follows
	r.Release()
	r.errands()
	if r.copied != " 6\nline 7\nline 8" {
		t.Errorf("copied %q", r.copied)
	}
	r.copied = ""
	r.Press(3, 3)
	if r.Release(); r.copied != "" {
		t.Errorf("a click copied %q", r.copied)
	}
}

func TestResizeKeepsTheLine(t *testing.T) {
	t.Parallel()
	r := open(t, 30, 6, scrollback.Snapshot{History: numbered(1, 50), Screen: screen(30, 4, "$ ")})
	r.Scroll(-20)
	first := r.rows()[0]
	r.w, r.h = 4, 9
	if got := r.rows()[0]; !strings.HasPrefix(first, got) {
		t.Errorf("at %q after a resize, was at %q", got, first)
	}
}

func TestNothingBreaksIt(t *testing.T) {
	t.Parallel()
	all := []string{"j", "k", "pgup", "pgdown", "g", "G", "n", "N", "v", "V", "h", "l", "0", "$", "w", "B", "o", "y", "/", "x", "enter", "esc", " ", "b"}
	for _, s := range []scrollback.Snapshot{
		{Screen: screen(1, 1, "")},
		{Screen: screen(10, 2, ""), History: vt.ParseHistory(nil)},
		{Screen: screen(10, 2, "日本語日本語"), History: vt.ParseHistory([]byte("\n\n\x1b[31m\x1b]52;c;x\x07日本語日本語日本語日本語\r\n" + strings.Repeat("y", 20_000))), Truncated: true},
	} {
		for _, w := range []int{1, 2, 7, 80} {
			for _, h := range []int{1, 2, 5} {
				r := open(t, w, h, s)
				for i := range 30 {
					r.press(all[i*i%len(all)], all[i*7%len(all)])
					r.Press(i%w, i%h)
					r.Drag(i*3%w, i*5%(h+2)-1)
					if i%2 == 0 {
						r.Release()
					}
					if i%13 == 0 {
						r.Set(s)
					}
					r.rows()
				}
			}
		}
	}
}
