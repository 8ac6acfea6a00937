package attach

import "unicode/utf8"

// kind classifies a token of a terminal byte stream.
type kind uint8

const (
	plain      kind = iota // characters and C0 controls other than ESC
	escape                 // ESC, intermediates, final
	csi                    // ESC [ ... final
	osc                    // ESC ] ... BEL or ST
	otherStr               // DCS, APC, PM, SOS ... ST
	broken                 // the beginning of a sequence that something else broke off
	incomplete             // nothing can be said before more bytes have come
)

const (
	esc = 0x1b
	bel = 0x07
	can = 0x18
	sub = 0x1a
)

// scan finds the first token of p, by the grammar of ECMA-48: a run of plain bytes, or one whole escape sequence. It
// returns the token's kind and length; incomplete and 0 when p ends inside an escape sequence or a character. A
// sequence may be broken off by CAN, SUB, another ESC or a stray control character.
func scan(p []byte) (kind, int) {
	if len(p) == 0 {
		return incomplete, 0
	}
	if p[0] != esc {
		return scanPlain(p)
	}
	if len(p) == 1 {
		return incomplete, 0
	}
	switch p[1] {
	case '[':
		return scanCSI(p)
	case ']':
		return scanString(p, osc)
	case 'P', 'X', '^', '_':
		return scanString(p, otherStr)
	}
	for i := 1; i < len(p); i++ {
		switch {
		case p[i] >= 0x20 && p[i] <= 0x2f:
		case p[i] >= 0x30 && p[i] <= 0x7e:
			return escape, i + 1
		default:
			return broken, i
		}
	}
	return incomplete, 0
}

func scanPlain(p []byte) (kind, int) {
	n := 0
	for n < len(p) && p[n] != esc {
		n++
	}
	if n == len(p) {
		n -= unfinished(p)
	}
	if n == 0 {
		return incomplete, 0
	}
	return plain, n
}

func scanCSI(p []byte) (kind, int) {
	for i := 2; i < len(p); i++ {
		switch {
		case p[i] >= 0x20 && p[i] <= 0x3f:
		case p[i] >= 0x40 && p[i] <= 0x7e:
			return csi, i + 1
		default:
			return broken, i
		}
	}
	return incomplete, 0
}

func scanString(p []byte, k kind) (kind, int) {
	for i := 2; i < len(p); i++ {
		switch p[i] {
		case bel:
			if k == osc {
				return k, i + 1
			}
		case can, sub:
			return broken, i
		case esc:
			if i+1 == len(p) {
				return incomplete, 0
			}
			if p[i+1] == '\\' {
				return k, i + 2
			}
			return broken, i
		}
	}
	return incomplete, 0
}

// unfinished returns how many bytes at the end of p are the beginning of a UTF-8 character.
func unfinished(p []byte) int {
	for n := 1; n <= len(p) && n < utf8.UTFMax; n++ {
		tail := p[len(p)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// stringBody returns what is between the introducer and the terminator of an OSC or other string.
func stringBody(token []byte) []byte {
	body := token[2:]
	switch {
	case len(body) > 0 && body[len(body)-1] == bel:
		return body[:len(body)-1]
	case len(body) > 1 && body[len(body)-2] == esc:
		return body[:len(body)-2]
	}
	return body
}

// scanKey is scan for what a terminal sends: it knows SS3, mouse reports of the X10 kind and characters with Alt.
func scanKey(p []byte) (kind, int) {
	if len(p) < 2 || p[0] != esc {
		return scan(p)
	}
	switch {
	case p[1] == 'O':
		return fixed(p, 3)
	case p[1] == '[' && len(p) > 2 && p[2] == 'M':
		return fixed(p, 6)
	case p[1] == esc: // Alt with a special key
		k, n := scanKey(p[1:])
		if k == incomplete {
			return incomplete, 0
		}
		return k, n + 1
	case p[1] >= utf8.RuneSelf:
		if !utf8.FullRune(p[1:]) {
			return incomplete, 0
		}
		_, n := utf8.DecodeRune(p[1:])
		return escape, n + 1
	}
	k, n := scan(p)
	if n == 1 { // ESC and a control character: Alt with Enter, Tab, Ctrl and a letter
		return escape, 2
	}
	return k, n
}

// fixed is the token of n bytes at the start of p.
func fixed(p []byte, n int) (kind, int) {
	if len(p) < n {
		return incomplete, 0
	}
	return escape, n
}
