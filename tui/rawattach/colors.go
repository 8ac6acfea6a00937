package rawattach

import (
	"bytes"
	"strconv"

	"corral/vt"
)

// colors rewrites the colours of a stream to those that a terminal has: tmux sends 24-bit colours because Corral's own
// emulator takes them, and a terminal that does not would show others, or blink. Everything but SGR passes as it is.
type colors struct {
	profile vt.Profile
	held    []byte // the beginning of a sequence
	out     []byte
}

// heldMost bounds a sequence that is waited for; a longer one is no SGR that tmux sends.
const heldMost = 256

// feed returns what to write for b. It is valid until the next call.
func (c *colors) feed(b []byte) []byte {
	if c.profile == vt.TrueColor {
		return b
	}
	if len(c.held) > 0 {
		b = append(c.held, b...)
		c.held = nil
	}
	c.out = c.out[:0]
	for len(b) > 0 {
		i := bytes.IndexByte(b, 0x1b)
		if i < 0 {
			return append(c.out, b...)
		}
		c.out, b = append(c.out, b[:i]...), b[i:]
		n := sgrEnd(b)
		switch {
		case n == 0 && len(b) < heldMost:
			c.held = bytes.Clone(b)
			return c.out
		case n <= 0: // another sequence
			c.out, b = append(c.out, b[0]), b[1:]
		default:
			c.out = appendSGR(c.out, b[2:n-1], c.profile)
			b = b[n:]
		}
	}
	return c.out
}

// sgrEnd returns the length of the SGR sequence that b begins with, 0 when its end is missing, -1 when it is none.
func sgrEnd(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != '[' {
		return -1
	}
	for i, p := range b[2:] {
		switch {
		case p == 'm':
			return i + 3
		case p < '0' || p > ';':
			return -1
		}
	}
	return 0
}

// appendSGR appends the sequence with these parameters, its colours as the profile has them. Parameters that leave nothing
// are left out whole: none at all would mean a reset.
func appendSGR(dst, params []byte, p vt.Profile) []byte {
	if len(params) == 0 {
		return append(dst, "\x1b[m"...)
	}
	start := len(dst)
	dst = append(dst, "\x1b["...)
	begin := len(dst)
	for rest := bytes.Split(params, []byte{';'}); len(rest) > 0; {
		n := 1
		switch code := number(bytes.SplitN(rest[0], []byte{':'}, 2)[0]); {
		case code == 38 || code == 48 || code == 58:
			var color vt.Color
			color, n = colorOf(rest)
			dst = appendColor(dst, color.Degrade(p), code)
		case p == vt.NoColor && (code >= 30 && code <= 37 || code >= 40 && code <= 47 || code >= 90 && code <= 107):
		default:
			dst = append(append(dst, rest[0]...), ';')
		}
		rest = rest[n:]
	}
	if len(dst) == begin {
		return dst[:start]
	}
	dst[len(dst)-1] = 'm' // in place of the last separator
	return dst
}

// colorOf returns the colour that stands at the beginning of params, in either spelling, and how many of them it takes.
func colorOf(params [][]byte) (vt.Color, int) {
	parts, n := bytes.Split(params[0], []byte{':'}), 1
	if len(parts) == 1 { // 38;5;n or 38;2;r;g;b
		n = len(params)
		if n > 1 && number(params[1]) == 5 {
			n = min(n, 3)
		}
		n = min(n, 5)
		parts = params[:n]
	}
	last := parts[len(parts)-1]
	switch {
	case len(parts) >= 3 && number(parts[1]) == 5:
		return vt.Palette(number(parts[2])), n
	case len(parts) >= 5 && number(parts[1]) == 2: // perhaps with a field for the colour space
		return vt.RGB(number(parts[len(parts)-3]), number(parts[len(parts)-2]), number(last)), n
	}
	return vt.DefaultColor, n
}

// appendColor appends the parameters of a colour of the palette, nothing for one that cannot be shown.
func appendColor(dst []byte, c vt.Color, code uint8) []byte {
	n, ok := c.IsPalette()
	switch {
	case !ok:
		return dst
	case code == 58: // only the spelling with colons is known by those that know it at all
		return append(strconv.AppendInt(append(dst, "58:5:"...), int64(n), 10), ';')
	case n < 8:
		return append(strconv.AppendInt(dst, int64(code-8)+int64(n), 10), ';')
	case n < 16:
		return append(strconv.AppendInt(dst, int64(code-8)+60+int64(n-8), 10), ';')
	}
	dst = append(strconv.AppendInt(dst, int64(code), 10), ";5;"...)
	return append(strconv.AppendInt(dst, int64(n), 10), ';')
}

// number reads a parameter; what is none is 0.
func number(b []byte) uint8 {
	n, err := strconv.ParseUint(string(b), 10, 8)
	if err != nil {
		return 0
	}
	return uint8(n)
}
