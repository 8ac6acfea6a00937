package logview

import "fmt"

// scroll moves the view by rows.
func (e *engine) scroll(rows int) {
	if e.text.size == 0 || rows == 0 || e.follow && rows > 0 {
		return
	}
	e.stopFollowing()
	e.job = nil
	var err error
	if rows < 0 {
		err = e.up(-rows)
	} else {
		err = e.down(rows)
	}
	e.failed(err)
}

func (e *engine) up(rows int) error {
	w := e.walk()
	for ; rows > 0; rows-- {
		if e.top.row > 0 {
			e.top.row--
			continue
		}
		l, state, err := w.before(e.top.line)
		if err != nil {
			return err
		}
		switch state {
		case absent:
			return nil
		case pending:
			e.do(scrolling{rows: -rows})
			return nil
		}
		n, err := e.rowsOf(l)
		if err != nil {
			return err
		}
		e.top = place{line: l.start, row: n - 1}
	}
	return nil
}

func (e *engine) down(rows int) error {
	w := e.walk()
	l, state, err := w.after(e.top.line)
	if err != nil || state != found {
		return err
	}
	n, err := e.rowsOf(l)
	for ; rows > 0 && err == nil; rows-- {
		if e.top.row+1 < n {
			e.top.row++
			continue
		}
		next, state, err := w.after(l.next)
		if err != nil {
			return err
		}
		if state == pending {
			e.do(scrolling{rows: rows})
			return nil
		}
		if state == absent {
			break
		}
		l = next
		e.top = place{line: l.start}
		if n, err = e.rowsOf(l); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	atEnd, err := e.clamp()
	if atEnd {
		e.showEnd()
	}
	return err
}

// scrolling is a scroll over lines that a filter hides and that were not searched yet.
type scrolling struct{ rows int }

func (s scrolling) doing() string { return "searching" }

func (s scrolling) step(e *engine) (bool, error) {
	e.job = nil
	var err error
	if s.rows < 0 {
		err = e.up(-s.rows)
	} else {
		err = e.down(s.rows)
	}
	return e.job == nil, err // there may be more to do
}

// showEnd shows the end and follows the log.
func (e *engine) showEnd() {
	e.follow, e.fresh, e.freshTo = true, 0, e.text.size
}

// showBegin shows the begin of the log.
func (e *engine) showBegin() {
	e.stopFollowing()
	e.job, e.top, e.column = nil, place{}, 0
}

// showLine puts a line into the upper third of the screen, where its surroundings can be seen.
func (e *engine) showLine(start int64) error {
	e.stopFollowing()
	e.top = place{line: start}
	if err := e.up(e.h / 3); err != nil {
		return err
	}
	_, err := e.clamp()
	return err
}

// showPercent goes to a part of the log.
func (e *engine) showPercent(percent int) {
	if e.text.size == 0 {
		return
	}
	e.job = nil
	start, err := e.text.startOf(e.ctx, min(e.text.size/100*int64(percent)+e.text.size%100*int64(percent)/100, e.text.size-1))
	if err != nil {
		e.failed(err)
		return
	}
	e.stopFollowing()
	e.top = place{line: start}
}

// shiftBy moves the first column shown.
func (e *engine) shiftBy(columns int) {
	if e.wrapping {
		e.notice = "long lines are wrapped; w shows them whole"
		return
	}
	e.column = max(e.column+columns, 0)
}

// toggleWrap wraps long lines, or shows them whole.
func (e *engine) toggleWrap() {
	e.wrapping = !e.wrapping
	e.column, e.top.row = 0, 0
}

// find searches for a pattern, and goes to the next match.
func (e *engine) find(p Pattern) {
	if p.Text == "" {
		e.search, e.hit, e.job = nil, -1, nil
		return
	}
	m, err := newMatcher(e.text, p)
	if err != nil {
		e.notice = err.Error()
		return
	}
	e.search, e.hit = m, -1
	e.do(&finding{down: true, from: e.top.line, around: true})
}

// again goes to the next match, or to the one before.
func (e *engine) again(down bool) {
	if e.search == nil {
		e.notice = "nothing is searched for; / asks what"
		return
	}
	if f, ok := e.job.(*finding); ok && f.down == down { // the key is held down
		f.more++
		return
	}
	from := e.top.line
	switch {
	case e.hit >= 0 && down:
		from = e.hit + 1
	case e.hit >= 0:
		from = e.hit
	case e.follow && !down:
		from = e.text.size
	}
	e.do(&finding{down: down, from: from})
}

// finding is the search for a match.
type finding struct {
	down   bool
	from   int64
	around bool // look into the other direction when there is none in this one
	more   int  // how many matches further
}

func (f *finding) doing() string { return "searching" }

func (f *finding) step(e *engine) (bool, error) {
	budget := searchedPerStep
	look := e.search.before
	if f.down {
		look = e.search.after
	}
	off, state, err := look(e.ctx, f.from, &budget)
	switch {
	case err != nil || state == pending:
		return false, err
	case state == absent && f.around && e.search.total > 0:
		f.down, f.around = false, false
		return false, nil
	case state == absent && e.search.total == 0 && e.search.complete():
		e.notice = fmt.Sprintf("%q is nowhere in the log", e.search.pattern.Text)
		return true, nil
	case state == absent && f.around:
		f.down, f.around = false, false
		return false, nil
	case state == absent && f.down:
		e.notice = "no further match below"
		return true, e.reach()
	case state == absent:
		e.notice = "no further match above"
		return true, e.reach()
	}
	e.hit = off
	if f.more > 0 {
		f.more--
		if f.from = off; f.down {
			f.from++
		}
		return false, nil
	}
	return true, e.reach()
}

// reach shows the match that was found last.
func (e *engine) reach() error {
	if e.hit < 0 {
		return nil
	}
	if err := e.reveal(e.hit); err != nil {
		return err
	}
	if e.shows(e.hit) {
		e.stopFollowing()
		return nil
	}
	return e.showLine(e.hit)
}

// reveal moves the columns so that the first match of a line can be seen.
func (e *engine) reveal(off int64) error {
	if e.wrapping {
		return nil
	}
	l, err := e.text.lineAt(e.ctx, off)
	if err != nil {
		return err
	}
	shown, err := e.lay(l)
	if err != nil || len(shown.hits) == 0 {
		return err
	}
	hit, width := shown.hits[0], e.textWidth()
	if hit.from < e.column || hit.to > e.column+width {
		e.column = 0
		if hit.to > width {
			e.column = max(hit.from-width/2, 0)
		}
	}
	return nil
}

// shows reports whether the line that begins at off is on the screen, and not only its edge.
func (e *engine) shows(off int64) bool {
	if e.settle() != nil || off < e.top.line {
		return false
	}
	w := e.walk()
	at := e.top.line
	for rows := -e.top.row; rows < e.h; {
		l, state, err := w.after(at)
		if err != nil || state != found {
			return false
		}
		if l.start == off {
			return rows >= 0
		}
		n, err := e.rowsOf(l)
		if err != nil {
			return false
		}
		rows += n
		at = l.next
	}
	return false
}

// narrow shows only what matches; an empty pattern shows everything again.
func (e *engine) narrow(p Pattern) {
	e.job = nil
	if p.Text == "" {
		e.filter = nil
		return
	}
	m, err := newMatcher(e.text, p)
	if err != nil {
		e.notice = err.Error()
		return
	}
	around := 0
	if e.filter != nil {
		around = e.filter.context
	}
	e.filter = &filter{matcher: m, context: around}
	e.top.row = 0
}

// contextMost bounds the lines round a match.
const contextMost = 50

// widen changes how many lines are shown round those that match.
func (e *engine) widen(by int) {
	if e.filter == nil {
		e.notice = "no filter is set; & asks for one"
		return
	}
	e.filter.context = min(max(e.filter.context+by, 0), contextMost)
}
