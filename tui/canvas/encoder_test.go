package canvas

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"corral/e2e/rounds"
	"corral/vt"
)

// samples are texts of every kind that the encoder treats differently.
var samples = []string{
	"a", "b", " ", " ", "#", "é", "─", "漢", "字", "한", "ｗ", "👍", "é", "⣿", "", "☃", "👨‍👩‍👧",
}

func randomStyle(r *rand.Rand) vt.Style {
	var s vt.Style
	color := func() vt.Color {
		switch r.IntN(4) {
		case 0:
			return vt.Palette(uint8(r.IntN(256)))
		case 1:
			return vt.RGB(uint8(r.IntN(3)*100), 10, 200)
		}
		return vt.DefaultColor
	}
	if r.IntN(3) > 0 {
		s.FG, s.BG = color(), color()
	}
	if r.IntN(4) == 0 {
		s.Attr = vt.Attr(1 << r.IntN(8))
	}
	if r.IntN(8) == 0 {
		s.Underline = vt.Underline(r.IntN(6))
	}
	return s
}

// scribble changes c at random: now a cell, now a line, a block, all of it.
func scribble(r *rand.Rand, c *Canvas) {
	for range 1 + r.IntN(6) {
		x, y := r.IntN(c.cols), r.IntN(c.rows)
		switch r.IntN(7) {
		case 0:
			c.Fill(Rect{X: x, Y: y, W: r.IntN(c.cols), H: r.IntN(c.rows)}, vt.Style{})
		case 1:
			c.Fill(Rect{X: x, Y: y, W: r.IntN(c.cols), H: r.IntN(3)}, randomStyle(r))
		case 2:
			var b strings.Builder
			for range r.IntN(c.cols) {
				b.WriteString(samples[r.IntN(len(samples))])
			}
			c.DrawLine(x-2, y, r.IntN(c.cols+2), b.String())
		default:
			style := randomStyle(r)
			for i := range r.IntN(12) {
				cells := vt.ParseLine(samples[r.IntN(len(samples))], 2)
				if cells[0].Width == 1 {
					cells = cells[:1]
				}
				if r.IntN(3) == 0 {
					style = randomStyle(r)
				}
				for j := range cells {
					cells[j].Style = style
				}
				c.put(x+2*i, y, cells)
			}
		}
	}
	if r.IntN(3) == 0 {
		c.SetCursor(r.IntN(c.cols), r.IntN(c.rows), vt.CursorShape(r.IntN(7)))
	} else if r.IntN(3) == 0 {
		c.HideCursor()
	}
}

// differs returns how f differs from c, "" when it shows the same.
func differs(c *Canvas, f *vt.Frame) string {
	for y := range c.rows {
		row := f.Row(y)
		for x := range c.cols {
			if want := c.Cell(x, y); row[x] != want {
				return fmt.Sprintf("cell %d,%d: %+v, want %+v", x, y, row[x], want)
			}
		}
	}
	if f.Cursor.Visible != c.cursor.Visible {
		return fmt.Sprintf("cursor visible: %v", f.Cursor.Visible)
	}
	if c.cursor.Visible && (f.Cursor.Col != c.cursor.X || f.Cursor.Row != c.cursor.Y || f.Cursor.Shape != c.cursor.Shape) {
		return fmt.Sprintf("cursor %+v, want %+v", f.Cursor, c.cursor)
	}
	return ""
}

func TestScreenShowsTheCanvas(t *testing.T) {
	t.Parallel()
	for _, sync := range []bool{false, true} {
		t.Run(fmt.Sprintf("sync=%v", sync), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			r := rand.New(rand.NewPCG(seed, 1))
			for range rounds.N(5, 20, 100) {
				cols, rows := 2+r.IntN(40), 1+r.IntN(12)
				screen := vt.New(cols, rows)
				e := NewEncoder(Options{Sync: sync, Shapes: true, Links: true})
				c, next := New(cols, rows), New(cols, rows)
				for i := range 60 {
					scribble(r, c)
					if r.IntN(20) == 0 {
						_, _ = screen.Write([]byte("\x1b[31mgarbage\r\n\n"))
						e.Invalidate()
					}
					next.CopyFrom(c)
					b := e.Append(nil, next)
					_, _ = screen.Write(b)
					if d := differs(c, screen.Frame()); d != "" {
						t.Fatalf("seed %d, %dx%d, step %d: %s\nafter %q", seed, cols, rows, i, d, b)
					}
					next.CopyFrom(c)
					if b := e.Append(nil, next); len(b) > 0 {
						t.Fatalf("seed %d: nothing changed, but %q was written", seed, b)
					}
				}
			}
		})
	}
}

// TestNeverScrolls shows the bottom right corner changing, in which a careless writer scrolls the screen.
func TestNeverScrolls(t *testing.T) {
	t.Parallel()
	screen := vt.New(4, 2)
	e := NewEncoder(Options{})
	for _, s := range []string{"abcd\nefgh", "abcd\nefgX", "abcX\nefgY", "ab漢\nef字", "abcd\n"} {
		c := New(4, 2)
		c.DrawBlock(Rect{W: 4, H: 2}, s)
		want := New(4, 2)
		want.CopyFrom(c)
		_, _ = screen.Write(e.Append(nil, c))
		if d := differs(want, screen.Frame()); d != "" {
			t.Errorf("%q: %s", s, d)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		from, to string
		cursor   bool // of both, at the start of the first row
		want     string
	}{
		{"nothing", "abc", "abc", true, ""},
		{"one letter at the cursor", "", "a", true, "a\r"},
		{"a letter in the middle", "hello world", "hello_world", false, "\x1b[1;6H_"},
		{"two near ones", "abcdef", "aXcXef", false, "\x1b[1;2HXcX"},
		{"two far ones", "a234567890b", "X234567890Y", false, "\x1b[HX\x1b[9CY"},
		{"next row", "a\nb", "X\nY", false, "\x1b[HX\r\nY"},
		{"the rest of a line goes", "hello world", "he", false, "\x1b[1;3H\x1b[K"},
		{"two letters at the end go", "hello", "hel", false, "\x1b[1;4H  "},
		{"a run of one style", "", "\x1b[1mab", false, "\x1b[H\x1b[1mab"},
		{"after a doubtful width", "x☃y", "x☂y", false, "\x1b[1;2H☂\x1b[1;3Hy"},
		{"last column", "", "0123456789012345678X", false, "\x1b[H0123456789012345678X"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := NewEncoder(Options{})
			draw := func(s string) []byte {
				c := New(20, 3)
				c.DrawBlock(Rect{W: 20, H: 3}, s)
				if tt.cursor {
					c.SetCursor(0, 0, 0)
				}
				return e.Append(nil, c)
			}
			draw(tt.from)
			e.x = unknown // where it was left is not what is tested
			if tt.cursor {
				e.x, e.y = 0, 0
			}
			if got := string(draw(tt.to)); got != tt.want {
				t.Errorf("wrote %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHyperlinksOnTheWire(t *testing.T) {
	t.Parallel()
	e := NewEncoder(Options{Links: true})
	show := func(text string) string {
		c := New(6, 1)
		c.DrawFrame(Rect{W: 6, H: 1}, frameOf(t, 6, 1, text), 0, 0, FrameOptions{})
		return string(e.Append(nil, c))
	}
	show("")
	link := "\x1b]8;;https://a.example\x1b\\"
	if got, want := show(link+"ab\x1b]8;;\x1b\\c"), link+"ab\x1b]8;;\x1b\\c"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := show("\x1b]8;;https://other.example\x1b\\\x1b]8;;https://a.example\x1b\\ab\x1b]8;;\x1b\\c"); got != "" {
		t.Errorf("the same links under other ids: %q", got)
	}
	if got := show("\x1b]8;;https://b.example\x1b\\ab\x1b]8;;\x1b\\c"); !strings.Contains(got, "https://b.example\x1b\\ab") {
		t.Errorf("another link: %q", got)
	}
}

func TestSyncIsEmittedRoundFramesOnly(t *testing.T) {
	t.Parallel()
	e := NewEncoder(Options{Sync: true})
	c := New(4, 1)
	c.DrawLine(0, 0, 4, "a")
	if got := string(e.Append(nil, c)); !strings.HasPrefix(got, syncBegin) || !strings.HasSuffix(got, syncEnd) {
		t.Errorf("got %q", got)
	}
	c = New(4, 1)
	c.DrawLine(0, 0, 4, "a")
	c.SetCursor(3, 0, 0)
	if got := string(e.Append(nil, c)); strings.Contains(got, "2026") || got == "" {
		t.Errorf("a cursor that moves: %q", got)
	}
}

// benchmarkCanvas draws 200x50 with text and colours.
func benchmarkCanvas(shift int) *Canvas {
	c := New(200, 50)
	for y := range 50 {
		var b strings.Builder
		for x := range 25 {
			fmt.Fprintf(&b, "\x1b[38;5;%dm%7d ", (x+y)%256, x*y+shift)
		}
		c.DrawLine(0, y, 200, b.String())
	}
	return c
}

func BenchmarkNothingChanged(b *testing.B) {
	c, next := benchmarkCanvas(0), New(1, 1)
	e := NewEncoder(Options{})
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		next.CopyFrom(c)
		buf = e.Append(buf[:0], next)
	}
}

func BenchmarkAllChanged(b *testing.B) {
	a, c, next := benchmarkCanvas(0), benchmarkCanvas(1111111), New(1, 1)
	e := NewEncoder(Options{})
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		next.CopyFrom(a)
		buf = e.Append(buf[:0], next)
		a, c = c, a
	}
	b.SetBytes(int64(len(buf)))
}
