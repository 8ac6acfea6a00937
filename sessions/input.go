package sessions

import (
	"strings"
	"unicode/utf8"
)

// CountKeys returns how many keys were pressed to send p, as a person would count them: a character is one, and so is an
// escape sequence, as arrows and function keys send them; reports of the focus and of the mouse are none. It is for saying
// how many were lost, not for reading them.
func CountKeys(p []byte) int {
	keys := 0
	for len(p) > 0 {
		n := keyLen(p)
		if !isReport(p[:n]) {
			keys++
		}
		p = p[n:]
	}
	return keys
}

func isReport(key []byte) bool {
	s := string(key)
	return s == "\x1b[I" || s == "\x1b[O" || strings.HasPrefix(s, "\x1b[<")
}

// keyLen is the length of the key at the start of p, by the grammar of ECMA-48.
func keyLen(p []byte) int {
	const esc = 0x1b
	if p[0] != esc || len(p) == 1 {
		_, n := utf8.DecodeRune(p)
		return n
	}
	switch p[1] {
	case '[':
		for i := 2; i < len(p); i++ {
			if p[i] >= 0x40 && p[i] <= 0x7e {
				return i + 1
			}
		}
		return len(p)
	case 'O':
		return min(3, len(p))
	}
	_, n := utf8.DecodeRune(p[1:]) // with Alt
	return n + 1
}
