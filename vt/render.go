package vt

import "strings"

// Text returns the frame's text, rows joined by LF, without trailing blanks.
func (f *Frame) Text() string {
	rows := make([]string, f.Rows)
	for y := range rows {
		rows[y] = strings.TrimRight(textOf(f.Row(y)), " ")
	}
	return strings.Join(rows, "\n")
}

// ANSI returns the frame's text with SGR sequences, rows joined by LF, without trailing blanks of the default style.
// Every row begins and ends in the default style. The text is that of the cells; for lines that are measured use Line.
func (f *Frame) ANSI(p Profile) string {
	var b []byte
	for y := range f.Rows {
		if y > 0 {
			b = append(b, '\n')
		}
		pen := Style{}
		for _, c := range trimBlank(f.Row(y)) {
			b = c.Style.AppendSGR(b, pen, p)
			pen = c.Style
			b = append(b, c.Text...)
		}
		b = Style{}.AppendSGR(b, pen, p)
	}
	return string(b)
}

// Line returns row y with SGR sequences, measuring exactly Cols columns for lipgloss, ending in the default style.
func (f *Frame) Line(y int, p Profile) string {
	return string(appendLine(make([]byte, 0, 4*f.Cols), f.Row(y), p))
}

func appendLine(b []byte, cells []Cell, p Profile) []byte {
	var fit fitter
	pen := Style{}
	for x := 0; x < len(cells); {
		c := &cells[x]
		if c.Style != pen {
			b = c.Style.AppendSGR(b, pen, p)
			pen = c.Style
		}
		if len(c.Text) == 1 && len(fit.prev) <= 1 { // ASCII after ASCII always fits
			b = append(b, c.Text[0])
			fit.prev, fit.width = c.Text, 1
			x++
			continue
		}
		var n int
		b, n = fit.append(b, cells[x:])
		x += n
	}
	return Style{}.AppendSGR(b, pen, p)
}

// Renderer renders the rows of one screen's frames and remembers those it rendered. It is not for concurrent use.
type Renderer struct {
	profile Profile
	rows    []renderedRow
	buf     []byte
}

// renderedRow is a row with its rendering. The cells of a row never change, so they are known by where they lie.
type renderedRow struct {
	first *Cell
	line  string
}

// NewRenderer returns a renderer for terminals of profile p.
func NewRenderer(p Profile) *Renderer { return &Renderer{profile: p} }

// Line is f.Line(y, profile), made anew only when the row changed.
func (r *Renderer) Line(f *Frame, y int) string {
	for len(r.rows) < f.Rows {
		r.rows = append(r.rows, renderedRow{})
	}
	cells := f.Row(y)
	e := &r.rows[y]
	if e.first != &cells[0] {
		r.buf = appendLine(r.buf[:0], cells, r.profile)
		e.first, e.line = &cells[0], string(r.buf)
	}
	return e.line
}
