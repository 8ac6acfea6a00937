package vt_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/vt"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	var got []vt.Event
	s := vt.New(20, 5, vt.OnEvent(func(e vt.Event) { got = append(got, e) }))
	for _, in := range []string{
		"\a",
		"\x1b]2;a\x1b[31mb\x01", // an ESC ends the string, so this is no title
		"\x1b]0;na\x01me \u202e!\x1b\\",
		"\x1b]0;na\x01me \u202e!\x1b\\", // no news
		"\x1b]7;file://host/tmp/a%20b\a",
		"\x1b]7;relative\a",
		"\x1b]8;id=1;https://example.org/\x1b\\x\x1b]8;;\x1b\\",
		"\x1b]8;;javascript:alert(1)\ay",
		"\x1b[?2004h\x1b[?1006;1002h",
		"\x1b]52;c;YQ==\a\x1b[6n\x1b[c", // neither clipboard nor answers
	} {
		s.Write([]byte(in))
	}
	mouse := vt.Modes{BracketedPaste: true, MouseTracking: 1002, MouseSGR: true}
	want := []vt.Event{
		{Kind: vt.EventBell},
		{Kind: vt.EventTitle, Text: "name !"},
		{Kind: vt.EventDirectory, Text: "/tmp/a b"},
		{Kind: vt.EventLink, Text: "https://example.org/"},
		{Kind: vt.EventModes, Modes: mouse},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	f := s.Frame()
	if f.Title != "name !" || f.Modes != mouse {
		t.Errorf("frame has title %q, modes %+v", f.Title, f.Modes)
	}
	if got := f.Link(f.Row(0)[1].Style.Link) + f.Link(f.Row(0)[2].Style.Link); got != "https://example.org/" {
		t.Errorf("links %q in %q", got, f.Text())
	}
}

func TestSynchronizedOutput(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	s := write(t, "old", vt.WithClock(func() time.Time { return now }))
	s.Frame()
	s.Write([]byte("\x1b[?2026h\rnew"))
	if got := s.Frame().Text(); !strings.HasPrefix(got, "old") || s.Held() != 150*time.Millisecond {
		t.Errorf("inside an update: %q, held for %v", got, s.Held())
	}
	s.Write([]byte("\x1b[?2026l"))
	if got := s.Frame().Text(); !strings.HasPrefix(got, "new") || s.Held() != 0 {
		t.Errorf("after an update: %q, held for %v", got, s.Held())
	}
	s.Write([]byte("\x1bP=1s\x1b\\\rstuck"))
	s.Frame()
	now = now.Add(150 * time.Millisecond)
	if got := s.Frame().Text(); !strings.HasPrefix(got, "stuck") {
		t.Errorf("an update that never ends: %q", got)
	}
}

// TestSynchronizedOutputWithoutPause looks only inside updates, as happens to a reader of a program that draws without
// pause: it must see every update's result once the next has begun.
func TestSynchronizedOutputWithoutPause(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	s := write(t, "\x1b[?2026h", vt.WithClock(func() time.Time { return now }))
	for i := range 5 {
		s.Frame()
		s.Write(fmt.Appendf(nil, "\r%d\x1b[K\x1b[?2026l\x1b[?2026hx", i))
		if got, want := lines(s)[0], fmt.Sprint(i); got != want {
			t.Fatalf("update %d shows %q", i, got)
		}
	}
}

func TestFramesShareRows(t *testing.T) {
	t.Parallel()
	s := write(t, "one\r\ntwo\r\nthree")
	a := s.Frame()
	s.Write([]byte("!"))
	b := s.Frame()
	if a == b || a.Version >= b.Version || s.Version() != b.Version {
		t.Errorf("versions %d, %d, %d", a.Version, b.Version, s.Version())
	}
	for y := range a.Rows {
		changed := y == 2
		if (a.RowVersion(y) != b.RowVersion(y)) != changed {
			t.Errorf("row %d has versions %d and %d", y, a.RowVersion(y), b.RowVersion(y))
		}
	}
	s.Write([]byte("\b!")) // drawn again, the same
	if c := s.Frame(); c != b {
		t.Error("a frame was made anew although nothing changed")
	}
	s.Write([]byte("\x1b[5;1H\n")) // scrolled: rows move with their versions
	if c := s.Frame(); c.RowVersion(0) != b.RowVersion(1) {
		t.Error("a row that moved has a new version")
	}
	if got, want := a.Text(), "one\ntwo\nthree\n\n"; got != want {
		t.Errorf("the first frame changed to %q", got)
	}
}

func TestResize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		cols, rows int
		want       []string
		row, col   int
	}{
		{"larger", 30, 7, []string{"one", "two", "", "", "a世"}, 4, 3},
		{"lower", 20, 2, []string{"", "a世"}, 1, 3},
		{"narrower", 2, 5, []string{"on", "tw", "", "", "a"}, 4, 1},
		{"none", 0, 0, []string{"a"}, 0, 0},
	} {
		s := write(t, "one\r\ntwo\x1b[5;1Ha世")
		s.Resize(c.cols, c.rows)
		f := s.Frame()
		if diff := cmp.Diff(c.want, lines(s)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
		if f.Cursor.Row != c.row || f.Cursor.Col != c.col || f.Cols != max(1, c.cols) || f.Rows != max(1, c.rows) {
			t.Errorf("%s: cursor %+v in %dx%d", c.name, f.Cursor, f.Cols, f.Rows)
		}
	}
	huge := vt.New(1<<30, -1)
	if f := huge.Frame(); f.Cols != 1000 || f.Rows != 1 {
		t.Errorf("clamped to %dx%d", f.Cols, f.Rows)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	s := write(t, "x\x1b[?1049h\x1b[2;3r\x1b(0\x1b[?25l\x1b]2;t\a\x1b[31m\x1b]2;half")
	if s.Ground() {
		t.Error("between sequences, inside a string")
	}
	s.Reset()
	if d := differFrames(s.Frame(), vt.New(20, 5).Frame()); d != "" || !s.Ground() {
		t.Error(d)
	}
	s.Write([]byte("q\xe4\xb8"))
	if s.Ground() || lines(s)[0] != "q" {
		t.Errorf("%q; between characters, inside one: %v", lines(s), s.Ground())
	}
}

// TestShiftsPartWideCharacters checks that half a wide character, left over when cells were shifted, never makes a new
// one with half of another.
func TestShiftsPartWideCharacters(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a世界b\x1b[1;3H\x1b[P":                "a 界b",
		"a世界b\x1b[1;2H\x1b[3P":               "a b",
		"a世界b\x1b[1;3H\x1b[@":                "a   界b",
		"世界\x1b[1;2Hx\x1b[1;3H\x1b[P":        " x",
		"世x界\x1b[1;2Hy\x1b[1;3H\x1b[2P":      " y",
		"012345678901234567世\x1b[1;1H\x1b[@": " 012345678901234567",
	} {
		if got := lines(write(t, in))[0]; got != want {
			t.Errorf("%q shows %q, want %q", in, got, want)
		}
	}
}

// TestTablesRunFull prints more different clusters, styles and links than the tables hold at once.
func TestTablesRunFull(t *testing.T) {
	t.Parallel()
	s := vt.New(80, 24)
	for i := range 24000 {
		mark := string(rune(0x300+i%112)) + string(rune(0x300+i/112%112)) + string(rune(0x300+i/112/112))
		s.Write(fmt.Appendf(nil, "\x1b[38;2;%d;%d;%dm\x1b]8;;https://e/%d\ae%s\x1b]8;;\a", i>>16, i>>8&255, i&255, i, mark))
		if i%4096 == 1 {
			s.Write([]byte("\x1b[?1049h\x1b[?1049l"))
		}
		if i%997 != 0 {
			continue
		}
		f := s.Frame()
		c := f.Row(f.Cursor.Row)[i%f.Cols]
		if c.Text != "e"+mark || c.Style.FG != vt.RGB(uint8(i>>16), uint8(i>>8), uint8(i)) || f.Link(c.Style.Link) != fmt.Sprintf("https://e/%d", i) {
			t.Fatalf("cell %d is %q %+v %q", i, c.Text, c.Style, f.Link(c.Style.Link))
		}
	}
}

// TestFramesFromAnyGoroutine is for the race detector.
func TestFramesFromAnyGoroutine(t *testing.T) {
	t.Parallel()
	s := vt.New(80, 24)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for range 200 {
				f := s.Frame()
				_ = f.Line(f.Rows-1, vt.ANSI16)
				_, _, _ = s.Version(), s.Held(), s.Ground()
			}
		})
	}
	data := streams()["unicode"][:8<<10]
	for i := range 40 {
		s.Write(data)
		s.Resize(40+i%80, 10+i%20)
	}
	readers.Wait()
}

func TestStyledText(t *testing.T) {
	t.Parallel()
	s := write(t, "\x1b[1;31ma\x1b[m \x1b[44m \x1b[m")
	f := s.Frame()
	if got, want := f.ANSI(vt.TrueColor), "\x1b[1;31ma\x1b[m \x1b[44m \x1b[m\n\n\n\n"; got != want {
		t.Errorf("ANSI = %q, want %q", got, want)
	}
	if got, want := f.Line(0, vt.NoColor), "\x1b[1ma\x1b[m"+strings.Repeat(" ", 19); got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
}

func TestLinesMeasureTheirColumns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"❤\ufe0fx": "❤x",
		"🇩🇪":       "🇩🇪",
		"🇩x":       "Dx",
		"👍🏽":       "👍  ",
		"a\u00adb": "a\ufffdb",
		"\u0600a":  "\ufffda",
		"👩\u200d🔬": "👩\u200d🔬",
	} {
		if got := strings.TrimRight(write(t, in).Frame().Line(0, vt.TrueColor), " "); got != strings.TrimRight(want, " ") {
			t.Errorf("%q renders as %q, want %q", in, got, want)
		}
	}
}

func TestParseCapture(t *testing.T) {
	t.Parallel()
	got := vt.ParseCapture([]byte("\x1b[31mred\n\nstill\x1b[39m\n\x0elqk\x0f\n\x1b[5:3mover\n世"))
	var texts []string
	for _, l := range got {
		texts = append(texts, textOf(l))
	}
	if diff := cmp.Diff([]string{"red", "", "still", "┌─┐", "over", "世"}, texts); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	if s := got[2][0].Style; s.FG != vt.Palette(1) {
		t.Errorf("the colour did not carry over: %+v", s)
	}
	if s := got[4][0].Style; s.Attr != vt.Overline {
		t.Errorf("5:3 gives %+v", s)
	}
}

func TestSanitize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                         "plain",
		"a\x1b[31mb\x1b]0;evil\ac\x00d": "abcd",
		"line\r\nnext\tcell":            "line next cell",
		"\u202eabc\u2066":               "abc",
		"bad\xff":                       "bad\ufffd",
		"half \x1b[3":                   "half ",
		"\x9b31mx\u009b":                "31mx",
		"🇩🇪 ❤\ufe0f 👩\u200d🔬 e\u0301": "🇩🇪 ❤ 👩\u200d🔬 e\u0301",
	} {
		if got := vt.Sanitize(in); got != want {
			t.Errorf("Sanitize(%q) = %q, want %q", in, got, want)
		}
	}
}
