package vt

// Sanitize makes text that came from a program fit for one line of ours: no control characters, no escape sequences,
// and every part as wide for displaywidth, by which lipgloss measures, as it is in cells. Line breaks and tabs become
// spaces.
func Sanitize(s string) string { return DefaultWidths().Sanitize(s) }

// Sanitize is the function Sanitize with the widths w.
func (w *Widths) Sanitize(s string) string {
	for i := 0; ; i++ {
		if i == len(s) {
			return s
		}
		if s[i] < 0x20 || s[i] >= 0x7f {
			break
		}
	}
	l := liner{w: w, limit: -1, breaks: true}
	l.parse(s)
	var f fitter
	var b []byte
	for x := 0; x < len(l.cells); {
		var n int
		b, n = f.append(b, l.cells[x:])
		x += n
	}
	return string(b)
}
