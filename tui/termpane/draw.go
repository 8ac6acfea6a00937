package termpane

import (
	"fmt"

	"github.com/charmbracelet/x/ansi"

	"corral/tui/canvas"
	"corral/tui/style"
	"corral/vt"
)

// DrawOptions says how a pane is drawn.
type DrawOptions struct {
	Focused bool   // it has the keyboard: show its cursor
	Reading bool   // the keyboard is the view's that looks back
	Dim     bool   // what it shows no longer lives
	Note    string // a line about the session or the link, at the foot of the area
	Alarm   bool   // the note is about trouble
}

// Draw draws the pane into r. A window larger than the area is cropped round the cursor, a smaller one has blanks beyond.
func (p *Pane) Draw(c *canvas.Canvas, r canvas.Rect, t *style.Theme, o DrawOptions) {
	if r.W <= 0 || r.H <= 0 {
		return
	}
	if p.view != nil {
		p.view.Draw(c, r, t, o.Reading)
		if o.Alarm {
			p.drawNote(c, canvas.Rect{X: r.X, Y: r.Y, W: r.W, H: 1}, t, o)
		}
		return
	}
	f := p.Frame()
	p.pan(f, r.W, r.H)
	c.DrawFrame(r, f, p.panX, p.panY, canvas.FrameOptions{Dim: o.Dim})
	p.drawPending(c, r, t, f)
	if o.Note != "" {
		p.drawNote(c, canvas.Rect{X: r.X, Y: r.Y + r.H - 1, W: r.W, H: 1}, t, o)
	}
	if o.Focused && f.Cursor.Visible {
		if x, y := r.X+f.Cursor.Col-p.panX, r.Y+f.Cursor.Row-p.panY; r.Contains(x, y) {
			c.SetCursor(x, y, f.Cursor.Shape)
		}
	}
}

// drawPending draws what was typed and shows nowhere yet over the screen, from the cursor to the end of its row. It is
// never part of the screen: what the program prints takes its place.
func (p *Pane) drawPending(c *canvas.Canvas, r canvas.Rect, t *style.Theme, f *vt.Frame) {
	text := p.Status().Pending
	x, y := f.Cursor.Col-p.panX, f.Cursor.Row-p.panY
	if text == "" || x < 0 || x >= r.W || y < 0 || y >= r.H {
		return
	}
	text = ansi.Truncate(vt.Sanitize(text), r.W-x, "…")
	c.DrawLine(r.X+x, r.Y+y, ansi.StringWidth(text), t.Tone(style.Muted).Render(text))
}

func (p *Pane) drawNote(c *canvas.Canvas, r canvas.Rect, t *style.Theme, o DrawOptions) {
	s := t.Tone(style.Muted)
	if o.Alarm {
		s = t.Banner
	}
	c.DrawLine(r.X, r.Y, r.W, s.Render(ansi.Truncate(" "+vt.Sanitize(o.Note)+" ", r.W, "…")))
}

// Pan moves the visible part of a window that is larger than the area. It stays there until something is typed.
func (p *Pane) Pan(cols, rows int) {
	p.byHand.Store(true)
	p.panX, p.panY = max(p.panX+cols, 0), max(p.panY+rows, 0)
}

// Crop says which part of the window an area shows, "" when all of it.
func (p *Pane) Crop(w, h int) string {
	f := p.Frame()
	if f.Cols <= w && f.Rows <= h {
		return ""
	}
	return fmt.Sprintf("%dx%d of %dx%d", min(w, f.Cols), min(h, f.Rows), f.Cols, f.Rows)
}

// pan moves the visible part of the window as little as possible so that the cursor is in it. A hidden cursor moves
// nothing, and neither does any after the user has panned.
func (p *Pane) pan(f *vt.Frame, w, h int) {
	if p.rehome.Swap(false) {
		p.panX, p.panY = 0, 0
	}
	if f.Cursor.Visible && !p.byHand.Load() {
		p.panX = follow(p.panX, f.Cursor.Col, w)
		p.panY = follow(p.panY, f.Cursor.Row, h)
	}
	p.panX = max(min(p.panX, f.Cols-w), 0)
	p.panY = max(min(p.panY, f.Rows-h), 0)
}

// follow returns the start nearest to start of a stretch of size cells that contains at.
func follow(start, at, size int) int {
	return max(min(start, at), at-size+1)
}
