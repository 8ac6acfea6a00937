package vt

// applySGR changes the style as SGR (ECMA-48 8.3.117, with the extensions of xterm and kitty) does. Unknown parameters
// are skipped.
func (s *Style) applySGR(q *sequence) {
	if q.n == 0 {
		s.resetSGR()
		return
	}
	for i := 0; i < q.n; {
		end := i + 1
		for end < q.n && q.sub[end] {
			end++
		}
		if end > i+1 {
			s.applyColon(q, i, end)
			i = end
			continue
		}
		p := q.param(i, 0)
		if p == 38 || p == 48 || p == 58 {
			c, ok, used := extendedColor(q, i+1)
			if used == 0 { // cannot tell where it ends
				return
			}
			if ok {
				s.setColor(p, c)
			}
			i += 1 + used
			continue
		}
		s.applyOne(p)
		i++
	}
}

// resetSGR is SGR 0: everything but the hyperlink, which is no SGR attribute.
func (s *Style) resetSGR() { *s = Style{Link: s.Link} }

// applyOne applies a parameter that stands by itself.
func (s *Style) applyOne(p int) {
	switch {
	case p == 0:
		s.resetSGR()
	case p >= 30 && p <= 37:
		s.FG = Palette(uint8(p - 30))
	case p >= 40 && p <= 47:
		s.BG = Palette(uint8(p - 40))
	case p >= 90 && p <= 97:
		s.FG = Palette(uint8(p - 90 + 8))
	case p >= 100 && p <= 107:
		s.BG = Palette(uint8(p - 100 + 8))
	case p == 39:
		s.FG = DefaultColor
	case p == 49:
		s.BG = DefaultColor
	case p == 59:
		s.UL = DefaultColor
	case p == 4:
		s.Underline = UnderlineSingle
	case p == 21:
		s.Underline = UnderlineDouble
	case p == 24:
		s.Underline = UnderlineNone
	case p == 22:
		s.Attr &^= Bold | Faint
	default:
		s.applyAttr(p)
	}
}

// applyAttr sets or clears one attribute.
func (s *Style) applyAttr(p int) {
	switch p {
	case 1:
		s.Attr |= Bold
	case 2:
		s.Attr |= Faint
	case 3:
		s.Attr |= Italic
	case 5, 6: // rapid blink is blink
		s.Attr |= Blink
	case 7:
		s.Attr |= Reverse
	case 8:
		s.Attr |= Hidden
	case 9:
		s.Attr |= Strike
	case 53:
		s.Attr |= Overline
	case 23:
		s.Attr &^= Italic
	case 25:
		s.Attr &^= Blink
	case 27:
		s.Attr &^= Reverse
	case 28:
		s.Attr &^= Hidden
	case 29:
		s.Attr &^= Strike
	case 55:
		s.Attr &^= Overline
	}
}

// applyColon applies the parameters i to end, joined by colons.
func (s *Style) applyColon(q *sequence, i, end int) {
	switch p := q.param(i, 0); p {
	case 4:
		if k := q.param(i+1, 0); k <= int(UnderlineDashed) {
			s.Underline = Underline(k)
		}
	case 38, 48, 58:
		if c, ok := colonColor(q, i+1, end); ok {
			s.setColor(p, c)
		}
	}
}

func (s *Style) setColor(p int, c Color) {
	switch p {
	case 38:
		s.FG = c
	case 48:
		s.BG = c
	case 58:
		s.UL = c
	}
}

// extendedColor reads 5;n or 2;r;g;b from parameter i on and says how many parameters it used; 0 when the form is
// unknown. ok is false for a colour out of range.
func extendedColor(q *sequence, i int) (c Color, ok bool, used int) {
	switch q.param(i, 0) {
	case 5:
		if i+1 < q.n {
			c, ok = paletteColor(q.param(i+1, 0))
			return c, ok, 2
		}
	case 2:
		if i+3 < q.n {
			c, ok = rgbColor(q.param(i+1, 0), q.param(i+2, 0), q.param(i+3, 0))
			return c, ok, 4
		}
	}
	return 0, false, 0
}

// colonColor reads 5:n, 2:r:g:b or 2:space:r:g:b from the parameters i to end.
func colonColor(q *sequence, i, end int) (Color, bool) {
	switch q.param(i, 0) {
	case 5:
		if i+1 < end {
			return paletteColor(q.param(i+1, 0))
		}
	case 2:
		if n := end - i; n >= 5 {
			i++ // the colour space
		} else if n < 4 {
			return 0, false
		}
		return rgbColor(q.param(i+1, 0), q.param(i+2, 0), q.param(i+3, 0))
	}
	return 0, false
}

func paletteColor(n int) (Color, bool) {
	if n > 255 {
		return DefaultColor, false
	}
	return Palette(uint8(n)), true
}

func rgbColor(r, g, b int) (Color, bool) {
	if r > 255 || g > 255 || b > 255 {
		return DefaultColor, false
	}
	return RGB(uint8(r), uint8(g), uint8(b)), true
}
