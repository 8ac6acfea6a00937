package scrollback

import (
	"fmt"
	"strings"

	"corral/vt"
)

// copyMost bounds what is put into the user's clipboard: the same that a program may put there.
const copyMost = 100 << 10

// spot is a cell of a line; col may be behind the last one.
type spot struct{ line, col int }

func (a spot) before(b spot) bool { return a.line < b.line || a.line == b.line && a.col < b.col }

// selection runs from the cell at anchor to the one at cursor, both included, or over whole lines. Until it is anchored
// there is only a cursor to move.
type selection struct {
	anchor, cursor spot
	anchored       bool
	lines          bool
}

// bounds returns the first cell of a selection and the last.
func (s *selection) bounds() (first, last spot) {
	first, last = s.anchor, s.cursor
	if last.before(first) {
		first, last = last, first
	}
	return first, last
}

// columns returns which cells of a line with n of them are selected.
func (s *selection) columns(line, n int) (from, to int) {
	if s == nil || !s.anchored {
		return 0, 0
	}
	first, last := s.bounds()
	switch {
	case line < first.line || line > last.line:
		return 0, 0
	case s.lines:
		return 0, n
	}
	to = n
	if line == first.line {
		from = min(first.col, n)
	}
	if line == last.line {
		to = min(last.col+1, n)
	}
	return from, to
}

// begin puts the cursor of a selection on the match at hand, else on the lowest line of the view.
func (v *View) begin(lines bool) {
	if v.text.len() == 0 {
		return
	}
	end := v.after(v.top, v.h-1)
	at := spot{line: end.line}
	if i := v.search.current; i >= 0 && i < len(v.search.hits) {
		if h := v.search.hits[i]; h.line >= v.top.line && h.line <= end.line {
			at = spot{line: h.line, col: h.from}
		}
	}
	v.selected = &selection{anchor: at, cursor: at, anchored: lines, lines: lines}
}

// selecting takes v: first there is a cursor, then it is an end of the selection, then there is none.
func (v *View) selecting(lines bool) {
	s := v.selected
	switch {
	case s == nil:
		v.begin(lines)
	case !s.anchored || s.lines != lines:
		if !s.anchored {
			s.anchor = s.cursor
		}
		s.anchored, s.lines = true, lines
	default:
		v.selected = nil
	}
}

// step moves the cursor of the selection over lines and columns.
func (v *View) step(lines, cols int) {
	s := v.selected
	s.cursor.line = min(max(s.cursor.line+lines, 0), v.text.len()-1)
	if lines < 0 && s.cursor.line == 0 {
		v.deepen(stay)
	}
	cells := v.text.cells(s.cursor.line)
	if cols != 0 {
		s.cursor.col = min(max(min(s.cursor.col, len(cells))+cols, 0), max(len(cells)-1, 0))
		for c := s.cursor.col; c > 0 && c < len(cells) && cells[c].Width == 0; c += sign(cols) { // the right half of a wide one
			s.cursor.col = c + sign(cols)
		}
		s.cursor.col = min(s.cursor.col, max(len(cells)-1, 0))
	}
	v.follow(s.cursor.line, s.cursor.col)
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// Selecting reports whether a selection is being made.
func (v *View) Selecting() bool { return v.selected != nil }

// Press begins a selection at a cell of the area, which becomes one when the mouse is dragged.
func (v *View) Press(x, y int) {
	v.selected = nil
	if at, ok := v.spotAt(x, y); ok {
		v.held = true
		v.selected = &selection{anchor: at, cursor: at}
	}
}

// Drag moves the end of the selection, and the view when the pointer is at its edge.
func (v *View) Drag(x, y int) {
	if !v.held || v.selected == nil {
		return
	}
	switch {
	case y < 0:
		v.up(1)
		y = 0
	case y >= v.h && !v.atEnd:
		v.Scroll(1)
		y = v.h - 1
	}
	if at, ok := v.spotAt(x, min(y, v.h-1)); ok {
		v.selected.anchored = v.selected.anchored || at != v.selected.anchor
		v.selected.cursor = at
	}
}

// Release ends a selection and copies it. It reports whether there was one.
func (v *View) Release() bool {
	held, s := v.held, v.selected
	v.held = false
	if !held || s == nil || !s.anchored {
		v.selected = nil
		return false
	}
	v.copy()
	return true
}

// spotAt returns which cell is shown at a cell of the area.
func (v *View) spotAt(x, y int) (spot, bool) {
	rows := v.shown()
	if len(rows) == 0 {
		return spot{}, false
	}
	if y >= len(rows) { // below the last line
		r := rows[len(rows)-1]
		return spot{line: r.line, col: r.to}, true
	}
	r := rows[max(y, 0)]
	at := spot{line: r.line, col: min(r.from+max(x, 0), r.to)}
	if at.col > r.from && at.col < r.to && r.cells[at.col].Width == 0 {
		at.col--
	}
	return at, true
}

// copy hands out what is selected, or the line at hand.
func (v *View) copy() {
	if v.selected == nil {
		v.begin(true)
	}
	s := v.selected
	if s == nil {
		return
	}
	if !s.anchored {
		s.anchor, s.anchored, s.lines = s.cursor, true, true
	}
	v.selected = nil
	out, lines, ok := v.textOf(s)
	switch {
	case !ok:
		v.notice = "that is more than 100 KiB; corral history prints it"
		return
	case out == "":
		v.notice = "nothing is selected"
		return
	case lines == 1:
		v.notice = "copied " + quoted(out)
	default:
		v.notice = fmt.Sprintf("copied %d lines", lines)
	}
	v.errand.Copy = out
}

// textOf returns what a selection holds: lines that were wrapped are one, and blanks at the end of a line are not copied.
func (v *View) textOf(s *selection) (out string, lines int, ok bool) {
	first, last := s.bounds()
	var b strings.Builder
	for i := first.line; i <= last.line; i++ {
		cells := v.text.cells(i)
		from, to := s.columns(i, len(cells))
		part := plain(cells[from:to])
		if !v.text.continued(i) {
			part = strings.TrimRight(part, " ")
		}
		b.WriteString(part)
		if b.Len() > copyMost {
			return "", 0, false
		}
		if i < last.line && !v.text.continued(i) {
			b.WriteByte('\n')
			lines++
		}
	}
	return b.String(), lines + 1, true
}

// cursor returns where the cursor of the selection stands in the area.
func (v *View) cursor(rows []row) (x, y int, ok bool) {
	s := v.selected
	if s == nil || v.held {
		return 0, 0, false
	}
	for y, r := range rows {
		if r.line == s.cursor.line && (s.cursor.col < r.to || r.last) && s.cursor.col >= r.from {
			return min(s.cursor.col-r.from, v.w-1), y, true
		}
	}
	return 0, 0, false
}

// wordFrom returns the begin of the next word to the right of col in cells, or of the one to the left.
func wordFrom(cells []vt.Cell, col int, right bool) int {
	blank := func(i int) bool { return cells[i].Text == " " }
	if right {
		for col < len(cells) && !blank(col) {
			col++
		}
		for col < len(cells) && blank(col) {
			col++
		}
		return min(col, max(len(cells)-1, 0))
	}
	col = min(col, len(cells))
	for col > 0 && blank(col-1) {
		col--
	}
	for col > 0 && !blank(col-1) {
		col--
	}
	return col
}
