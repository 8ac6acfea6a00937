package canvas

import (
	"strconv"
	"unicode/utf8"

	"corral/vt"
)

// moveTo appends the shortest way from the terminal's cursor to x, y. row is what row y will show: a few cells that are
// right already may be cheaper to write again than to jump over.
func (e *Encoder) moveTo(x, y int, row []vt.Cell) {
	fromX, fromY := e.x, e.y
	e.x, e.y = x, y
	switch {
	case fromX == x && fromY == y:
	case fromX == unknown:
		e.body = appendCUP(e.body, x, y)
	case fromY == y:
		if x < fromX || !e.rewrite(row[fromX:x]) {
			e.body = appendAlong(e.body, fromX, x)
		}
	case y == fromY+1 && x == fromX:
		e.body = append(e.body, '\n') // never on the last row, which y may be but fromY is not
	case y == fromY+1 && x == 0:
		e.body = append(e.body, "\r\n"...)
	default:
		e.body = appendCUP(e.body, x, y)
	}
}

// rewrite appends cells again if that takes no more bytes than moving over them.
func (e *Encoder) rewrite(cells []vt.Cell) bool {
	const move = len("\x1b[nC")
	size := 0
	for i := range cells {
		c := &cells[i]
		size += len(c.Text)
		if size > move || c.Width != 1 || c.Style != e.pen || e.link != "" || doubtful(*c) {
			return false
		}
	}
	for i := range cells {
		e.body = append(e.body, cells[i].Text...)
	}
	return true
}

// appendCursor appends what puts, shapes and shows or hides the hardware cursor.
func (e *Encoder) appendCursor(dst []byte, c Cursor) []byte {
	if !c.Visible {
		if e.cursor.Visible {
			dst = append(dst, cursorHide...)
		}
		e.cursor.Visible = false
		return dst
	}
	if e.x != c.X || e.y != c.Y {
		if e.x != unknown && e.y == c.Y {
			dst = appendAlong(dst, e.x, c.X)
		} else {
			dst = appendCUP(dst, c.X, c.Y)
		}
		e.x, e.y = c.X, c.Y
	}
	if c.Shape != e.cursor.Shape && e.o.Shapes {
		dst = append(dst, "\x1b["...)
		dst = strconv.AppendUint(dst, uint64(c.Shape), 10)
		dst = append(dst, " q"...)
	}
	if !e.cursor.Visible {
		dst = append(dst, cursorShow...)
	}
	e.cursor = c
	return dst
}

// appendAlong appends a move within a row.
func appendAlong(dst []byte, from, to int) []byte {
	switch {
	case to == 0:
		return append(dst, '\r')
	case to == from+1:
		return append(dst, "\x1b[C"...)
	case to > from: // never longer than the absolute form
		dst = append(dst, "\x1b["...)
		dst = strconv.AppendInt(dst, int64(to-from), 10)
		return append(dst, 'C')
	case from-to <= 3:
		return append(dst, "\b\b\b"[:from-to]...)
	}
	dst = append(dst, "\x1b["...)
	dst = strconv.AppendInt(dst, int64(to+1), 10)
	return append(dst, 'G')
}

// appendCUP appends an absolute move.
func appendCUP(dst []byte, x, y int) []byte {
	dst = append(dst, "\x1b["...)
	if x > 0 || y > 0 {
		dst = strconv.AppendInt(dst, int64(y+1), 10)
	}
	if x > 0 {
		dst = append(dst, ';')
		dst = strconv.AppendInt(dst, int64(x+1), 10)
	}
	return append(dst, 'H')
}

// doubtful reports whether terminals disagree about how many columns a cell takes: clusters of several code points
// (emoji with modifiers, combining marks), and everything outside the well-trodden ranges.
func doubtful(c vt.Cell) bool {
	if len(c.Text) <= 1 {
		return false
	}
	r, n := utf8.DecodeRuneInString(c.Text)
	if n != len(c.Text) {
		return true
	}
	for _, t := range trodden {
		if r <= t.last {
			return r < t.first || c.Width != t.width
		}
	}
	return true
}

// trodden are the ranges of code points whose width every terminal has agreed on for decades.
var trodden = [...]struct {
	first, last rune
	width       uint8
}{
	{0x00a0, 0x00ac, 1}, // Latin-1 up to the soft hyphen
	{0x00ae, 0x02ff, 1}, // Latin
	{0x0370, 0x0482, 1}, // Greek, Cyrillic
	{0x048a, 0x052f, 1}, // Cyrillic
	{0x1e00, 0x1fff, 1}, // more Latin and Greek
	{0x2010, 0x2027, 1}, // dashes, quotes, bullet, ellipsis
	{0x2500, 0x259f, 1}, // lines and blocks
	{0x2800, 0x28ff, 1}, // Braille, as progress marks use it
	{0x3041, 0x3096, 2}, // Hiragana
	{0x30a1, 0x30ff, 2}, // Katakana
	{0x3400, 0x4dbf, 2}, // Han
	{0x4e00, 0x9fff, 2}, // Han
	{0xac00, 0xd7a3, 2}, // Hangul syllables
	{0xff01, 0xff60, 2}, // full-width forms
}
