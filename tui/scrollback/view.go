// Package scrollback is the look back at what a session has printed: it scrolls through a snapshot of history and screen,
// searches it, and selects what is to be copied. A snapshot does not move under its reader, whatever the session prints
// meanwhile; that there is more is said.
//
// A View is plain memory that the dashboard's loop owns: no goroutines, no locks, no I/O. What it wants done outside, such
// as getting older lines or running a search, it says by Errand.
package scrollback

import (
	"corral/tui/canvas"
	"corral/tui/keys"
	"corral/tui/prompt"
	"corral/vt"
)

// Deepest is how many lines of history there can be: what the runtime sends at most.
const Deepest = 20_000

// place is a row of a line that is wrapped to the width of the view.
type place struct{ line, row int }

// aim is where to go as soon as the snapshot that was asked for is there.
type aim int

const (
	stay aim = iota
	goTop
	goEnd
)

// View shows one snapshot.
type View struct {
	keys *keys.Map
	w, h int // of the text; a status line is below it

	text      text
	rows      int // of history when the snapshot was taken
	truncated bool
	waiting   bool // a snapshot was asked for
	deep      bool // with as many lines as there can be
	aim       aim
	owed      int // rows to scroll up once there are any

	top    place
	atEnd  bool // the end is shown, whatever the height
	fresh  int  // rows of history since the snapshot
	noise  bool // something was printed since
	notice string

	asked  *prompt.Line // nil when nothing is asked
	last   Pattern      // searched for last
	search search

	selected *selection
	held     bool // the mouse's button is down
	covers   bool // there is no status line
	errand   Errand
}

// Errand is what a View wants done outside.
type Errand struct {
	Lines  int     // a snapshot with so many lines of history; 0 for none
	Copy   string  // into the user's clipboard
	Search *Search // to be run; what it finds goes to Found
}

// New returns a view of a screen whose history is not there yet, for an area of w x h cells.
func New(m *keys.Map, screen *vt.Frame, w, h int) *View {
	v := &View{keys: m, text: newText(Snapshot{Screen: screen}), truncated: true, atEnd: true}
	v.Resize(w, h)
	return v
}

// Ask asks for the history of the screen that is shown, at most lines of it.
func (v *View) Ask(lines int) { v.want(min(lines, Deepest), stay) }

func (v *View) want(lines int, a aim) {
	v.deep = v.deep || lines >= Deepest
	v.waiting, v.aim = true, a
	v.errand.Lines = lines
}

// deepen asks for all there is, if there may be more, and reports whether it did.
func (v *View) deepen(a aim) bool {
	if !v.truncated || v.deep {
		return false
	}
	v.want(Deepest, a)
	return true
}

// Errand returns what is to be done, once.
func (v *View) Errand() Errand {
	e := v.errand
	v.errand = Errand{}
	return e
}

// Set replaces the snapshot; what was looked at stays where it is.
func (v *View) Set(s Snapshot) {
	old := v.text
	v.text, v.truncated, v.rows = newText(s), s.Truncated, s.Rows
	v.fresh, v.noise, v.waiting = 0, false, false
	if s.History != nil {
		v.move(v.text.shift(old))
	}
	v.settle()
	switch a, owed := v.aim, v.owed; {
	case a == goTop:
		v.showTop()
	case a == goEnd:
		v.showEnd()
	case owed > 0:
		v.owed = 0
		v.Scroll(-owed)
	}
	v.aim, v.owed = stay, 0
	if v.search.pattern.Text != "" {
		v.run(v.search.pattern, false)
	}
}

// move follows lines that stand d lines further down than they did.
func (v *View) move(d int) {
	v.top.line += d
	if v.top.line < 0 {
		v.top = place{}
	}
	if s := v.selected; s != nil {
		s.anchor.line, s.cursor.line = s.anchor.line+d, s.cursor.line+d
		if min(s.anchor.line, s.cursor.line) < 0 || max(s.anchor.line, s.cursor.line) >= v.text.len() {
			v.selected, v.held = nil, false
		}
	}
}

// Unavailable says that the snapshot that was asked for will not come.
func (v *View) Unavailable(why string) {
	if v.waiting {
		v.waiting, v.owed, v.aim, v.notice = false, 0, stay, why
	}
}

// Waiting reports whether a snapshot that was asked for has not come yet.
func (v *View) Waiting() bool { return v.waiting }

// Rows returns how many rows of history there were when the snapshot was taken.
func (v *View) Rows() int { return v.rows }

// Printed takes note that the session has printed since the snapshot; rows is by how much its history has grown, 0 when
// that is not known.
func (v *View) Printed(rows int) { v.noise, v.fresh = true, max(v.fresh, rows) }

// Resize tells the size of the area.
func (v *View) Resize(w, h int) {
	if !v.covers {
		h--
	}
	if w, h = max(w, 1), max(h, 1); w == v.w && h == v.h {
		return
	}
	v.w, v.h = w, h
	v.top.row = 0
	v.settle()
}

// CoverAll leaves the status line out, so that a screen that is stopped looks as it did.
func (v *View) CoverAll() {
	if !v.covers {
		v.covers = true
		v.Resize(v.w, v.h+1)
	}
}

// CoversAll reports whether the view stops a screen and does nothing else.
func (v *View) CoversAll() bool { return v.covers }

// Notice returns what there is to say about the last key.
func (v *View) Notice() string { return v.notice }

// wrapped are the ends of the rows of line i.
func (v *View) wrapped(i int) []int { return canvas.Wrap(v.text.cells(i), v.w) }

func (v *View) rowsOf(i int) int { return len(v.wrapped(i)) }

// settle keeps the view filled: the last rows stand at its foot, or the first ones at its top.
func (v *View) settle() {
	n := v.text.len()
	if n == 0 {
		v.top, v.atEnd = place{}, true
		return
	}
	end := v.before(place{line: n - 1, row: v.rowsOf(n-1) - 1}, v.h-1)
	if v.atEnd || end.line < v.top.line || end.line == v.top.line && end.row <= v.top.row {
		v.top, v.atEnd = end, true
	}
}

// before returns the place rows above p, the first one when there are not so many.
func (v *View) before(p place, rows int) place {
	for ; rows > 0; rows-- {
		switch {
		case p.row > 0:
			p.row--
		case p.line > 0:
			p.line--
			p.row = v.rowsOf(p.line) - 1
		default:
			return p
		}
	}
	return p
}

// after returns the place rows below p, the last one when there are not so many.
func (v *View) after(p place, rows int) place {
	n := v.rowsOf(p.line)
	for ; rows > 0; rows-- {
		switch {
		case p.row+1 < n:
			p.row++
		case p.line+1 < v.text.len():
			p = place{line: p.line + 1}
			n = v.rowsOf(p.line)
		default:
			return p
		}
	}
	return p
}

// Scroll moves the view by rows, down when they are positive, and reports whether it was at the end and stays there.
func (v *View) Scroll(rows int) (beyond bool) {
	v.notice = ""
	switch {
	case v.text.len() == 0 || rows == 0:
	case rows > 0 && v.atEnd:
		v.owed = max(v.owed-rows, 0)
		return true
	case rows > 0:
		v.top = v.after(v.top, rows)
		v.settle()
	default:
		v.up(-rows)
	}
	return false
}

func (v *View) up(rows int) {
	for rows > 0 && v.top != (place{}) {
		v.top = v.before(v.top, 1)
		v.atEnd = false
		rows--
	}
	if rows > 0 && (v.waiting || v.deepen(stay)) {
		v.owed += rows
	}
}

// showTop goes to the oldest line there is.
func (v *View) showTop() {
	v.top, v.atEnd = place{}, false
	v.settle()
}

func (v *View) showEnd() {
	v.atEnd, v.owed = true, 0
	v.settle()
}

// reveal moves the view so that cell col of a line is on it: as little as possible, or into its upper third when it was
// not near.
func (v *View) reveal(line, col int) {
	at := place{line: line, row: v.rowOf(line, col)}
	end := v.after(v.top, v.h-1)
	switch {
	case before(at, v.top) || before(end, at):
		v.top, v.atEnd = v.before(at, v.h/3), false
		v.settle()
	}
}

// follow is reveal for a cursor that moves step by step.
func (v *View) follow(line, col int) {
	at := place{line: line, row: v.rowOf(line, col)}
	switch {
	case before(at, v.top):
		v.top, v.atEnd = at, false
	case before(v.after(v.top, v.h-1), at):
		v.top = v.before(at, v.h-1)
		v.settle()
	}
}

// rowOf returns the row of a line that cell col stands in.
func (v *View) rowOf(line, col int) int {
	ends := v.wrapped(line)
	for row, end := range ends {
		if col < end {
			return row
		}
	}
	return len(ends) - 1
}

func before(a, b place) bool { return a.line < b.line || a.line == b.line && a.row < b.row }
