package vt

// zwj joins the characters around it to one cluster.
const zwj = 0x200d

// joined returns what r adds to the cluster before it.
func joined(r rune, joiner bool) string {
	if joiner {
		return string([]rune{zwj, r})
	}
	return string(r)
}

// charset is a set of 94 characters that G0 to G3 may hold, by the final byte that selects it.
type charset byte

const (
	charsetASCII    charset = 'B'
	charsetUK       charset = 'A'
	charsetGraphics charset = '0'
)

// graphics is the DEC special graphics set from 0x5f on (DEC VT220 manual, table 2-4).
var graphics = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
	'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// graphic returns the DEC special graphics character of b, 0 when it is the ASCII character itself.
func graphic(b byte) rune {
	if b >= 0x5f && b < 0x7f {
		return graphics[b-0x5f]
	}
	return 0
}

// translate returns the character that b is in the set.
func (c charset) translate(b byte) rune {
	switch {
	case c == charsetGraphics:
		if r := graphic(b); r != 0 {
			return r
		}
	case c == charsetUK && b == '#':
		return '£'
	}
	return rune(b)
}

// unwanted reports characters that never reach a cell: they would act on the line around the cell wherever it is
// shown. They are the explicit bidirectional controls (Unicode UAX 9, section 2) and the line separators.
func unwanted(r rune) bool {
	return r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
