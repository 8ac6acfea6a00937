package canvas

import (
	"strings"
	"testing"

	"corral/vt"
)

// picture returns the canvas's text, rows joined by newlines; the second half of a wide cluster shows as "·".
func picture(c *Canvas) string {
	cols, rows := c.Size()
	var b strings.Builder
	for y := range rows {
		for x := range cols {
			if cell := c.Cell(x, y); cell.Width == 0 {
				b.WriteString("·")
			} else {
				b.WriteString(cell.Text)
			}
		}
		b.WriteByte('\n')
	}
	return strings.ReplaceAll(b.String(), " ", ".")
}

func frameOf(t *testing.T, cols, rows int, s string) *vt.Frame {
	t.Helper()
	screen := vt.New(cols, rows)
	if _, err := screen.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	return screen.Frame()
}

func TestDrawing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		draw func(c *Canvas)
		want string
	}{
		{"line", func(c *Canvas) { c.DrawLine(1, 0, 4, "ab") }, ".ab...\n......\n"},
		{"line is padded", func(c *Canvas) {
			c.DrawLine(0, 0, 6, "xxxxxx")
			c.DrawLine(1, 0, 4, "ab")
		}, "xab..x\n......\n"},
		{"line is clipped", func(c *Canvas) { c.DrawLine(1, 1, 3, "abcdef") }, "......\n.abc..\n"},
		{"line beyond both edges", func(c *Canvas) { c.DrawLine(-2, 0, 20, "abcdefghijk") }, "cdefgh\n......\n"},
		{"line above and below", func(c *Canvas) {
			c.DrawLine(0, -1, 6, "abc")
			c.DrawLine(0, 2, 6, "abc")
			c.DrawLine(6, 0, 6, "abc")
			c.DrawLine(0, 0, 0, "abc")
			c.DrawLine(0, 0, -1, "abc")
		}, "......\n......\n"},
		{"wide at the right edge", func(c *Canvas) { c.DrawLine(0, 0, 3, "a漢字") }, "a漢·...\n......\n"},
		{"wide cut by the width", func(c *Canvas) { c.DrawLine(0, 0, 4, "a漢字") }, "a漢·...\n......\n"},
		{"wide cut by the left edge", func(c *Canvas) { c.DrawLine(-1, 0, 7, "漢字") }, ".字·...\n......\n"},
		{"wide cut by the right edge", func(c *Canvas) { c.DrawLine(5, 0, 2, "漢") }, "......\n......\n"},
		{"over the right half of a wide one", func(c *Canvas) {
			c.DrawLine(0, 0, 6, "漢字漢")
			c.DrawLine(1, 0, 2, "ab")
		}, ".ab.漢·\n......\n"},
		{"fill", func(c *Canvas) {
			c.DrawLine(0, 0, 6, "漢字漢")
			c.Fill(Rect{X: 1, Y: -4, W: 2, H: 5}, vt.Style{BG: vt.Palette(1)})
		}, "....漢·\n......\n"},
		{"block", func(c *Canvas) { c.DrawBlock(Rect{X: 1, W: 3, H: 2}, "abcd\nx\nyy") }, ".abc..\n.x....\n"},
		{"block shorter than its place", func(c *Canvas) {
			c.DrawLine(0, 1, 6, "xxxxxx")
			c.DrawBlock(Rect{X: 1, W: 3, H: 2}, "abcd")
		}, ".abc..\nx...xx\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := New(6, 2)
			tt.draw(c)
			if got := picture(c); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestDrawFrame(t *testing.T) {
	t.Parallel()
	frame := frameOf(t, 6, 3, "漢字ab\r\n012345\r\nxyz")
	tests := []struct {
		name       string
		r          Rect
		panX, panY int
		want       string
	}{
		{"whole", Rect{X: 1, Y: 0, W: 6, H: 3}, 0, 0, "#漢·字·ab#\n#012345#\n#xyz...#\n########\n"},
		{"smaller than the area", Rect{X: 0, Y: 0, W: 8, H: 4}, 0, 0, "漢·字·ab..\n012345..\nxyz.....\n........\n"},
		{"cropped", Rect{X: 1, Y: 1, W: 3, H: 2}, 0, 0, "########\n#漢·.####\n#012####\n########\n"},
		{"panned", Rect{X: 1, Y: 1, W: 4, H: 2}, 1, 0, "########\n#.字·a###\n#1234###\n########\n"},
		{"panned beyond the end", Rect{X: 1, Y: 1, W: 4, H: 2}, 4, 2, "########\n#....###\n#....###\n########\n"},
		{"panned to before the start", Rect{X: 1, Y: 1, W: 4, H: 2}, -2, -1, "########\n#....###\n#..漢·###\n########\n"},
		{"partly outside the canvas", Rect{X: -1, Y: -1, W: 4, H: 3}, 0, 0, "123#####\nyz.#####\n########\n########\n"},
		{"outside", Rect{X: 20, Y: 20, W: 4, H: 3}, 0, 0, "########\n########\n########\n########\n"},
		{"no area", Rect{X: 1, Y: 1, W: -4, H: 3}, 0, 0, "########\n########\n########\n########\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := New(8, 4)
			c.DrawBlock(Rect{W: 8, H: 4}, strings.Repeat("########\n", 4))
			c.DrawFrame(tt.r, frame, tt.panX, tt.panY, FrameOptions{})
			if got := picture(c); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestDimFrame(t *testing.T) {
	t.Parallel()
	c := New(4, 1)
	c.DrawFrame(Rect{W: 4, H: 1}, frameOf(t, 4, 1, "\x1b[1mab"), 0, 0, FrameOptions{Dim: true})
	if got := c.Cell(0, 0).Style.Attr; got != vt.Bold|vt.Faint {
		t.Errorf("attributes %b", got)
	}
	if got := c.Cell(3, 0).Style; got != (vt.Style{}) {
		t.Errorf("a blank's style %+v", got)
	}
}

func TestCursorOutsideIsHidden(t *testing.T) {
	t.Parallel()
	c := New(4, 2)
	c.SetCursor(3, 1, 2)
	if got := c.Cursor(); got != (Cursor{X: 3, Y: 1, Visible: true, Shape: 2}) {
		t.Error(got)
	}
	for _, at := range [][2]int{{4, 0}, {0, 2}, {-1, 0}, {0, -1}} {
		if c.SetCursor(at[0], at[1], 0); c.Cursor().Visible {
			t.Errorf("visible at %v", at)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	c := New(8, 1)
	c.DrawFrame(Rect{W: 4, H: 1}, frameOf(t, 4, 1, "\x1b]8;;https://a.example\x1b\\ab\x1b]8;;https://b.example\x1b\\c"), 0, 0, FrameOptions{})
	c.DrawFrame(Rect{X: 4, W: 4, H: 1}, frameOf(t, 4, 1, "\x1b]8;;https://b.example\x1b\\d\x1b]8;;\x1b\\e"), 0, 0, FrameOptions{})
	var got []string
	for x := range 8 {
		got = append(got, c.Link(c.Cell(x, 0).Style.Link))
	}
	if got, want := strings.Join(got, " "), "https://a.example https://a.example https://b.example  https://b.example   "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, bad := range []string{"", "a b", "a\x1b\\", "a\x07", "é", strings.Repeat("a", maxLink+1)} {
		if safeLink(bad) {
			t.Errorf("%q is called safe", bad)
		}
	}
}

func TestSizeIsClamped(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 0}, {-5, 3}, {100000, 100000}} {
		c := New(size[0], size[1])
		if cols, rows := c.Size(); cols < 1 || rows < 1 || cols > maxSide || rows > maxSide {
			t.Errorf("%v: %dx%d", size, cols, rows)
		}
	}
}
