package scrollback

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"corral/tui/canvas"
	"corral/tui/style"
	"corral/vt"
)

// row is a row as it is shown: the cells of a line from one up to another.
type row struct {
	line, from, to int
	last           bool // of its line
	cells          []vt.Cell
}

// shown returns the rows of the view from top to bottom.
func (v *View) shown() []row {
	var rows []row
	skip := v.top.row
	for line := v.top.line; line < v.text.len() && len(rows) < v.h; line++ {
		cells := v.text.cells(line)
		from := 0
		ends := canvas.Wrap(cells, v.w)
		for i, end := range ends {
			if i >= skip && len(rows) < v.h {
				rows = append(rows, row{line: line, from: from, to: end, last: i == len(ends)-1, cells: cells})
			}
			from = end
		}
		skip = 0
	}
	return rows
}

// Draw draws the view into r, whose last row is the status line. Focused says that the view has the keyboard.
func (v *View) Draw(c *canvas.Canvas, r canvas.Rect, t *style.Theme, focused bool) {
	if r.W <= 0 || r.H <= 0 {
		return
	}
	v.Resize(r.W, r.H)
	rows := v.shown()
	for y := range min(v.h, r.H) {
		if y < len(rows) {
			c.DrawCells(r.X, r.Y+y, r.W, v.marked(rows[y]))
		} else {
			c.DrawLine(r.X, r.Y+y, r.W, "")
		}
	}
	if x, y, ok := v.cursor(rows); ok && focused && v.asked == nil {
		c.SetCursor(r.X+x, r.Y+y, 0)
	}
	if v.covers {
		return
	}
	v.drawStatus(c, canvas.Rect{X: r.X, Y: r.Y + r.H - 1, W: r.W, H: 1}, t, focused)
}

// marked returns a row's cells: what is selected and what matches in reverse, the match at hand also bold and underlined.
func (v *View) marked(r row) []vt.Cell {
	from, to := v.selected.columns(r.line, len(r.cells))
	hits, first := v.search.hitsIn(r.line)
	if from == to && len(hits) == 0 {
		return r.cells[r.from:r.to]
	}
	cells := append([]vt.Cell(nil), r.cells[r.from:r.to]...)
	each := func(from, to int, change func(*vt.Style)) {
		for i := max(from, r.from); i < min(to, r.to); i++ {
			change(&cells[i-r.from].Style)
		}
	}
	for i, h := range hits {
		each(h.from, h.to, func(s *vt.Style) {
			s.Attr ^= vt.Reverse
			if first+i == v.search.current {
				s.Attr |= vt.Bold
				s.Underline = vt.UnderlineSingle
			}
		})
	}
	each(from, to, func(s *vt.Style) { s.Attr ^= vt.Reverse })
	return cells
}

func (v *View) drawStatus(c *canvas.Canvas, r canvas.Rect, t *style.Theme, focused bool) {
	if v.asked != nil && focused {
		v.asked.Draw(c, r, t, v.keys)
		return
	}
	right := v.where()
	left, tone := v.says(), t.Tone(style.Accent)
	if v.notice != "" {
		left, tone = vt.Sanitize(v.notice), t.Toast
	}
	left = ansi.Truncate(left, max(r.W-ansi.StringWidth(right)-3, 0), "…")
	gap := max(r.W-2-ansi.StringWidth(left)-ansi.StringWidth(right), 0)
	c.DrawLine(r.X, r.Y, r.W, " "+tone.Render(left)+strings.Repeat(" ", gap)+t.Tone(style.Muted).Render(right)+" ")
}

// says is what there is to say: what the next key can do, what was found, what is new.
func (v *View) says() string {
	var parts []string
	if fresh := v.news(); fresh != "" {
		parts = append(parts, fresh)
	}
	switch s := v.selected; {
	case s == nil || v.held:
	case !s.anchored:
		parts = append(parts, "v begins to select here")
	default:
		parts = append(parts, "y copies, esc gives up")
	}
	switch s := &v.search; {
	case s.pattern.Text == "":
	case s.running:
		parts = append(parts, "searching...")
	default:
		parts = append(parts, s.found())
	}
	if v.waiting {
		parts = append(parts, "getting the history...")
	}
	if len(parts) == 0 {
		return "history"
	}
	return strings.Join(parts, "  ")
}

// news says what was printed since the snapshot.
func (v *View) news() string {
	switch {
	case !v.noise:
		return ""
	case v.fresh == 0:
		return "new output below"
	case v.fresh == 1:
		return "1 new line below"
	}
	return fmt.Sprintf("%d new lines below", v.fresh)
}

func (s *search) found() string {
	n := fmt.Sprint(len(s.hits))
	if s.more {
		n += "+"
	}
	if s.current < 0 {
		return quoted(s.pattern.Text) + " " + n
	}
	return fmt.Sprintf("%s %d of %s", quoted(s.pattern.Text), s.current+1, n)
}

func quoted(s string) string {
	return `"` + ansi.Truncate(vt.Sanitize(s), 24, "…") + `"`
}

// where says which part is shown.
func (v *View) where() string {
	n := v.text.len()
	if n == 0 {
		return ""
	}
	if v.atEnd {
		return "end"
	}
	below := n - 1 - v.after(v.top, v.h-1).line
	if v.top == (place{}) && !v.truncated {
		return fmt.Sprintf("begin, %d lines up", below)
	}
	return fmt.Sprintf("%d lines up", below)
}
