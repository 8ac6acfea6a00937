package journal

import (
	"bytes"
	"unicode/utf8"
)

// maxTail is how much of an unfinished sequence is held back. Longer ones are strings (OSC, DCS) that carry data, such
// as pictures.
const maxTail = 4 << 10

// Whole returns how much of p can make a record: what follows is the beginning of a character or of an escape sequence
// (ECMA-48) that p does not hold whole. p begins where no sequence is open.
func Whole(p []byte) int {
	end := wholeSequences(p)
	if end == len(p) {
		end = wholeCharacters(p)
	}
	if len(p)-end > maxTail {
		return len(p)
	}
	return end
}

func wholeSequences(p []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(p[at:], 0x1b)
		if i < 0 {
			return len(p)
		}
		n := sequence(p[at+i:])
		if n == 0 {
			return at + i
		}
		at += i + n
	}
}

// sequence returns the length of the sequence that p begins with, 0 if it is not whole.
func sequence(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	switch p[1] {
	case '[':
		return final(p, 2, 0x40)
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(p); i++ {
			switch p[i] {
			case 0x07, 0x18, 0x1a:
				return i + 1
			case 0x1b:
				if i+1 == len(p) {
					return 0
				}
				if p[i+1] == '\\' {
					return i + 2
				}
				return i // cut short by another sequence
			}
		}
		return 0
	case 0x1b:
		return 1
	}
	return final(p, 1, 0x30)
}

// final looks for the byte that ends a sequence, least or above, from at on. Whatever cannot be part of one ends it too.
func final(p []byte, at int, least byte) int {
	for i := at; i < len(p); i++ {
		if c := p[i]; c >= least || c < ' ' {
			if c == 0x1b {
				return i
			}
			return i + 1
		}
	}
	return 0
}

func wholeCharacters(p []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if at := len(p) - back; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				return at
			}
			break
		}
	}
	return len(p)
}
