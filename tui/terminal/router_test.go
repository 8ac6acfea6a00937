package terminal

import (
	"bytes"
	"strings"
	"testing"

	"corral/tui/canvas"
	"corral/vt"
)

// desk is a reader and a router without a terminal.
type desk struct {
	reader *reader
	router *router
	pane   *memory
}

func newDesk() *desk {
	rt := &router{prefix: DefaultPrefix, ready: func(bool) {}}
	return &desk{
		router: rt, pane: newMemory(),
		reader: &reader{lex: lexer{prefix: DefaultPrefix}, router: rt, events: newEvents(), reply: func([]byte) {}},
	}
}

func (d *desk) divert() { d.router.divert(d.pane, canvas.Rect{X: 30, Y: 1, W: 50, H: 20}) }

// dashboard returns what waits for the dashboard, the pieces separated by blanks.
func (d *desk) dashboard() string {
	var got []string
	for {
		b, ok := d.router.pop()
		if !ok {
			return strings.Join(got, " ")
		}
		got = append(got, string(b))
	}
}

func TestRouting(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		modes           vt.Modes
		in              string
		pane, dashboard string
	}{
		{"keys go untouched", vt.Modes{}, "ls\r\x1b[A\x1bOA\x1b[13;2u\x00\x7f\x1bx漢", "ls\r\x1b[A\x1bOA\x1b[13;2u\x00\x7f\x1bx漢", ""},
		{"prefix in the middle", vt.Modes{}, "ab\x1ccd", "ab", "\x1c c d"},
		{"prefix as CSI u", vt.Modes{}, "ab\x1b[92;5uq", "ab", "\x1c q"},
		{"prefix as modifyOtherKeys", vt.Modes{}, "ab\x1b[27;5;92~q", "ab", "\x1c q"},
		{"prefix twice", vt.Modes{}, "\x1c\x1c", "", "\x1c \x1c"},
		{"paste with the prefix inside", vt.Modes{}, "a\x1b[200~x\x1cy\x1b[201~b", "a<paste>b", ""},
		{"paste, then prefix", vt.Modes{}, "\x1b[200~x\x1b[201~\x1cq", "<paste>", "\x1c q"},
		{"empty paste", vt.Modes{}, "a\x1b[200~\x1b[201~b", "ab", ""},
		{"stray end of paste", vt.Modes{}, "a\x1b[201~b", "ab", ""},
		{"answers go nowhere", vt.Modes{}, "a\x1b]11;rgb:0/0/0\x07\x1b[?62c\x1b[24;80Rb", "ab", ""},
		{"focus, not asked for", vt.Modes{}, "a\x1b[Ib", "ab", ""},
		{"focus, asked for", vt.Modes{FocusEvents: true}, "a\x1b[Ob", "a\x1b[Ob", ""},
		{"mouse, not asked for", vt.Modes{}, "\x1b[<0;41;6M", "", "\x1b[<0;41;6M"},
		{"mouse inside", vt.Modes{MouseTracking: 1000}, "\x1b[<0;41;6M\x1b[<0;41;6m", "\x1b[<0;11;5M\x1b[<0;11;5m", ""},
		{"mouse in the corners", vt.Modes{MouseTracking: 1000}, "\x1b[<64;31;2M\x1b[<64;80;21M", "\x1b[<64;1;1M\x1b[<64;50;20M", ""},
		{"mouse outside", vt.Modes{MouseTracking: 1000}, "\x1b[<0;30;6M\x1b[<0;81;6M\x1b[<0;41;1M\x1b[<0;41;22M", "", "\x1b[<0;30;6M \x1b[<0;81;6M \x1b[<0;41;1M \x1b[<0;41;22M"},
		{"mouse, X10", vt.Modes{MouseTracking: 1000}, "\x1b[M " + string([]byte{32 + 41, 32 + 6}), "\x1b[<0;11;5M", ""},
		{
			"drag out of the pane",
			vt.Modes{MouseTracking: 1002},
			"\x1b[<0;41;6M\x1b[<32;10;30M\x1b[<0;10;30m", "\x1b[<0;11;5M\x1b[<32;1;20M\x1b[<0;1;20m", "",
		},
		{
			"drag into the pane",
			vt.Modes{MouseTracking: 1002},
			"\x1b[<0;10;6M\x1b[<32;41;6M\x1b[<0;41;6m", "", "\x1b[<0;10;6M \x1b[<32;41;6M \x1b[<0;41;6m",
		},
		{"broken mouse report", vt.Modes{MouseTracking: 1000}, "a\x1b[<0;;M\x1b[<M\x1b[<-1;2;3Mb", "ab", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for cut := range len(tt.in) { // at 0 in one piece
				d := newDesk()
				d.router.setModes(tt.modes)
				d.divert()
				d.reader.feed([]byte(tt.in[:cut]))
				d.reader.feed([]byte(tt.in[cut:]))
				if got := d.pane.text(); got != tt.pane {
					t.Errorf("cut at %d: the pane got %q, want %q", cut, got, tt.pane)
				}
				if got := d.dashboard(); got != tt.dashboard {
					t.Errorf("cut at %d: the dashboard got %q, want %q", cut, got, tt.dashboard)
				}
			}
		})
	}
}

func TestDivertTakesWhatWaits(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.reader.feed([]byte("\rhello\x1b[200~p\x1cq\x1b[201~\x1b[A\x1cjk"))
	if b, _ := d.router.pop(); string(b) != "\r" {
		t.Fatalf("the dashboard read %q first", b)
	}
	d.divert()
	if got, want := d.pane.text(), "hello<paste>\x1b[A"; got != want {
		t.Errorf("the pane got %q, want %q", got, want)
	}
	if got, want := d.pane.pastes, "p\x1cq"; len(got) != 1 || got[0] != want {
		t.Errorf("pasted %q, want %q", got, want)
	}
	if got, want := d.dashboard(), "\x1c j k"; got != want {
		t.Errorf("the dashboard got %q, want %q", got, want)
	}
	d.reader.feed([]byte("x"))
	if got := d.dashboard(); got != "x" {
		t.Errorf("after the prefix the dashboard got %q", got)
	}
}

func TestPasteForTheDashboard(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.reader.feed([]byte("\x1b[200~two\nlines\x1b[201~x"))
	if got, want := d.dashboard(), "\x1b[200~two\nlines\x1b[201~ x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d.reader.feed([]byte(pasteBegin + strings.Repeat("漢", maxDashboardPaste/3+5) + pasteEnd))
	b, _ := d.router.pop()
	if !bytes.Equal(b, []byte(pasteBegin+strings.Repeat("漢", maxDashboardPaste/3)+pasteEnd)) {
		t.Errorf("a large paste was not cut after a character: %d bytes", len(b))
	}
}

func TestPasteLimit(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.divert()
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	d.reader.feed([]byte(pasteBegin))
	for range MaxPaste / len(chunk) {
		d.reader.feed(chunk)
	}
	d.reader.feed([]byte(pasteEnd))
	if len(d.pane.pastes) != 1 || len(d.pane.pastes[0]) != MaxPaste {
		t.Fatal("a paste of the largest size was not passed on whole")
	}
	d.reader.feed([]byte(pasteBegin))
	for range MaxPaste / len(chunk) {
		d.reader.feed(chunk)
	}
	d.reader.feed([]byte("x" + pasteEnd + "k"))
	if got := d.pane.text(); got != "<paste>k" {
		t.Errorf("the pane got %q of a paste that is too large", got)
	}
	if ev := <-d.reader.events.ch; ev != (PasteTooLarge{}) {
		t.Errorf("event %v", ev)
	}
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	d := newDesk()
	for range 2 * maxQueue {
		d.reader.feed([]byte("x"))
	}
	if n := len(d.router.queue); n != maxQueue {
		t.Errorf("%d pieces wait", n)
	}
}

func TestMotionsAreMerged(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.reader.feed([]byte("\x1b[<35;1;1M\x1b[<35;2;1M\x1b[<35;3;1M\x1b[<0;3;1M\x1b[<32;4;1M\x1b[<32;5;1M"))
	if got, want := d.dashboard(), "\x1b[<35;3;1M \x1b[<0;3;1M \x1b[<32;5;1M"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMoveGivesNobodyTheKeyboard resizes the window right after the prefix: the reader has given the keyboard back, and
// the dashboard, which lays its panes out anew, has not heard of it yet.
func TestMoveGivesNobodyTheKeyboard(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.divert()
	d.reader.feed([]byte("ab\x1c"))
	d.router.move(canvas.Rect{X: 10, Y: 1, W: 50, H: 20})
	d.reader.feed([]byte("q"))
	if got := d.pane.text(); got != "ab" {
		t.Errorf("the pane got %q", got)
	}
	if got := d.dashboard(); got != "\x1c q" {
		t.Errorf("the dashboard got %q", got)
	}
	d.divert()
	d.router.setModes(vt.Modes{MouseTracking: 1000})
	d.router.move(canvas.Rect{X: 10, Y: 1, W: 50, H: 20})
	d.reader.feed([]byte("\x1b[<0;21;6M"))
	if got := d.pane.text(); got != "ab\x1b[<0;11;5M" {
		t.Errorf("the mouse was not shifted into the new area: %q", got)
	}
}
