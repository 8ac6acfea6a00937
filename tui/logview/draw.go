package logview

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/style"
	"corral/vt"
)

// DrawOptions says how a pane is drawn.
type DrawOptions struct {
	Focused bool   // it has the keyboard
	Note    string // a line about the task, shown while there is room in the status line
	Alarm   bool   // the note is about trouble
}

// Draw draws the newest picture into r. One of another size is cut; the next is on its way.
func (p *Pane) Draw(c *canvas.Canvas, r canvas.Rect, t *style.Theme, o DrawOptions) {
	if r.W <= 0 || r.H <= 0 {
		return
	}
	pic := p.picture.Load()
	for y := range r.H - 1 {
		at := r.Y + y
		if y >= len(pic.rows) {
			c.DrawLine(r.X, at, r.W, "")
			continue
		}
		row := pic.rows[y]
		x, w := r.X, r.W
		if row.stamp != "" || pic.stamps {
			c.DrawLine(x, at, min(stampWidth, w), t.Tone(style.Muted).Render(row.stamp))
			x, w = x+stampWidth, w-stampWidth
		}
		if w > 0 {
			c.DrawCells(x, at, w, styled(row))
		}
	}
	if pic.empty && pic.problem == "" && r.H > 1 {
		c.DrawLine(r.X, r.Y, r.W, t.Tone(style.Muted).Render("(nothing printed yet)"))
	}
	p.drawStatus(c, canvas.Rect{X: r.X, Y: r.Y + r.H - 1, W: r.W, H: 1}, t, pic, o)
}

// styled returns a row's cells with its matches marked: in reverse, those of the current line also bold and underlined.
func styled(r row) []vt.Cell {
	if len(r.hits) == 0 && !r.note && !r.chosen {
		return r.cells
	}
	cells := append([]vt.Cell(nil), r.cells...)
	if r.chosen {
		if len(cells) == 0 {
			cells = append(cells, vt.Cell{Text: " ", Width: 1})
		}
		for i := range cells {
			cells[i].Style.Attr ^= vt.Reverse
		}
	}
	if r.note {
		for i := range cells {
			cells[i].Style.Attr |= vt.Faint | vt.Italic
		}
	}
	for _, h := range r.hits {
		for i := h.from; i < h.to; i++ {
			cells[i].Style.Attr ^= vt.Reverse
			if r.current {
				cells[i].Style.Attr |= vt.Bold
				cells[i].Style.Underline = vt.UnderlineSingle
			}
		}
	}
	return cells
}

// drawStatus draws the last row: a question, else what the viewer does and where it is.
func (p *Pane) drawStatus(c *canvas.Canvas, r canvas.Rect, t *style.Theme, pic *picture, o DrawOptions) {
	if p.asked != nil && o.Focused {
		p.asked.Draw(c, r, t, p.cfg.Keys)
		return
	}
	right := pic.where()
	left, tone := pic.says(), t.Tone(style.Muted)
	switch {
	case pic.problem != "":
		left, tone = pic.problem, t.Failure
	case pic.notice != "":
		left, tone = vt.Sanitize(pic.notice), t.Toast
	case left != "":
		tone = t.Tone(style.Accent)
	case o.Note != "":
		left = vt.Sanitize(o.Note)
		if o.Alarm {
			tone = t.Tone(style.Bad)
		}
	}
	room := max(r.W-ansi.StringWidth(right)-2, 0)
	left = ansi.Truncate(left, room, "…")
	gap := max(r.W-2-ansi.StringWidth(left)-ansi.StringWidth(right), 0)
	c.DrawLine(r.X, r.Y, r.W, " "+tone.Render(left)+strings.Repeat(" ", gap)+t.Tone(style.Muted).Render(right)+" ")
}

// says is what the viewer is doing, "" when it just shows.
func (p *picture) says() string {
	var parts []string
	if p.doing != "" {
		parts = append(parts, p.doing+"...")
	}
	if p.chosen {
		parts = append(parts, "y copies what is selected, esc gives up")
	}
	if p.pattern != "" || p.filtered != "" && p.pattern == "" {
		parts = append(parts, p.found())
	}
	if p.filtered != "" {
		only := "only lines with " + quoted(p.filtered)
		if p.context > 0 {
			only += fmt.Sprintf(" ±%d", p.context)
		}
		parts = append(parts, only)
	}
	if p.fresh > 0 && !p.follow {
		noun := "lines"
		if p.fresh == 1 {
			noun = "line"
		}
		parts = append(parts, fmt.Sprintf("%d new %s below; G follows", p.fresh, noun))
	}
	return strings.Join(parts, "  ")
}

// found says how many lines match, and which of them is shown.
func (p *picture) found() string {
	what := ""
	if p.pattern != "" {
		what = quoted(p.pattern) + " "
	}
	more := ""
	if !p.counted {
		more = "+"
	}
	if p.ordinal > 0 {
		return fmt.Sprintf("%s%d of %d%s", what, p.ordinal, p.hits, more)
	}
	noun := "lines"
	if p.hits == 1 && p.counted {
		noun = "line"
	}
	return fmt.Sprintf("%s%d%s %s", what, p.hits, more, noun)
}

func quoted(s string) string { return `"` + ansi.Truncate(sessions.CleanLine(s, 200), 24, "…") + `"` }

// where says which part of the log is shown, and how.
func (p *picture) where() string {
	var parts []string
	if p.column > 0 {
		parts = append(parts, fmt.Sprintf("column %d", p.column+1))
	}
	if p.wrapping {
		parts = append(parts, "wrapped")
	}
	switch {
	case !p.known:
	case p.follow && p.ended:
		parts = append(parts, "end")
	case p.follow:
		parts = append(parts, "following")
	default:
		parts = append(parts, fmt.Sprintf("%d%%", p.percent))
	}
	return strings.Join(parts, "  ")
}
