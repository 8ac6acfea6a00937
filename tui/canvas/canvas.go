// Package canvas is what the dashboard draws on: a grid of cells (Canvas), and the encoder that turns two of them into
// the few bytes that make a terminal which shows the one show the other (Encoder).
//
// A canvas is plain memory: no goroutines, no locks, no I/O. One goroutine at a time uses it. Everything drawn is clipped
// to the grid, and no call can leave half of a wide cluster behind: what is cut at an edge becomes blank.
package canvas

import (
	"strings"

	"corral/vt"
)

// maxSide bounds a canvas in both directions, as vt bounds a screen: a terminal that claims to be larger is drawn in part.
const maxSide = 1000

// Rect is a rectangle of cells. X and Y are 0-based; it may reach outside the canvas.
type Rect struct{ X, Y, W, H int }

// Contains reports whether the cell at x, y lies in r.
func (r Rect) Contains(x, y int) bool {
	return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H
}

// Cursor is the hardware cursor of a canvas.
type Cursor struct {
	X, Y    int
	Visible bool
	Shape   vt.CursorShape
}

// Canvas is a grid of cells with a cursor. The zero value has no cells; New makes one that has.
type Canvas struct {
	cols, rows int
	cells      []vt.Cell // row by row
	cursor     Cursor
	line       []vt.Cell // scratch of DrawLine

	// Hyperlinks. Style.Link of a canvas's cell is 1 + an index into links, because the ids of two frames differ.
	links   []string
	linkIDs map[string]vt.LinkID
}

// New returns a blank canvas.
func New(cols, rows int) *Canvas {
	c := &Canvas{}
	c.Resize(cols, rows)
	return c
}

// Size returns the number of columns and rows.
func (c *Canvas) Size() (cols, rows int) { return c.cols, c.rows }

// Resize changes the size, each side clamped to 1..1000, and clears the canvas.
func (c *Canvas) Resize(cols, rows int) {
	cols, rows = min(max(cols, 1), maxSide), min(max(rows, 1), maxSide)
	if n := cols * rows; cap(c.cells) >= n {
		c.cells = c.cells[:n]
	} else {
		c.cells = make([]vt.Cell, n)
	}
	c.cols, c.rows = cols, rows
	c.Clear()
}

// Clear blanks every cell, forgets the hyperlinks and hides the cursor.
func (c *Canvas) Clear() {
	fillBlank(c.cells, vt.Style{})
	c.links = c.links[:0]
	clear(c.linkIDs)
	c.cursor = Cursor{}
}

// Row returns the cells of row y. The caller must not change them.
func (c *Canvas) Row(y int) []vt.Cell { return c.cells[y*c.cols : (y+1)*c.cols : (y+1)*c.cols] }

// Cell returns the cell at x, y.
func (c *Canvas) Cell(x, y int) vt.Cell { return c.cells[y*c.cols+x] }

// Cursor returns the cursor.
func (c *Canvas) Cursor() Cursor { return c.cursor }

// SetCursor shows the cursor at x, y. Outside the canvas it is hidden.
func (c *Canvas) SetCursor(x, y int, shape vt.CursorShape) {
	c.cursor = Cursor{X: x, Y: y, Visible: c.bounds().Contains(x, y), Shape: shape}
}

// HideCursor hides the cursor.
func (c *Canvas) HideCursor() { c.cursor = Cursor{} }

// Link returns the address of a hyperlink of a cell of this canvas, "" for none.
func (c *Canvas) Link(id vt.LinkID) string {
	if id == 0 || int(id) > len(c.links) {
		return ""
	}
	return c.links[id-1]
}

// CopyFrom makes c an exact copy of src.
func (c *Canvas) CopyFrom(src *Canvas) {
	c.cols, c.rows = src.cols, src.rows
	c.cells = append(c.cells[:0], src.cells...)
	c.cursor = src.cursor
	c.links = append(c.links[:0], src.links...)
	clear(c.linkIDs)
	for i, url := range c.links {
		c.rememberLink(url, vt.LinkID(i+1))
	}
}

// Fill blanks r in the given style.
func (c *Canvas) Fill(r Rect, s vt.Style) {
	r = c.clip(r)
	for y := r.Y; y < r.Y+r.H; y++ {
		c.cutWide(y, r.X, r.X+r.W)
		fillBlank(c.Row(y)[r.X:r.X+r.W], s)
	}
}

// DrawLine draws one line of text with SGR sequences at x, y, clipped or padded with blanks to w cells.
func (c *Canvas) DrawLine(x, y, w int, ansi string) {
	if w <= 0 || y < 0 || y >= c.rows || x >= c.cols || x+w <= 0 {
		return
	}
	c.line = vt.AppendLine(c.line[:0], ansi, min(w, maxSide))
	c.put(x, y, c.line)
}

// DrawCells draws cells at x, y, clipped or padded with blanks to w of them. Their hyperlinks, whose table it does not
// know, are left out.
func (c *Canvas) DrawCells(x, y, w int, cells []vt.Cell) {
	if w <= 0 || y < 0 || y >= c.rows {
		return
	}
	w = min(w, maxSide)
	c.line = append(c.line[:0], cells[:min(w, len(cells))]...)
	for len(c.line) < w {
		c.line = append(c.line, blank(vt.Style{}))
	}
	c.put(x, y, c.line)
}

// DrawBlock draws the lines of s, separated by newlines, into r. Lines and cells beyond r are cut; what s does not reach
// is blank.
func (c *Canvas) DrawBlock(r Rect, s string) {
	for i := range r.H {
		line := s
		if cut := strings.IndexByte(s, '\n'); cut >= 0 {
			line, s = s[:cut], s[cut+1:]
		} else {
			s = ""
		}
		c.DrawLine(r.X, r.Y+i, r.W, line)
	}
}

// FrameOptions says how a frame is drawn.
type FrameOptions struct {
	Dim bool // faint, for a screen that no longer lives
}

// DrawFrame draws the part of f that begins at column panX and row panY into r. What lies outside the frame is blank. The
// frame's cursor is not shown by this; see SetCursor.
func (c *Canvas) DrawFrame(r Rect, f *vt.Frame, panX, panY int, o FrameOptions) {
	visible := c.clip(r)
	links := linkMap{canvas: c, frame: f}
	for y := visible.Y; y < visible.Y+visible.H; y++ {
		c.cutWide(y, visible.X, visible.X+visible.W)
		dst := c.Row(y)[visible.X : visible.X+visible.W]
		fy := y - r.Y + panY
		if fy < 0 || fy >= f.Rows {
			fillBlank(dst, vt.Style{})
			continue
		}
		copyCells(dst, f.Row(fy), visible.X-r.X+panX)
		links.resolve(dst)
		if o.Dim {
			dim(dst)
		}
	}
}

// dim makes cells faint. Blanks with nothing to be seen in the text colour stay as they are, which is cheaper to show.
func dim(cells []vt.Cell) {
	for i := range cells {
		if s := &cells[i].Style; cells[i].Text != " " || s.Attr != 0 || s.Underline != vt.UnderlineNone {
			s.Attr |= vt.Faint
		}
	}
}

// put writes cells at x, y, of which those outside the canvas are left out.
func (c *Canvas) put(x, y int, cells []vt.Cell) {
	r := c.clip(Rect{X: x, Y: y, W: len(cells), H: 1})
	if r.W == 0 || r.H == 0 {
		return
	}
	c.cutWide(y, r.X, r.X+r.W)
	dst := c.Row(y)[r.X : r.X+r.W]
	copyCells(dst, cells, r.X-x)
	for i := range dst {
		dst[i].Style.Link = 0 // a parsed line has no table of links to resolve its ids
	}
}

// copyCells fills dst with the cells of src from index off on; cells that src does not have are blank, and so are the
// halves of wide clusters that either end cuts.
func copyCells(dst, src []vt.Cell, off int) {
	n := 0
	if off < 0 {
		n = min(-off, len(dst))
		fillBlank(dst[:n], vt.Style{})
		off = 0
	}
	if n < len(dst) && off < len(src) {
		got := copy(dst[n:], src[off:])
		if first := &dst[n]; first.Width == 0 {
			*first = blank(first.Style)
		}
		if last := &dst[n+got-1]; last.Width == 2 {
			*last = blank(last.Style)
		}
		n += got
	}
	fillBlank(dst[n:], vt.Style{})
}

// cutWide blanks the halves that stay outside when the cells from x0 up to x1 of row y are overwritten.
func (c *Canvas) cutWide(y, x0, x1 int) {
	if x0 >= x1 {
		return
	}
	row := c.Row(y)
	if x0 > 0 && row[x0].Width == 0 {
		row[x0-1] = blank(row[x0-1].Style)
	}
	if x1 < len(row) && row[x1].Width == 0 {
		row[x1] = blank(row[x1].Style)
	}
}

func (c *Canvas) bounds() Rect { return Rect{W: c.cols, H: c.rows} }

// clip returns the part of r inside the canvas; its sides may be 0 but are never negative.
func (c *Canvas) clip(r Rect) Rect {
	x0, y0 := min(max(r.X, 0), c.cols), min(max(r.Y, 0), c.rows)
	x1, y1 := min(max(r.X+r.W, x0), c.cols), min(max(r.Y+r.H, y0), c.rows)
	return Rect{X: x0, Y: y0, W: x1 - x0, H: y1 - y0}
}

func blank(s vt.Style) vt.Cell { return vt.Cell{Text: " ", Width: 1, Style: s} }

func fillBlank(cells []vt.Cell, s vt.Style) {
	b := blank(s)
	for i := range cells {
		cells[i] = b
	}
}
