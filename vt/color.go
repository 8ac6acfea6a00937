package vt

// IsPalette reports whether c is one of the 256 palette colours, and which.
func (c Color) IsPalette() (n uint8, ok bool) { return uint8(c), c>>24 == colorPalette>>24 }

// IsRGB reports whether c is a 24-bit colour, and which.
func (c Color) IsRGB() (r, g, b uint8, ok bool) {
	return uint8(c >> 16), uint8(c >> 8), uint8(c), c>>24 == colorRGB>>24
}

// Profile says which colours a terminal can show.
type Profile uint8

// The profiles.
const (
	TrueColor Profile = iota
	ANSI256
	ANSI16
	NoColor
)

// Degrade returns the colour of profile p that comes nearest to c.
func (c Color) Degrade(p Profile) Color {
	if c == DefaultColor || p == TrueColor {
		return c
	}
	if p == NoColor {
		return DefaultColor
	}
	n, ok := c.IsPalette()
	if !ok {
		r, g, b, _ := c.IsRGB()
		n = nearest256(int(r), int(g), int(b))
	}
	if p == ANSI16 && n >= 16 {
		r, g, b := paletteRGB(n)
		if rr, gg, bb, rgb := c.IsRGB(); rgb {
			r, g, b = int(rr), int(gg), int(bb)
		}
		n = nearest16(r, g, b)
	}
	return Palette(n)
}

// Degrade returns the style as a terminal of profile p can show it. Kinds and colours of underlines are left to
// terminals with 24-bit colour: others are known to misread the sequences.
func (s Style) Degrade(p Profile) Style {
	if p == TrueColor {
		return s
	}
	s.FG, s.BG, s.UL = s.FG.Degrade(p), s.BG.Degrade(p), DefaultColor
	if s.Underline != UnderlineNone {
		s.Underline = UnderlineSingle
	}
	s.Attr &^= Overline
	return s
}

// cubeLevel returns the level i (0..5) of xterm's 6x6x6 colour cube.
func cubeLevel(i int) int {
	if i == 0 {
		return 0
	}
	return 55 + 40*i
}

// nearestLevel returns the level of the cube nearest to v.
func nearestLevel(v int) int {
	switch {
	case v < 48:
		return 0
	case v < 115:
		return 1
	}
	return (v - 35) / 40
}

// nearest256 returns the colour of the cube or of the grey ramp nearest to an RGB colour. The first sixteen are left
// out, since users redefine them.
func nearest256(r, g, b int) uint8 {
	ri, gi, bi := nearestLevel(r), nearestLevel(g), nearestLevel(b)
	cube := distance(r, g, b, cubeLevel(ri), cubeLevel(gi), cubeLevel(bi))
	i := min(max(((r+g+b)/3-3)/10, 0), 23)
	if grey := 8 + 10*i; distance(r, g, b, grey, grey, grey) < cube {
		return uint8(232 + i)
	}
	return uint8(16 + 36*ri + 6*gi + bi)
}

// nearest16 returns the colour of the first sixteen, by xterm's values for them, nearest to an RGB colour.
func nearest16(r, g, b int) uint8 {
	best, at := -1, 0
	for n := range 16 {
		pr, pg, pb := paletteRGB(uint8(n))
		if d := distance(r, g, b, pr, pg, pb); best < 0 || d < best {
			best, at = d, n
		}
	}
	return uint8(at)
}

// paletteRGB returns xterm's default value of a palette colour.
func paletteRGB(n uint8) (r, g, b int) {
	switch {
	case n >= 232:
		grey := 8 + 10*int(n-232)
		return grey, grey, grey
	case n >= 16:
		i := int(n - 16)
		return cubeLevel(i / 36), cubeLevel(i / 6 % 6), cubeLevel(i % 6)
	}
	switch n { // the ones that are no plain mixture, from xterm's XTerm-col.ad
	case 4:
		return 0, 0, 238
	case 7:
		return 229, 229, 229
	case 8:
		return 127, 127, 127
	case 12:
		return 92, 92, 255
	}
	on := 205
	if n >= 8 {
		on = 255
	}
	return on * int(n&1), on * int(n>>1&1), on * int(n>>2&1)
}

// distance is the squared distance of two colours, weighted by how strongly the eye sees each part.
func distance(r1, g1, b1, r2, g2, b2 int) int {
	dr, dg, db := r1-r2, g1-g2, b1-b2
	return 3*dr*dr + 4*dg*dg + 2*db*db
}
