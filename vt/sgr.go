package vt

import "strconv"

// attrCode is an attribute with the SGR codes that switch it on and off.
type attrCode struct {
	attr    Attr
	on, off int
}

// attrCodes lists the attributes in the order they are written. Bold and Faint share their off code.
var attrCodes = [...]attrCode{
	{Bold, 1, 22},
	{Faint, 2, 22},
	{Italic, 3, 23},
	{Blink, 5, 25},
	{Reverse, 7, 27},
	{Hidden, 8, 28},
	{Strike, 9, 29},
	{Overline, 53, 55},
}

// AppendSGR appends to dst the shortest SGR sequence that changes a terminal's style from from to s; nothing when they
// look alike in profile p. Hyperlinks are not part of SGR.
func (s Style) AppendSGR(dst []byte, from Style, p Profile) []byte {
	s, from = s.Degrade(p), from.Degrade(p)
	s.Link, from.Link = 0, 0
	if s == from {
		return dst
	}
	if s == (Style{}) {
		return append(dst, "\x1b[m"...)
	}
	start := len(dst)
	dst = append(dst, "\x1b["...)
	dst = appendChange(dst, from, s)
	dst[len(dst)-1] = 'm' // in place of the last separator
	if !s.lacks(from) {
		return dst
	}
	// Starting anew may be shorter than switching things off one by one.
	step := len(dst)
	dst = append(dst, "\x1b[0;"...)
	dst = appendChange(dst, Style{}, s)
	dst[len(dst)-1] = 'm'
	if len(dst)-step < step-start {
		return append(dst[:start], dst[step:]...)
	}
	return dst[:step]
}

// lacks reports whether something that other has is at its default in s.
func (s Style) lacks(other Style) bool {
	return other.Attr&^s.Attr != 0 ||
		other.Underline != UnderlineNone && s.Underline == UnderlineNone ||
		other.FG != DefaultColor && s.FG == DefaultColor ||
		other.BG != DefaultColor && s.BG == DefaultColor ||
		other.UL != DefaultColor && s.UL == DefaultColor
}

// appendChange appends the parameters that turn style a into b, each followed by a semicolon.
func appendChange(dst []byte, a, b Style) []byte {
	if gone := a.Attr &^ b.Attr; gone != 0 {
		last := 0
		for _, c := range attrCodes {
			if gone&c.attr != 0 && c.off != last {
				dst = appendParam(dst, c.off)
				last = c.off
			}
		}
		if gone&(Bold|Faint) != 0 {
			a.Attr &^= Bold | Faint
		}
	}
	for _, c := range attrCodes {
		if (b.Attr&^a.Attr)&c.attr != 0 {
			dst = appendParam(dst, c.on)
		}
	}
	if a.Underline != b.Underline {
		dst = appendUnderline(dst, b.Underline)
	}
	if a.FG != b.FG {
		dst = appendColor(dst, b.FG, 30)
	}
	if a.BG != b.BG {
		dst = appendColor(dst, b.BG, 40)
	}
	if a.UL != b.UL {
		dst = appendUnderlineColor(dst, b.UL)
	}
	return dst
}

func appendParam(dst []byte, n int) []byte {
	return append(strconv.AppendInt(dst, int64(n), 10), ';')
}

func appendUnderline(dst []byte, u Underline) []byte {
	switch u {
	case UnderlineNone:
		return append(dst, "24;"...)
	case UnderlineSingle:
		return append(dst, "4;"...)
	case UnderlineDouble, UnderlineCurly, UnderlineDotted, UnderlineDashed:
	}
	return append(append(dst, "4:"...), '0'+byte(u), ';')
}

// appendColor appends a colour in the forms every terminal knows; base is 30 for the foreground, 40 for the background.
func appendColor(dst []byte, c Color, base int) []byte {
	if r, g, b, ok := c.IsRGB(); ok {
		dst = appendParam(appendParam(dst, base+8), 2)
		return appendParam(appendParam(appendParam(dst, int(r)), int(g)), int(b))
	}
	n, ok := c.IsPalette()
	switch {
	case !ok:
		return appendParam(dst, base+9)
	case n < 8:
		return appendParam(dst, base+int(n))
	case n < 16:
		return appendParam(dst, base+60+int(n-8))
	}
	return appendParam(appendParam(appendParam(dst, base+8), 5), int(n))
}

// appendUnderlineColor appends an underline colour. Only the form with colons is safe: terminals that do not know SGR 58
// would take the parts of the other for attributes.
func appendUnderlineColor(dst []byte, c Color) []byte {
	if r, g, b, ok := c.IsRGB(); ok {
		dst = append(dst, "58:2::"...)
		dst = append(strconv.AppendInt(dst, int64(r), 10), ':')
		dst = append(strconv.AppendInt(dst, int64(g), 10), ':')
		return append(strconv.AppendInt(dst, int64(b), 10), ';')
	}
	if n, ok := c.IsPalette(); ok {
		dst = append(dst, "58:5:"...)
		return append(strconv.AppendInt(dst, int64(n), 10), ';')
	}
	return append(dst, "59;"...)
}
