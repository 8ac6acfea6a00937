package vt

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Widths says how many columns a character takes. The tmux that feeds a screen decides that by its own table or its C
// library's, so a screen must agree with it or rows shift. Widths holds where a tmux differs from displaywidth, the
// library that everything else in Corral measures with. It is not changed once in use.
type Widths struct {
	// CellBytes is how many bytes of UTF-8 tmux keeps in one cell; what would make a cluster longer is left out. It is
	// 21 up to tmux 3.5 and 32 from 3.6 (UTF8_SIZE in tmux.h).
	CellBytes int

	ranges []widthRange // sorted, disjoint
}

// widthRange gives the characters lo to hi a width.
type widthRange struct {
	lo, hi rune
	width  uint8
}

const cellBytes33 = 21

// tmux33 holds every assigned character on which tmux 3.3a with glibc 2.36 and displaywidth 0.9 differ, found by asking
// that tmux for the cursor position after each (ProbeWidths); TestWidthsAgreeWithTmux does it again.
var tmux33 = []widthRange{
	{0xad, 0xad, 1},       // soft hyphen
	{0x600, 0x605, 1},     // Arabic number signs
	{0x6dd, 0x6dd, 1},     // Arabic end of ayah
	{0x70f, 0x70f, 1},     // Syriac abbreviation mark
	{0x890, 0x891, 1},     // Arabic pound and piastre marks
	{0x8e2, 0x8e2, 1},     // Arabic disputed end of ayah
	{0x1160, 0x11ff, 0},   // conjoining Hangul vowels and finals
	{0x2630, 0x2637, 1},   // trigrams
	{0x268a, 0x268f, 1},   // monograms and digrams
	{0x3248, 0x324f, 2},   // circled numbers on black squares
	{0xd7b0, 0xd7fb, 0},   // conjoining Hangul, extended
	{0x110bd, 0x110bd, 1}, // Kaithi number sign
	{0x110cd, 0x110cd, 1}, // Kaithi number sign above
	{0x1d300, 0x1d356, 1}, // Tai Xuan Jing symbols
	{0x1d360, 0x1d376, 1}, // counting rods, ideographic tally marks
	{0x1f1e6, 0x1f1ff, 1}, // regional indicators
}

// DefaultWidths returns the widths of tmux 3.3a on glibc 2.36.
func DefaultWidths() *Widths { return &Widths{CellBytes: cellBytes33, ranges: tmux33} }

// Rune returns the number of columns of r: 0 for what joins the cell before it, 1 or 2.
func (w *Widths) Rune(r rune) int {
	if r < 0x7f {
		return 1
	}
	if n, ok := w.find(r); ok {
		return n
	}
	return min(max(displaywidth.Rune(r), 0), 2)
}

// Agrees reports whether w and o say the same of every one of runes, and of cells.
func (w *Widths) Agrees(o *Widths, runes []rune) bool {
	if w.CellBytes != o.CellBytes {
		return false
	}
	for _, r := range runes {
		if w.Rune(r) != o.Rune(r) {
			return false
		}
	}
	return true
}

// find looks r up in the ranges.
func (w *Widths) find(r rune) (int, bool) {
	lo, hi := 0, len(w.ranges)
	for lo < hi {
		m := (lo + hi) / 2
		switch e := &w.ranges[m]; {
		case r < e.lo:
			hi = m
		case r > e.hi:
			lo = m + 1
		default:
			return int(e.width), true
		}
	}
	return 0, false
}

// charInfo is what there is to know about a character.
type charInfo struct {
	r     rune
	width int
	text  string
}

// charCache remembers the characters seen last: to make a string of one costs more than to print it.
type charCache struct {
	widths *Widths
	seen   [1024]charInfo
}

// info returns what there is to know about r.
func (c *charCache) info(r rune) *charInfo {
	e := &c.seen[uint32(r)%uint32(len(c.seen))]
	if e.r != r || e.text == "" {
		*e = charInfo{r: r, width: c.widths.Rune(r), text: string(r)}
	}
	return e
}

// String returns the number of columns that the text of s takes in cells. Control characters and escape sequences take
// none.
func (w *Widths) String(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return n + w.measure(s[i:])
		}
		n++
	}
	return n
}

// measure is String for text that is more than printable ASCII.
func (w *Widths) measure(s string) int {
	l := liner{w: w, limit: -1, countOnly: true}
	l.parse(s)
	return l.x
}

// StringWidth is DefaultWidths().String(s).
func StringWidth(s string) int { return DefaultWidths().String(s) }

// errWidths is the kind of every error of LoadWidths.
var errWidths = errors.New("not a table of character widths")

// LoadWidths reads a table that WriteTo wrote. Its first line is "cell N", the others "LO HI WIDTH" with hexadecimal
// code points.
func LoadWidths(r io.Reader) (*Widths, error) {
	w := &Widths{}
	lines := bufio.NewScanner(r)
	if !lines.Scan() {
		return nil, errors.Join(errWidths, lines.Err())
	}
	if _, err := fmt.Sscanf(lines.Text(), "cell %d", &w.CellBytes); err != nil || w.CellBytes < 4 || w.CellBytes > 1024 {
		return nil, fmt.Errorf("line 1: %w", errWidths)
	}
	for n := 2; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var e widthRange
		_, err := fmt.Sscanf(lines.Text(), "%x %x %d", &e.lo, &e.hi, &e.width)
		if err != nil || e.lo < 0x80 || e.hi < e.lo || e.hi > 0x10ffff || e.width > 2 {
			return nil, fmt.Errorf("line %d: %w", n, errWidths)
		}
		if k := len(w.ranges); k > 0 && w.ranges[k-1].hi >= e.lo {
			return nil, fmt.Errorf("line %d: out of order: %w", n, errWidths)
		}
		w.ranges = append(w.ranges, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read character widths: %w", err)
	}
	return w, nil
}

// WidthsOf reads a table as LoadWidths does; what is none, as "", means DefaultWidths.
func WidthsOf(text string) *Widths {
	if w, err := LoadWidths(strings.NewReader(text)); err == nil {
		return w
	}
	return DefaultWidths()
}

// WriteTo writes the table for LoadWidths.
func (w *Widths) WriteTo(dst io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "cell %d\n", w.CellBytes)
	for _, e := range w.ranges {
		fmt.Fprintf(&b, "%x %x %d\n", e.lo, e.hi, e.width)
	}
	n, err := io.WriteString(dst, b.String())
	return int64(n), err
}

// newWidths makes a table from measured characters, of which it keeps those that displaywidth sees otherwise.
func newWidths(cellBytes int, measured map[rune]int) *Widths {
	w := &Widths{CellBytes: cellBytes}
	runes := make([]rune, 0, len(measured))
	for r, n := range measured {
		if n != displaywidth.Rune(r) {
			runes = append(runes, r)
		}
	}
	slices.Sort(runes)
	for _, r := range runes {
		n := uint8(min(max(measured[r], 0), 2))
		if k := len(w.ranges) - 1; k >= 0 && w.ranges[k].hi == r-1 && w.ranges[k].width == n {
			w.ranges[k].hi = r
			continue
		}
		w.ranges = append(w.ranges, widthRange{r, r, n})
	}
	return w
}
