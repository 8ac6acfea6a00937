package logview

import (
	"bytes"
	"fmt"

	"corral/sessions"
)

// copyMost bounds what is put into the user's clipboard: the same that a program may put there.
const copyMost = 100 << 10

// selection is a run of whole lines; cursor is the end that moves. Both are where lines begin.
type selection struct{ anchor, cursor int64 }

func (s *selection) contains(start int64) bool {
	return s != nil && min(s.anchor, s.cursor) <= start && start <= max(s.anchor, s.cursor)
}

// at returns the line that a selection begins with, or that is copied without one: the match that was found last, if it is
// on the screen, else the newest line while the log is followed, else the uppermost.
func (e *engine) at() (int64, bool) {
	if e.text.size == 0 {
		return 0, false
	}
	if e.search != nil && e.hit >= 0 && e.shows(e.hit) {
		return e.hit, true
	}
	if err := e.settle(); err != nil {
		e.failed(err)
		return 0, false
	}
	if !e.follow {
		return e.top.line, true
	}
	l, state, err := e.walk().before(e.text.size)
	e.failed(err)
	return l.start, err == nil && state == found
}

// toggleSelection begins a selection, or gives it up.
func (e *engine) toggleSelection() {
	if e.selected != nil {
		e.selected = nil
		return
	}
	if start, ok := e.at(); ok {
		e.stopFollowing()
		e.selected = &selection{anchor: start, cursor: start}
	}
}

// extend moves the end of the selection by lines, and the view with it.
func (e *engine) extend(by int) {
	w, s := e.walk(), e.selected
	for ; by != 0; by -= sign(by) {
		l, state, err := w.before(s.cursor)
		if by > 0 {
			var here line
			if here, err = w.at(s.cursor); err == nil {
				l, state, err = w.after(here.next)
			}
		}
		if err != nil || state != found {
			e.failed(err)
			break
		}
		s.cursor = l.start
	}
	switch {
	case s.cursor < e.top.line:
		e.top = place{line: s.cursor}
	case !e.shows(s.cursor):
		e.top = place{line: s.cursor}
		e.failed(e.up(max(e.h-1, 0)))
	}
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// copy puts the selection, or one line, into the user's clipboard: the text as it is shown, without colours.
func (e *engine) copy() {
	s := e.selected
	if s == nil {
		start, ok := e.at()
		if !ok {
			return
		}
		s = &selection{anchor: start, cursor: start}
	}
	var out bytes.Buffer
	n := 0
	w := e.walk()
	for off, last := min(s.anchor, s.cursor), max(s.anchor, s.cursor); off <= last; {
		l, state, err := w.after(off)
		if err != nil || state != found || l.start > last {
			e.failed(err)
			break
		}
		shown, err := e.lay(l)
		if err != nil {
			e.failed(err)
			return
		}
		if n++; n > 1 {
			out.WriteByte('\n')
		}
		for i := range shown.cells {
			out.WriteString(shown.cells[i].Text)
		}
		if out.Len() > copyMost {
			e.notice = "that is more than 100 KiB; s saves the log to a file"
			return
		}
		off = l.next
	}
	e.clipboard(out.Bytes())
	e.selected = nil
	e.notice = fmt.Sprintf("copied %d lines", n)
	if n == 1 {
		e.notice = "copied " + sessions.CleanLine(out.String(), 60)
	}
}
