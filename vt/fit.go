package vt

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/displaywidth"
)

// fitter writes clusters so that displaywidth, by which everything else in Corral measures, sees each as wide as its cell.
// tmux decides about a character at a time; displaywidth looks at what characters form together, so neighbours that
// are apart in the cells can melt into one, and some clusters have another width.
type fitter struct {
	prev  string // what was written last, after fitting
	width int
}

// Characters that hold neighbours apart, and that stand for what cannot be shown.
const (
	zwnj        = "\u200c"
	replacement = "\ufffd"
)

// append appends the first cluster of cells, or a flag that two make, and says how many cells it took.
func (f *fitter) append(b []byte, cells []Cell) ([]byte, int) {
	c := cells[0]
	n := max(int(c.Width), 1)
	if c.Width == 0 {
		return b, n
	}
	text := c.Text
	if regional(text) && len(cells) > 1 && regional(cells[1].Text) && cells[1].Style == c.Style {
		text += cells[1].Text
		n = 2
	}
	if settled(text) && (f.prev == "" || settled(f.prev)) {
		f.prev, f.width = text, n
		return append(b, text...), n
	}
	text = fit(text, n)
	if f.prev != "" {
		var between string
		between, text = f.apart(text, n)
		b = append(b, between...)
	}
	f.prev, f.width = text, n
	return append(b, text...), n
}

// apart returns text, or blanks, and what has to be written before it so that it adds n columns to what was written last.
func (f *fitter) apart(text string, n int) (between, fitted string) {
	for _, fitted := range []string{text, "  "[:n]} {
		for _, between := range []string{"", zwnj} {
			if measures(f.width+n, f.prev, between, fitted) {
				return between, fitted
			}
		}
	}
	return zwnj, "  "[:n]
}

// measures reports whether three texts together measure width. x/ansi, with which lipgloss measures, takes ASCII by itself,
// also where displaywidth takes what follows as a part of it: it has to be asked where that makes a difference.
func measures(width int, a, b, c string) bool {
	var buf [64]byte // enough for nearly all, so that nothing is allocated
	text := append(append(append(buf[:0], a...), b...), c...)
	if displaywidth.Bytes(text) != width {
		return false
	}
	return !beginsASCII(a) && !beginsASCII(c) || ansi.StringWidth(string(text)) == width
}

// beginsASCII reports whether a cluster of several characters begins with one of ASCII.
func beginsASCII(text string) bool { return len(text) > 1 && text[0] < utf8.RuneSelf }

// fit returns text, or what comes nearest to it, that measures width.
func fit(text string, width int) string {
	if measures(width, "", "", text) {
		return text
	}
	r, size := utf8.DecodeRuneInString(text)
	if bare := strings.Map(dropVariation, text); measures(width, "", "", bare) {
		return bare
	}
	if first := text[:size]; displaywidth.String(first) == width {
		return first
	}
	if regional(text) { // alone: the letter it stands for
		return string('A' + r - firstRegional)
	}
	return (replacement + " ")[:len(replacement)+width-1]
}

// dropVariation removes the variation selectors that choose between text and emoji.
func dropVariation(r rune) rune {
	if r == 0xfe0e || r == 0xfe0f {
		return -1
	}
	return r
}

const firstRegional = 0x1f1e6

// regional reports whether text is one of the letters of which two make a flag.
func regional(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	return size == len(text) && r >= firstRegional && r < firstRegional+26
}

// settled reports whether text is one character of a kind that is as wide for everybody and never melts with another
// such: most of what is ever printed.
func settled(text string) bool {
	if len(text) == 1 {
		return true
	}
	r, size := utf8.DecodeRuneInString(text)
	if size != len(text) {
		return false
	}
	switch {
	case r >= 0xc0 && r <= 0x24f, // Latin
		r >= 0x391 && r <= 0x3c9 && r != 0x3a2, // Greek
		r >= 0x400 && r <= 0x481,               // Cyrillic
		r >= 0x2500 && r <= 0x259f,             // box drawing, blocks
		r >= 0x2800 && r <= 0x28ff,             // braille
		r >= 0x3041 && r <= 0x3096,             // Hiragana
		r >= 0x30a1 && r <= 0x30fa,             // Katakana
		r >= 0x3400 && r <= 0x4dbf,             // Han
		r >= 0x4e00 && r <= 0x9fff,
		r >= 0xe000 && r <= 0xf8ff: // private use: icons
		return true
	}
	return false
}
