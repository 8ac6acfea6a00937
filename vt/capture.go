package vt

import "strings"

// blank is a cell with nothing in it.
var blank = Cell{Text: " ", Width: 1}

// ParseCapture turns the output of tmux capture-pane -e into lines of cells, each as long as its text. The style carries
// over from line to line, as tmux writes it.
func ParseCapture(data []byte) [][]Cell { return DefaultWidths().ParseCapture(data) }

// ParseLine turns one line of text with SGR sequences into exactly cols cells: what does not fit is cut off, what is
// missing is blank, and what is neither text nor SGR is dropped.
func ParseLine(s string, cols int) []Cell { return AppendLine(nil, s, cols) }

// AppendLine is ParseLine into a buffer of the caller.
func AppendLine(dst []Cell, s string, cols int) []Cell {
	return DefaultWidths().AppendLine(dst, s, cols)
}

// ParseCapture is the function ParseCapture with the widths w.
func (w *Widths) ParseCapture(data []byte) [][]Cell {
	l := liner{w: w, limit: -1, capture: true}
	var p parser
	p.feed(data, &l)
	if len(l.cells) > 0 || len(data) > 0 && data[len(data)-1] != '\n' {
		l.lines = append(l.lines, l.cells)
	}
	return l.lines
}

// AppendLine is the function AppendLine with the widths w.
func (w *Widths) AppendLine(dst []Cell, s string, cols int) []Cell {
	l := liner{w: w, limit: max(cols, 0), cells: dst, base: len(dst)}
	l.parse(s)
	for ; l.x < l.limit; l.x++ {
		l.cells = append(l.cells, blank)
	}
	return l.cells
}

// liner is the handler of styled text that is not on a screen: lines without a cursor.
type liner struct {
	w         *Widths
	limit     int  // columns of a line, -1 for any number
	capture   bool // the text is capture-pane's: many lines, and with tmux's ways
	countOnly bool // only x is wanted
	breaks    bool // line breaks are spaces

	cells    []Cell
	base     int // where the line begins in cells
	x        int // its columns so far
	full     bool
	lines    [][]Cell
	pen      Style
	graphics bool // SO: DEC line drawing
	joiner   bool // a ZWJ came last
	lastLen  int  // bytes of the last cluster
}

func (l *liner) parse(s string) {
	var p parser
	p.feed([]byte(s), l)
}

func (l *liner) text(p []byte) {
	l.joiner = false
	for _, b := range p {
		if l.graphics {
			if r := graphic(b); r != 0 {
				l.add(string(r), 1)
				continue
			}
		}
		l.add(asciiText(b), 1)
	}
}

func (l *liner) char(r rune) {
	if unwanted(r) {
		return
	}
	if r == zwj { // joins only when something follows
		l.joiner = true
		return
	}
	w := l.w.Rune(r)
	if w == 0 || l.joiner {
		joined := l.join(r)
		l.joiner = false
		if joined || w == 0 {
			return
		}
	}
	l.add(string(r), w)
}

// add appends a cluster.
func (l *liner) add(text string, width int) {
	if l.full || l.limit >= 0 && l.x+width > l.limit {
		l.full = true
		return
	}
	l.x += width
	l.lastLen = len(text)
	if l.countOnly {
		return
	}
	l.cells = append(l.cells, Cell{Text: text, Width: uint8(width), Style: l.pen})
	if width == 2 {
		l.cells = append(l.cells, Cell{Style: l.pen})
	}
}

// join makes r part of the last cluster, if it fits in.
func (l *liner) join(r rune) bool {
	more := joined(r, l.joiner)
	if l.x == 0 || l.full || l.lastLen+len(more) > l.w.CellBytes {
		return false
	}
	l.lastLen += len(more)
	if l.countOnly {
		return true
	}
	at := len(l.cells) - 1
	if l.cells[at].Width == 0 {
		at--
	}
	l.cells[at].Text += more
	return true
}

func (l *liner) control(b byte) {
	l.joiner = false
	switch b {
	case '\n':
		switch {
		case l.capture:
			l.endLine()
		case l.breaks:
			l.add(" ", 1)
		}
	case '\t':
		if !l.capture {
			l.add(" ", 1)
		}
	case 0x0e: // capture-pane -e writes line drawing as ASCII between SO and SI
		l.graphics = l.capture
	case 0x0f:
		l.graphics = false
	}
}

func (l *liner) endLine() {
	l.lines = append(l.lines, l.cells)
	l.cells, l.x, l.full = nil, 0, false
}

func (l *liner) csi(s *sequence) {
	l.joiner = false
	if s.final != 'm' || s.prefix != 0 || s.inter != 0 {
		return
	}
	if l.capture { // tmux 3.3a writes overline as 5:3
		for i := 0; i+1 < s.n; i++ {
			if s.params[i] == 5 && s.sub[i+1] && s.params[i+1] == 3 {
				s.params[i], s.params[i+1], s.sub[i+1] = 53, 53, false
			}
		}
	}
	l.pen.applySGR(s)
}

func (l *liner) escape(_, _ byte)     {}
func (l *liner) str(_ byte, _ []byte) {}

// asciiChars holds the printable ASCII characters, to cut a cell's text from.
const asciiChars = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// asciiText returns the text of one printable ASCII character without allocating.
func asciiText(b byte) string { return asciiChars[b-' ' : b-' '+1] }

// trimBlank returns the cells without blank ones of the default style at the end.
func trimBlank(cells []Cell) []Cell {
	n := len(cells)
	for n > 0 && cells[n-1] == blank {
		n--
	}
	return cells[:n]
}

// textOf returns the text of cells.
func textOf(cells []Cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.Text)
	}
	return b.String()
}
