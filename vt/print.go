package vt

import (
	"unicode/utf8"

	"github.com/hinshun/vt10x"
)

// text prints ASCII.
func (t *terminal) text(p []byte) {
	t.joiner = false
	if t.shift != 0 || t.sets[t.gl] != charsetASCII || t.insertMode {
		for _, b := range p {
			set := t.sets[t.gl]
			if t.shift != 0 {
				set, t.shift = t.sets[t.shift], 0
			}
			r := set.translate(b)
			t.print(t.chars.info(r).text, r, 1)
		}
		return
	}
	style, _ := t.styles()
	for len(p) > 0 {
		if t.wrap {
			t.wrapLine()
		}
		n := min(len(p), t.cols-t.x)
		if n < len(p) && !t.autowrap { // the rest overwrites the last column
			last := p[len(p)-1]
			p = p[:n]
			p = append(p[:n-1:n-1], last)
		}
		t.grid.text(t.y, t.x, style, p[:n])
		t.last = printed{ok: true, x: t.x + n - 1, y: t.y, text: asciiText(p[n-1]), width: 1, style: style}
		t.advance(n)
		p = p[n:]
	}
}

// char prints a character that is not ASCII.
func (t *terminal) char(r rune) {
	if unwanted(r) {
		return
	}
	if r == zwj { // joins only when something follows
		t.joiner = true
		return
	}
	t.shift = 0
	c := t.chars.info(r)
	if c.width == 0 || t.joiner {
		joined := t.join(r)
		t.joiner = false
		if joined || c.width == 0 {
			return
		}
	}
	t.print(c.text, t.code(c.text, r, c.width), c.width)
}

// code returns the rune that stands for a cluster in the grid. One character mostly stands for itself.
func (t *terminal) code(text string, first rune, width int) rune {
	if len(text) == utf8.RuneLen(first) && first < firstCode {
		return first
	}
	t.room()
	return t.table.code(cluster{text, uint8(width)})
}

// print prints one cluster, for which code stands in the grid, at the cursor.
func (t *terminal) print(text string, code rune, width int) {
	if width > t.cols {
		return
	}
	if t.wrap {
		t.wrapLine()
	}
	if t.x+width > t.cols {
		if !t.autowrap { // tmux drops what does not fit
			return
		}
		t.wrapLine()
	}
	style, back := t.styles()
	if t.insertMode {
		t.grid.insert(t.y, t.x, width, back)
	}
	t.grid.put(t.y, t.x, style, code, width)
	t.last = printed{ok: true, x: t.x, y: t.y, text: text, width: width, style: style}
	t.advance(width)
}

// advance moves the cursor over what was printed.
func (t *terminal) advance(width int) {
	t.x += width
	if t.x >= t.cols {
		t.x = t.cols - 1
		t.wrap = t.autowrap
	}
}

// wrapLine goes to the start of the next line. What scrolls in is not coloured, as in tmux.
func (t *terminal) wrapLine() {
	t.grid.lines[t.y].wrapped = true
	t.lineFeed(plainStyle)
	t.x = 0
}

// join makes r part of the cluster before the cursor, if there is one and it has room.
func (t *terminal) join(r rune) bool {
	p := t.last
	if !p.ok {
		if p = t.before(); !p.ok {
			return false
		}
	}
	more := joined(r, t.joiner)
	if len(p.text)+len(more) > t.widths.CellBytes {
		return false
	}
	p.text += more
	t.grid.put(p.y, p.x, p.style, t.code(p.text, 0, p.width), p.width)
	t.last = p
	return true
}

// before reads the cluster to the left of the cursor from the grid.
func (t *terminal) before() printed {
	x := t.x - 1
	if t.wrap {
		x = t.x
	}
	if x < 0 {
		return printed{}
	}
	c := t.grid.cell(t.y, x)
	width := 1
	if c.Char == filler {
		if x--; x < 0 {
			return printed{}
		}
		c = t.grid.cell(t.y, x)
		width = 2
	}
	text, w := t.textOf(c)
	if w != width {
		return printed{}
	}
	return printed{ok: true, x: x, y: t.y, text: text, width: width, style: styleID(c)}
}

// textOf returns what a cell of vt10x stands for.
func (t *terminal) textOf(c vt10x.Glyph) (text string, width int) {
	if k, ok := t.table.cluster(c.Char); ok {
		return k.text, int(k.width)
	}
	i := t.chars.info(c.Char)
	return i.text, i.width
}

// repeat prints the last cluster again (REP). More than a screenful cannot be told from a screenful.
func (t *terminal) repeat(n int) {
	p := t.last
	if !p.ok {
		return
	}
	first, _ := utf8.DecodeRuneInString(p.text)
	for range min(n, t.cols*t.rows) {
		t.print(p.text, t.code(p.text, first, p.width), p.width)
	}
	t.interrupt()
}
