package vt

import (
	"bytes"
	"strings"
)

// History is text that was printed line by line, as a replay brings it: styled, with a style that carries over from line to
// line. It is kept as text, a twentieth of what its cells take, and becomes cells where somebody looks. It does not change,
// so any number of goroutines may use it.
type History struct {
	widths *Widths
	lines  []historyLine
}

type historyLine struct {
	text      string
	pen       Style // at its begin
	continued bool  // in the line after
}

// historyPiece is the length from which a line of a history is cut into several, so that nobody who looks at a few cells
// of a line without end has to wait for all of them.
const historyPiece = 8 << 10

// ParseHistory takes the lines of data, which end in LF or CR LF.
func ParseHistory(data []byte) *History { return DefaultWidths().ParseHistory(data) }

// ParseHistory is the function ParseHistory with the widths w.
func (w *Widths) ParseHistory(data []byte) *History {
	h := &History{widths: w, lines: make([]historyLine, 0, bytes.Count(data, []byte{'\n'})+1)}
	pen := liner{w: w, limit: -1, capture: true, countOnly: true}
	var p parser
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		line = bytes.TrimSuffix(line, []byte{'\r'})
		for more := true; more; {
			n := min(len(line), historyPiece)
			begin := pen.pen
			p.feed(line[:n], &pen)
			for ; n < len(line) && !p.ground(); n++ {
				p.feed(line[n:n+1], &pen)
			}
			more = n < len(line)
			h.lines = append(h.lines, historyLine{text: string(line[:n]), pen: begin, continued: more})
			line = line[n:]
		}
		data = rest
	}
	if n := len(h.lines); n > 0 && onlyStyle(h.lines[n-1].text) { // what closes a replay is no line
		h.lines = h.lines[:n-1]
	}
	return h
}

// onlyStyle reports whether s is one SGR sequence.
func onlyStyle(s string) bool {
	rest, ok := strings.CutPrefix(s, "\x1b[")
	return ok && strings.TrimLeft(rest, "0123456789;:") == "m"
}

// Len returns how many lines there are.
func (h *History) Len() int { return len(h.lines) }

// Continued reports whether line i and the one after were one line, too long to be kept whole.
func (h *History) Continued(i int) bool { return h.lines[i].continued }

// Cells returns the cells of line i without blanks at its end.
func (h *History) Cells(i int) []Cell {
	line := h.lines[i]
	l := liner{w: h.widths, limit: -1, capture: true, pen: line.pen}
	l.parse(line.text)
	return trimBlank(l.cells)
}

// Text returns the text of line i, as the cells show it.
func (h *History) Text(i int) string {
	line := h.lines[i].text
	if strings.IndexFunc(line, func(r rune) bool { return r < 0x20 || r == 0x7f || r >= 0x300 }) < 0 {
		return strings.TrimRight(line, " ") // every character is a cell
	}
	return strings.TrimRight(textOf(h.Cells(i)), " ")
}
