package logview

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"corral/vt"
)

// tabStop is where tabs lead: to the next multiple of it.
const tabStop = 8

// tabMark stands for a tab until the columns are known: a character of a private plane, one cell wide in every table.
const tabMark = "\U000F0009"

// cellsOf turns a line of the log into cells, as a terminal with endless lines would show it: colours are kept, what
// stands after a carriage return overwrites what stood there before, and bytes that are no text are shown as such and do
// nothing.
func cellsOf(raw []byte) []vt.Cell {
	if bytes.IndexByte(raw, '\r') < 0 {
		return expand(nil, parse(raw))
	}
	var shown []vt.Cell
	for part := range bytes.SplitSeq(raw, []byte{'\r'}) {
		if len(part) == 0 {
			continue
		}
		shown = overwrite(shown, expand(nil, parse(part)), erases(part))
	}
	return shown
}

// parse turns text with SGR sequences into cells, and other control characters into their symbols.
func parse(raw []byte) []vt.Cell {
	lines := vt.ParseCapture(visible(raw))
	if len(lines) == 0 {
		return nil
	}
	return lines[0]
}

// visible replaces what a terminal would obey. Control Sequences are left to the parser, which drops all but SGR; so are
// strings (OSC, DCS, ...) that end in this line. An ESC that begins one that does not would hide the rest of the line.
func visible(raw []byte) []byte {
	for n := 1; n <= min(utf8.UTFMax-1, len(raw)); n++ { // the parser would wait for the rest of a character
		if tail := raw[len(raw)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				raw = append(bytes.Clone(raw[:len(raw)-n]), "\ufffd"...)
			}
			break
		}
	}
	plain := true
	for _, b := range raw {
		if b < 0x20 || b == 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return raw
	}
	out := make([]byte, 0, len(raw)+16)
	for i, b := range raw {
		switch {
		case b == '\t':
			out = append(out, tabMark...)
		case b == 0x1b && (i+1 == len(raw) || opensString(raw[i+1]) && !closesString(raw[i+2:])):
			out = append(out, "␛"...)
		case b == 0x1b, b == 0x07 && bytes.IndexByte(raw[:i], 0x1b) >= 0: // BEL ends a string
			out = append(out, b)
		case b < 0x20:
			out = append(out, string(rune(0x2400)+rune(b))...) // control pictures
		case b == 0x7f:
			out = append(out, "␡"...)
		default:
			out = append(out, b)
		}
	}
	return out
}

func opensString(b byte) bool { return strings.IndexByte("]PX^_k", b) >= 0 }

func closesString(rest []byte) bool {
	return bytes.IndexByte(rest, 0x07) >= 0 || bytes.Contains(rest, []byte("\x1b\\"))
}

// expand appends the cells with tabs as blanks.
func expand(dst, cells []vt.Cell) []vt.Cell {
	tabs := false
	for i := range cells {
		if cells[i].Text == tabMark {
			tabs = true
			break
		}
	}
	if !tabs {
		if dst == nil {
			return cells
		}
		return append(dst, cells...)
	}
	for _, c := range cells {
		if c.Text != tabMark {
			dst = append(dst, c)
			continue
		}
		for ok := true; ok; ok = len(dst)%tabStop != 0 {
			dst = append(dst, vt.Cell{Text: " ", Width: 1, Style: c.Style})
		}
	}
	return dst
}

// erases reports whether part clears the rest of its line (EL 0 and 2), as progress bars do.
func erases(part []byte) bool {
	return bytes.Contains(part, []byte("\x1b[K")) || bytes.Contains(part, []byte("\x1b[0K")) || bytes.Contains(part, []byte("\x1b[2K"))
}

// overwrite puts over at the begin of under.
func overwrite(under, over []vt.Cell, erase bool) []vt.Cell {
	n := len(over)
	if erase || n >= len(under) {
		return over
	}
	copy(under, over)
	if under[n].Width == 0 { // its left half is gone
		under[n].Text, under[n].Width = " ", 1
	}
	return under
}

// columns are the cells from one column up to another.
type columns struct{ from, to int }

// hitsMost bounds the marked places of a line.
const hitsMost = 1000

// hitsIn returns where the pattern matches in what is shown of a line.
func (m *matcher) hitsIn(cells []vt.Cell) []columns {
	var b strings.Builder
	ends := make([]int, len(cells)) // of the cells' texts
	for i := range cells {
		b.WriteString(cells[i].Text)
		ends[i] = b.Len()
	}
	s := b.String()
	var out []columns
	column := 0
	columnOf := func(off int) int {
		for column < len(ends) && ends[column] <= off {
			column++
		}
		return column
	}
	for pos := 0; pos <= len(s) && len(out) < hitsMost; {
		from, to, ok := m.find(s[pos:])
		if !ok {
			break
		}
		from, to = from+pos, to+pos
		if to > from {
			first := columnOf(from)
			out = append(out, columns{first, columnOf(to-1) + 1})
		}
		pos = max(to, pos+1, from+1)
	}
	return out
}

func (m *matcher) find(s string) (from, to int, ok bool) {
	if m.re == nil {
		i := strings.Index(s, m.pattern.Text)
		return i, i + len(m.plain), i >= 0
	}
	at := m.re.FindStringIndex(s)
	if at == nil {
		return 0, 0, false
	}
	return at[0], at[1], true
}
