package logview

import (
	"fmt"

	"corral/tui/canvas"
	"corral/vt"
)

// picture is what the viewer shows at one moment. It is never changed.
type picture struct {
	known bool // the log was asked
	w, h  int
	rows  []row

	follow, ended bool
	wrapping      bool
	stamps        bool
	column        int
	percent       int // of the log above the end of the screen
	empty         bool
	fresh         int64
	doing         string
	notice        string
	problem       string

	pattern  string // searched for
	hits     int64  // matching lines known
	ordinal  int64  // which of them is current, 0 when unknown
	counted  bool   // hits are all
	chosen   bool   // something is selected
	filtered string
	context  int
}

// row is one row of the text.
type row struct {
	cells   []vt.Cell
	stamp   string // when the line came; "" for all but its first row
	hits    []columns
	current bool // of the line that was found last
	chosen  bool // of the selection
	note    bool // cells are the viewer's own words
}

// laid is a line as cells.
type laid struct {
	line  line
	cells []vt.Cell
	ends  []int // of the rows, when wrapped
	width int   // ends are for
	hits  []columns
	of    *matcher // hits are of
	note  bool
}

// laidMost bounds the cells that are kept: about 10 MiB.
const laidMost = 200_000

// lay returns a line as it is shown.
func (e *engine) lay(l line) (laid, error) {
	kept, ok := e.laid[l.start]
	if !ok || kept.line != l {
		raw, err := e.text.bytesOf(e.ctx, l)
		if err != nil {
			return laid{}, err
		}
		kept = laid{line: l, cells: cellsOf(raw)}
		if e.text.gap.contains(l.start) {
			kept.note = true
			kept.cells = cellsOf(fmt.Appendf(nil, "--- %s were cut out here, for the log's limit ---", size(l.end-l.start)))
		}
		if e.cells += len(kept.cells) + 1; e.cells > laidMost {
			clear(e.laid)
			e.cells = len(kept.cells) + 1
		}
	}
	if width := e.textWidth(); kept.ends == nil || kept.width != width {
		kept.ends, kept.width = canvas.Wrap(kept.cells, max(width, 1)), width
	}
	if marker := e.marker(); kept.of != marker {
		kept.of, kept.hits = marker, nil
		if marker != nil && !kept.note {
			kept.hits = marker.hitsIn(kept.cells)
		}
	}
	e.laid[l.start] = kept
	return kept, nil
}

// forget drops the lines that may go on behind what was the log's end.
func (e *engine) forget(was int64) {
	for start, l := range e.laid {
		if l.line.next >= was {
			e.cells -= len(l.cells) + 1
			delete(e.laid, start)
		}
	}
}

// marker is whose matches are marked.
func (e *engine) marker() *matcher {
	if e.search == nil && e.filter != nil {
		return e.filter.matcher
	}
	return e.search
}

// rowsOf returns how many rows a line takes.
func (e *engine) rowsOf(l line) (int, error) {
	if !e.wrapping {
		return 1, nil
	}
	shown, err := e.lay(l)
	return len(shown.ends), err
}

const stampWidth = len("15:04:05.000 ")

func (e *engine) textWidth() int {
	if e.stamps {
		return max(e.w-stampWidth, 1)
	}
	return e.w
}

// draw makes the picture of what is to be seen.
func (e *engine) draw() *picture {
	e.short = false
	err := e.settle()
	if err == nil && e.stamps {
		err = e.loadMarks()
	}
	p := &picture{
		known: true, w: e.w, h: e.h, follow: e.follow, ended: e.ended, wrapping: e.wrapping, stamps: e.stamps, column: e.column, percent: 100,
		empty: e.text.size == 0, fresh: e.fresh, notice: e.notice,
	}
	if err == nil {
		p.rows, err = e.rows(p)
	}
	e.failed(err)
	p.problem = e.problem
	if e.job != nil {
		p.doing = e.job.doing()
	} else if e.short {
		p.doing = "searching"
	} else if e.saving != nil {
		p.doing = e.saving.doing()
	}
	p.chosen = e.selected != nil
	if m := e.search; m != nil {
		p.pattern, p.hits, p.counted = m.pattern.Text, m.total, m.complete()
		if e.hit >= 0 && m.complete() {
			p.ordinal = m.ordinal(e.ctx, e.hit)
		}
	}
	if f := e.filter; f != nil {
		p.filtered, p.context = f.pattern.Text, f.context
		if e.search == nil {
			p.hits, p.counted = f.total, f.complete()
		}
	}
	return p
}

// searchedPerStep is how many chunks a step may search.
const searchedPerStep = 4

func (e *engine) walk() *lines {
	return &lines{ctx: e.ctx, text: e.text, filter: e.filter, budget: searchedPerStep}
}

// settle puts the top where it may be: at the last screenful when following, and never below it.
func (e *engine) settle() error {
	if e.h <= 0 || e.text.size == 0 {
		e.top = place{}
		return nil
	}
	if e.follow {
		bottom, state, err := e.bottom()
		e.top = bottom
		e.short = e.short || state == pending
		return err
	}
	// What the filter hides cannot be the first line.
	w := e.walk()
	l, state, err := w.after(e.top.line)
	if err == nil && state == absent {
		l, state, err = w.before(e.text.size)
	}
	if err != nil || state != found {
		e.short = e.short || state == pending
		return err
	}
	if l.start != e.top.line {
		e.top = place{line: l.start}
	}
	if n, err := e.rowsOf(l); err != nil || e.top.row >= n {
		e.top.row = max(n-1, 0)
		return err
	}
	_, err = e.clamp()
	return err
}

// clamp takes the top back to where the last screenful begins, if it is below, and reports whether it is there now.
func (e *engine) clamp() (atEnd bool, err error) {
	bottom, state, err := e.bottom()
	if err != nil || state != found || e.top.before(bottom) {
		return false, err
	}
	e.top = bottom
	return true, nil
}

// bottom returns where the last screenful begins.
func (e *engine) bottom() (place, outcome, error) {
	w := e.walk()
	at, need := place{line: e.text.size}, e.h
	for off := e.text.size; need > 0; {
		l, state, err := w.before(off)
		if err != nil || state == pending {
			return at, pending, err
		}
		if state == absent {
			break
		}
		n, err := e.rowsOf(l)
		if err != nil {
			return at, pending, err
		}
		need -= n
		off = l.start
		at = place{line: l.start, row: max(-need, 0)}
	}
	return at, found, nil
}

// rows returns the rows from the top on.
func (e *engine) rows(p *picture) ([]row, error) {
	if e.text.size == 0 {
		return nil, nil
	}
	w := e.walk()
	rows := make([]row, 0, max(e.h, 0))
	skip := e.top.row
	off := e.top.line
	for len(rows) < e.h {
		l, state, err := w.after(off)
		if err != nil {
			return rows, err
		}
		if state != found {
			e.short = e.short || state == pending
			break
		}
		shown, err := e.lay(l)
		if err != nil {
			return rows, err
		}
		rows = append(rows, e.slice(shown, skip, e.h-len(rows))...)
		skip, off = 0, l.next
	}
	p.percent = int(min(off, e.text.size) * 100 / e.text.size)
	return rows, nil
}

// slice returns at most n rows of a line, from one on.
func (e *engine) slice(l laid, from, n int) []row {
	chosen := e.selected.contains(l.line.start)
	current := e.search != nil && l.line.start == e.hit
	stamp := e.stampOf(l.line.start)
	if !e.wrapping {
		first := min(e.column, len(l.cells))
		cells := l.cells[first:min(first+e.textWidth(), len(l.cells))]
		return []row{{cells: cells, stamp: stamp, hits: shift(l.hits, first, first+len(cells)), current: current, chosen: chosen, note: l.note}}
	}
	var out []row
	for i := from; i < len(l.ends) && len(out) < n; i++ {
		start := 0
		if i > 0 {
			start, stamp = l.ends[i-1], ""
		}
		out = append(out, row{
			cells: l.cells[start:l.ends[i]], stamp: stamp, hits: shift(l.hits, start, l.ends[i]), current: current,
			chosen: chosen, note: l.note,
		})
	}
	return out
}

// shift returns the parts of hits that lie between two columns, counted from the first.
func shift(hits []columns, from, to int) []columns {
	var out []columns
	for _, h := range hits {
		if h.to > from && h.from < to {
			out = append(out, columns{max(h.from, from) - from, min(h.to, to) - from})
		}
	}
	return out
}

// size spells a number of bytes.
func size(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d bytes", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/unit/unit/unit)
}
