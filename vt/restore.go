package vt

import "strconv"

// Restore returns bytes which, written to a fresh Screen of the same size, make it show this frame: cells, cursor,
// modes and title.
func (f *Frame) Restore() []byte {
	b := f.appendModes(nil)
	pen := Style{}
	for y := range f.Rows {
		cells := trimBlank(f.Row(y))
		if len(cells) == 0 {
			continue
		}
		b = appendCUP(b, y, 0)
		for _, c := range cells {
			if c.Style.Link != pen.Link {
				b = append(append(append(b, "\x1b]8;;"...), f.Link(c.Style.Link)...), "\x1b\\"...)
			}
			b = c.Style.AppendSGR(b, pen, TrueColor)
			pen = c.Style
			b = append(b, c.Text...)
		}
	}
	if pen.Link != 0 {
		b = append(b, "\x1b]8;;\x1b\\"...)
	}
	b = Style{}.AppendSGR(b, pen, TrueColor)
	return f.appendCursor(b)
}

// appendModes appends what brings a fresh screen to the frame's modes and title.
func (f *Frame) appendModes(b []byte) []byte {
	m := f.Modes
	for _, mode := range [...]struct {
		number int
		on     bool
	}{
		{1049, m.AlternateScreen},
		{1, m.ApplicationKeys},
		{m.MouseTracking, m.MouseTracking != 0},
		{1006, m.MouseSGR},
		{1004, m.FocusEvents},
		{2004, m.BracketedPaste},
	} {
		if mode.on {
			b = append(b, "\x1b[?"...)
			b = append(strconv.AppendInt(b, int64(mode.number), 10), 'h')
		}
	}
	if f.Title != "" {
		b = append(append(append(b, "\x1b]2;"...), f.Title...), "\x1b\\"...)
	}
	return b
}

func (f *Frame) appendCursor(b []byte) []byte {
	b = appendCUP(b, f.Cursor.Row, f.Cursor.Col)
	if f.Cursor.Shape != 0 {
		b = append(strconv.AppendInt(append(b, "\x1b["...), int64(f.Cursor.Shape), 10), " q"...)
	}
	if !f.Cursor.Visible {
		b = append(b, "\x1b[?25l"...)
	}
	return b
}
