package vt

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/hinshun/vt10x"
)

// grid is one screen of cells, kept in a vt10x terminal. Rows are addressed by where they stand on the screen; scrolling
// moves no cells but reorders the rows.
type grid struct {
	term       vt10x.Terminal
	cols, rows int
	lines      []*row         // from top to bottom
	width      func(rune) int // of what a rune in a cell stands for
}

// row is one row of a grid. What is to be done to it is gathered as the sequences that vt10x will be sent, and sent
// when somebody wants to see the row. Each row's are independent of the others', so a row that scrolls away, is
// cleared or is written anew from end to end takes back whatever was still unsent: in a flood of output vt10x sees only
// what somebody sees.
type row struct {
	at      int    // the row of vt10x that holds the cells
	pending []byte // always begins by placing the cursor
	col     int    // where vt10x's cursor will stand after pending; cols or more when a wrap is pending there
	style   uint32 // what vt10x's style will be after pending
	run     int    // where in pending an unbroken writing from column 0 on began, -1 if there is none
	wide    bool   // there may be fillers
	wrapped bool   // the text goes on in the row below

	dirty   bool   // cells is not what the row holds
	cells   []Cell // as last resolved; never changed, only replaced
	version uint64
}

const (
	noStyle     = ^uint32(0)
	smallStyles = 256
	maxPending  = 8 << 10 // bytes of a row before they are sent anyway
)

func newGrid(cols, rows int, width func(rune) int) *grid {
	g := &grid{
		term:  vt10x.New(vt10x.WithSize(cols, rows)),
		cols:  cols,
		rows:  rows,
		lines: make([]*row, rows),
		width: width,
	}
	for y := range g.lines {
		g.lines[y] = &row{at: y, run: -1, style: noStyle, dirty: true}
	}
	return g
}

// appendCUP appends the sequence that places the cursor.
func appendCUP(b []byte, y, x int) []byte {
	b = append(b, "\x1b["...)
	b = strconv.AppendInt(b, int64(y+1), 10)
	b = append(b, ';')
	b = strconv.AppendInt(b, int64(x+1), 10)
	return append(b, 'H')
}

// appendCSI appends a sequence with one parameter.
func appendCSI(b []byte, n int, final byte) []byte {
	b = append(b, "\x1b["...)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, final)
}

// begin prepares r for something to be done at column x in a style.
func (g *grid) begin(r *row, x int, style uint32) {
	r.dirty = true
	switch {
	case x == 0: // everything before may turn out needless, so nothing after may depend on it
		r.run = len(r.pending)
		r.pending = appendCUP(r.pending, r.at, x)
		r.style = noStyle
	case len(r.pending) == 0:
		r.run = -1
		r.pending = appendCUP(r.pending, r.at, x)
		r.style = noStyle
	case x != r.col:
		r.run = -1
		r.pending = appendCSI(r.pending, x+1, 'G')
	}
	r.col = x
	if style != r.style {
		r.pending = appendStyle(r.pending, r.style, style)
		r.style = style
	}
}

// appendStyle appends what takes vt10x from one style number to another. Every byte of it costs vt10x more than a cell,
// so the first 256 numbers go in the two smallest forms there are, half in the foreground (SGR 30 to 37 and 90 to 97)
// and half in the background; larger ones are a 24-bit foreground.
func appendStyle(b []byte, from, to uint32) []byte {
	if to == plainStyle {
		return append(b, "\x1b[m"...)
	}
	b = append(b, "\x1b["...)
	if to >= smallStyles {
		for _, n := range [...]uint32{38, 2, to >> 16, to >> 8 & 0xff, to & 0xff} {
			b = append(strconv.AppendUint(b, uint64(n), 10), ';')
		}
		b[len(b)-1] = 'm'
		return b
	}
	unknown := from >= smallStyles
	if unknown || from&0xf != to&0xf || from == plainStyle {
		b = append(appendBasic(b, to&0xf, 30), ';')
	}
	if unknown || from>>4 != to>>4 {
		b = append(appendBasic(b, to>>4, 40), ';')
	}
	b[len(b)-1] = 'm'
	return b
}

// appendBasic appends the SGR code of one of the first sixteen colours.
func appendBasic(b []byte, n uint32, base uint32) []byte {
	if n >= 8 {
		base += 60 - 8
	}
	return strconv.AppendUint(b, uint64(base+n), 10)
}

// end is called when what began at begin has reached column x: at the end of the row an unbroken writing has replaced
// whatever came before it.
func (g *grid) end(r *row, x int) {
	if x >= g.cols {
		r.wrapped = false // until something is printed behind the last column
		if r.run >= 0 {
			r.pending = slices.Delete(r.pending, 0, r.run)
			r.run = -1
		}
	}
	if len(r.pending) > maxPending {
		g.flush(r)
	}
}

// flush sends what is pending.
func (g *grid) flush(r *row) {
	if len(r.pending) == 0 {
		return
	}
	// A vt10x terminal has nothing to fail with: it stops short only at a broken character, and we send none.
	_, _ = g.term.Write(r.pending)
	r.pending = r.pending[:0]
	r.run = -1
}

// text writes printable ASCII that fits into row y from column x on.
func (g *grid) text(y, x int, style uint32, p []byte) {
	r := g.lines[y]
	g.begin(r, x, style)
	r.pending = append(r.pending, p...)
	r.col += len(p)
	g.end(r, r.col)
}

// put writes one cell, or two for a wide cluster, which must fit.
func (g *grid) put(y, x int, style uint32, code rune, width int) {
	r := g.lines[y]
	g.begin(r, x, style)
	r.pending = utf8.AppendRune(r.pending, code)
	if width == 2 {
		r.pending = utf8.AppendRune(r.pending, filler)
		r.wide = true
	}
	r.col += width
	g.end(r, r.col)
}

// erase blanks n cells of row y from column x on.
func (g *grid) erase(y, x, n int, style uint32) {
	n = min(n, g.cols-x)
	if n <= 0 {
		return
	}
	r := g.lines[y]
	if n == g.cols {
		r.wide = false
	}
	g.begin(r, x, style)
	r.pending = appendCSI(r.pending, n, 'X')
	g.end(r, x+n)
}

// insert shifts row y right by n blanks at column x.
func (g *grid) insert(y, x, n int, style uint32) {
	n = min(n, g.cols-x)
	g.split(y, x)
	g.split(y, g.cols-n)
	g.shift(y, x, n, style, '@')
}

// remove shifts row y left over the n cells at column x.
func (g *grid) remove(y, x, n int, style uint32) {
	n = min(n, g.cols-x)
	g.split(y, x)
	g.split(y, x+n)
	g.shift(y, x, n, style, 'P')
}

func (g *grid) shift(y, x, n int, style uint32, final byte) {
	r := g.lines[y]
	g.begin(r, x, style)
	r.run, r.wrapped = -1, false
	r.pending = appendCSI(r.pending, n, final)
	g.end(r, x)
}

// split blanks the wide cluster that lies across the left edge of column x, before a shift parts its halves: otherwise
// a half might later meet one of another.
func (g *grid) split(y, x int) {
	r := g.lines[y]
	if !r.wide || x <= 0 || x >= g.cols || g.cell(y, x).Char != filler {
		return
	}
	for _, at := range [...]int{x - 1, x} {
		if c := g.cell(y, at); at == x || g.width(c.Char) == 2 {
			g.put(y, at, plainStyle, ' ', 1)
		}
	}
}

// cell returns a cell as vt10x holds it.
func (g *grid) cell(y, x int) vt10x.Glyph {
	r := g.lines[y]
	g.flush(r)
	return g.term.Cell(x, r.at)
}

// styleID returns the number of a cell's style, as appendStyle made it.
func styleID(c vt10x.Glyph) uint32 {
	switch {
	case c.FG > maxStyleID: // vt10x's own default
		return plainStyle
	case c.FG < 16 && c.BG < 16:
		return uint32(c.FG) | uint32(c.BG)<<4
	}
	return uint32(c.FG)
}

// scroll moves the rows top to bottom (inclusive) up by n, or down when n is negative, and blanks those that come in.
func (g *grid) scroll(top, bottom, n int, style uint32) {
	part := g.lines[top : bottom+1]
	h := len(part)
	n = min(max(n, -h), h)
	if n == 0 {
		return
	}
	from, to := h-n, h // the rows that come in
	if n < 0 {
		from, to = 0, -n
	}
	rotate(part, (n+h)%h)
	for y := from; y < to; y++ {
		g.erase(top+y, 0, g.cols, style)
	}
}

// rotate moves the first n elements of s to its end.
func rotate(s []*row, n int) {
	slices.Reverse(s[:n])
	slices.Reverse(s[n:])
	slices.Reverse(s)
}

// mark marks every number that a cell holds.
func (g *grid) mark(m *marks) {
	for y := range g.lines {
		for x := range g.cols {
			c := g.cell(y, x)
			m.styles[styleID(c)] = true
			if c.Char >= firstCode && c.Char < filler {
				m.codes[c.Char-firstCode] = true
			}
		}
	}
}

// resized returns a grid of another size with what fits of g's rows, from row first on.
func (g *grid) resized(cols, rows, first int) *grid {
	n := newGrid(cols, rows, g.width)
	for y := range min(rows, g.rows-first) {
		n.lines[y].wide = g.lines[first+y].wide
		for x := range min(cols, g.cols) {
			c := g.cell(first+y, x)
			n.put(y, x, styleID(c), c.Char, 1)
		}
	}
	return n
}
