package scrollback

import (
	"strings"

	"corral/vt"
)

// Snapshot is what a session had printed at one moment: every line of its history that was asked for, and the screen below
// it, none missing and none twice.
type Snapshot struct {
	History   *vt.History // nil while it is on its way
	Truncated bool        // there are older lines
	Rows      int         // of the history in all
	Screen    *vt.Frame
}

// text is a snapshot as lines: those of the history, and those of the screen with wrapped rows joined. It does not change.
type text struct {
	history *vt.History
	past    int // lines of the history
	screen  [][]vt.Cell
}

func newText(s Snapshot) text {
	t := text{history: s.History, screen: screenLines(s.Screen)}
	if s.History != nil {
		t.past = s.History.Len()
	}
	return t
}

// screenLines are the lines of a screen down to the last one with something in it or with the cursor.
func screenLines(f *vt.Frame) [][]vt.Cell {
	if f == nil {
		return nil
	}
	last := f.Rows - 1
	for last > f.Cursor.Row && isBlank(f.Row(last)) {
		last--
	}
	var lines [][]vt.Cell
	joins := false
	for y := range last + 1 {
		if joins {
			n := len(lines) - 1
			lines[n] = append(lines[n][:len(lines[n]):len(lines[n])], f.Row(y)...)
		} else {
			lines = append(lines, f.Row(y))
		}
		joins = f.Wrapped(y)
	}
	for i := range lines {
		lines[i] = trimmed(lines[i])
	}
	return lines
}

func isBlank(cells []vt.Cell) bool { return len(trimmed(cells)) == 0 }

// trimmed returns cells without the blanks of the default style at their end.
func trimmed(cells []vt.Cell) []vt.Cell {
	n := len(cells)
	for n > 0 && cells[n-1] == (vt.Cell{Text: " ", Width: 1}) {
		n--
	}
	return cells[:n]
}

func (t text) len() int { return t.past + len(t.screen) }

// cells returns the cells of line i. The caller must not change them.
func (t text) cells(i int) []vt.Cell {
	if i < t.past {
		return t.history.Cells(i)
	}
	return t.screen[i-t.past]
}

// plain returns the text of line i.
func (t text) plain(i int) string {
	if i < t.past {
		return t.history.Text(i)
	}
	return strings.TrimRight(plain(t.screen[i-t.past]), " ")
}

// continued reports whether line i goes on in the next.
func (t text) continued(i int) bool { return i < t.past && t.history.Continued(i) }

func plain(cells []vt.Cell) string {
	var b strings.Builder
	for i := range cells {
		b.WriteString(cells[i].Text)
	}
	return b.String()
}

// compared is how many lines have to be the same for two texts to be taken for the same there.
const compared = 50

// shift returns by how many lines what stands in old stands further down in t, a later text of the same session: more of
// its past may be in it, and more was printed. What cannot be found again keeps its distance from the end.
func (t text) shift(old text) int {
	// The last line of a history may have grown since, as the first part of one that is wrapped.
	n := min(old.past-1, compared)
	for more := 0; n > 0 && more < t.past; more++ {
		d := t.past - old.past - more
		if first := old.past - 1 - n; first+d >= 0 && t.agrees(old, first, n, d) {
			return d
		}
	}
	return t.len() - old.len()
}

func (t text) agrees(old text, first, n, d int) bool {
	for i := first; i < first+n; i++ {
		if t.plain(i+d) != old.plain(i) {
			return false
		}
	}
	return true
}
