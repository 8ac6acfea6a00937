package canvas

import (
	"corral/vt"
)

// Options says what the terminal can do.
type Options struct {
	Profile vt.Profile
	Sync    bool // DEC mode 2026: what is between its h and l appears at once
	Links   bool // OSC 8
	Shapes  bool // DECSCUSR
}

// Encoder knows what a terminal shows and writes the bytes that turn it into the next canvas. It trusts that everything it
// returns reaches the terminal, and that nobody else writes to it; when either is in doubt, Invalidate.
//
// It asks of the terminal what ECMA-48 has had since 1976 (CUP, CUF, CHA, EL, ED, SGR) and nothing of its automatic
// margins: after a cell of the last column the cursor's place counts as unknown, so the next thing sent is an absolute
// move, never a character that would wrap or scroll. The same holds after clusters whose width terminals disagree about.
type Encoder struct {
	o     Options
	valid bool
	shown Canvas

	pen    vt.Style // without link
	link   string
	x, y   int // of the terminal's cursor; x is unknown when negative
	cursor Cursor
	body   []byte // scratch
	sgr    []byte // scratch
}

// unknown is the column of a cursor whose place is in doubt.
const unknown = -1

const (
	syncBegin  = "\x1b[?2026h"
	syncEnd    = "\x1b[?2026l"
	cursorShow = "\x1b[?25h"
	cursorHide = "\x1b[?25l"
)

// NewEncoder returns an encoder for a terminal of which nothing is known.
func NewEncoder(o Options) *Encoder { return &Encoder{o: o} }

// SetOptions changes what the terminal is believed to do. A change of colours repaints everything.
func (e *Encoder) SetOptions(o Options) {
	if o.Profile != e.o.Profile || o.Links != e.o.Links {
		e.valid = false
	}
	e.o = o
}

// Options returns what the terminal is believed to do.
func (e *Encoder) Options() Options { return e.o }

// Invalidate forgets what the terminal shows: the next canvas is painted whole.
func (e *Encoder) Invalidate() { e.valid = false }

// Append appends to dst what makes the terminal show next: nothing if it does already. It takes the content of next,
// which is left with an older one.
func (e *Encoder) Append(dst []byte, next *Canvas) []byte {
	e.body = e.body[:0]
	hide := false
	if !e.valid || e.shown.cols != next.cols || e.shown.rows != next.rows {
		e.restart(next)
		hide = true
	}
	rows := 0
	for y := range next.rows {
		n := len(e.body)
		e.drawRow(next, y)
		if len(e.body) > n {
			rows++
		}
	}
	drawn := len(e.body) > 0
	if drawn && e.o.Sync {
		dst = append(dst, syncBegin...)
	} else if rows > 1 && e.cursor.Visible {
		hide = true // else the cursor would be seen to jump
	}
	if hide {
		dst = append(dst, cursorHide...)
		e.cursor.Visible = false
	}
	dst = append(dst, e.body...)
	dst = e.appendCursor(dst, next.cursor)
	if drawn && e.o.Sync {
		dst = append(dst, syncEnd...)
	}
	e.shown, *next = *next, e.shown
	return dst
}

// Repaint appends what paints the canvas that was appended last once more, whole. Before the first one there is nothing
// to paint.
func (e *Encoder) Repaint(dst []byte) []byte {
	if e.shown.cols == 0 {
		return dst
	}
	var again Canvas
	again.CopyFrom(&e.shown)
	e.valid = false
	return e.Append(dst, &again)
}

// restart begins with an empty screen of next's size.
func (e *Encoder) restart(next *Canvas) {
	e.body = append(e.body, "\x1b[m\x1b[H\x1b[2J"...)
	if e.link != "" {
		e.body = appendLink(e.body, "")
	}
	e.pen, e.link, e.x, e.y = vt.Style{}, "", 0, 0
	e.cursor = Cursor{Shape: noShape}
	e.shown.Resize(next.cols, next.rows)
	e.valid = true
}

// noShape is a shape that no canvas has: the terminal's is unknown.
const noShape vt.CursorShape = 0xff

// drawRow appends what makes row y of the terminal that of next. Cells are written from left to right; that and the fact
// that a wide cluster and what replaces it differ in both cells are why a half-overwritten cluster is always mended.
func (e *Encoder) drawRow(next *Canvas, y int) {
	was, row := e.shown.Row(y), next.Row(y)
	first, last, ok := e.changed(was, row, next)
	if !ok {
		return
	}
	tail := e.blankTail(row)
	if row[first].Width == 0 && first > 0 {
		first--
	}
	shaky := false // the cell to the left was drawn, or overwritten, with a width that terminals disagree about
	for x := first; x <= last || shaky; {
		if x >= len(row) {
			return
		}
		cell, w := whole(row, x)
		if !shaky && e.sameCells(was, row, next, x, w) {
			x += w
			continue
		}
		if x >= tail && last-x >= 4 {
			e.moveTo(x, y, row)
			e.setPen(vt.Style{}, "")
			e.body = append(e.body, "\x1b[K"...)
			return
		}
		e.moveTo(x, y, row)
		e.put(cell, next.Link(cell.Style.Link), len(row))
		shaky = doubtful(cell) || doubtful(was[x]) || w == 2 && doubtful(was[x+1])
		x += w
	}
}

// put appends one cell at the cursor.
func (e *Encoder) put(cell vt.Cell, link string, cols int) {
	e.setPen(cell.Style, link)
	e.body = append(e.body, cell.Text...)
	e.x += int(cell.Width)
	if e.x >= cols || doubtful(cell) {
		e.x = unknown
	}
}

// changed returns the first and last cell in which row differs from was.
func (e *Encoder) changed(was, row []vt.Cell, next *Canvas) (first, last int, ok bool) {
	for first = range row {
		if !e.same(&was[first], &row[first], next) {
			ok = true
			break
		}
	}
	if !ok {
		return 0, 0, false
	}
	for last = len(row) - 1; last > first; last-- {
		if !e.same(&was[last], &row[last], next) {
			break
		}
	}
	return first, last, true
}

func (e *Encoder) sameCells(was, row []vt.Cell, next *Canvas, x, w int) bool {
	return e.same(&was[x], &row[x], next) && (w == 1 || e.same(&was[x+1], &row[x+1], next))
}

// same reports whether two cells look alike; the ids of their links come from different tables.
func (e *Encoder) same(was, now *vt.Cell, next *Canvas) bool {
	if was.Style.Link == 0 && now.Style.Link == 0 {
		return *was == *now
	}
	if e.shown.Link(was.Style.Link) != next.Link(now.Style.Link) {
		return false
	}
	a, b := *was, *now
	a.Style.Link, b.Style.Link = 0, 0
	return a == b
}

// blankTail returns the column from which on the row is blank in the terminal's own colours. There erasing to the end of
// the line is exact; with a coloured background it is not, since not every terminal erases in colour.
func (e *Encoder) blankTail(row []vt.Cell) int {
	x := len(row)
	var last vt.Style
	for ; x > 0; x-- {
		c := &row[x-1]
		if c.Text != " " || c.Style.Link != 0 {
			break
		}
		if c.Style == last {
			continue
		}
		if e.sgr = c.Style.AppendSGR(e.sgr[:0], vt.Style{}, e.o.Profile); len(e.sgr) > 0 {
			break
		}
		last = c.Style
	}
	return x
}

// setPen appends the change of style and hyperlink.
func (e *Encoder) setPen(s vt.Style, link string) {
	s.Link = 0
	if s != e.pen {
		e.body = s.AppendSGR(e.body, e.pen, e.o.Profile)
		e.pen = s
	}
	if e.o.Links && link != e.link {
		e.body = appendLink(e.body, link)
		e.link = link
	}
}

// appendLink begins a hyperlink, or ends it when url is empty (OSC 8, see maxLink).
func appendLink(dst []byte, url string) []byte {
	dst = append(dst, "\x1b]8;;"...)
	dst = append(dst, url...)
	return append(dst, "\x1b\\"...)
}

// whole returns the cell at x and the number of columns it takes; half a wide cluster counts as a blank.
func whole(row []vt.Cell, x int) (vt.Cell, int) {
	c := row[x]
	switch {
	case c.Width == 1:
		return c, 1
	case c.Width == 2 && x+1 < len(row) && row[x+1].Width == 0:
		return c, 2
	}
	return blank(c.Style), 1
}
