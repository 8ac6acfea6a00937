package logview

import "context"

// filter hides the lines that do not match, but for some context round those that do.
type filter struct {
	*matcher
	context int // lines before and after
}

// lines walks over what is to be seen of a log: every line, or those that a filter leaves. Budget is how many chunks may
// be searched anew in this step; a walk that needs more says pending, and goes on in the next step.
type lines struct {
	ctx    context.Context
	text   *text
	filter *filter // nil shows everything
	budget int
}

// at returns the line that begins at start.
func (w *lines) at(start int64) (line, error) { return w.text.lineAt(w.ctx, start) }

// after returns the first line to be seen that begins at or after off, which is where a line begins.
func (w *lines) after(off int64) (line, outcome, error) {
	if w.filter != nil {
		from, err := w.back(off, w.filter.context)
		if err != nil {
			return line{}, pending, err
		}
		hit, state, err := w.filter.after(w.ctx, from, &w.budget)
		if err != nil || state != found {
			return line{}, state, err
		}
		first, err := w.back(hit, w.filter.context)
		if err != nil {
			return line{}, pending, err
		}
		off = max(off, first)
	}
	if off >= w.text.size {
		return line{}, absent, nil
	}
	l, err := w.at(off)
	return l, found, err
}

// before returns the last line to be seen that begins before off, which is where a line begins, or the end.
func (w *lines) before(off int64) (line, outcome, error) {
	if off <= 0 {
		return line{}, absent, nil
	}
	start, err := w.text.startOf(w.ctx, off-1)
	if err != nil {
		return line{}, pending, err
	}
	if w.filter != nil {
		past, err := w.forth(start, w.filter.context)
		if err != nil {
			return line{}, pending, err
		}
		hit, state, err := w.filter.before(w.ctx, past+1, &w.budget)
		if err != nil || state != found {
			return line{}, state, err
		}
		last, err := w.forth(hit, w.filter.context)
		if err != nil {
			return line{}, pending, err
		}
		start = min(start, last)
	}
	l, err := w.at(start)
	return l, found, err
}

// back returns where the line n lines before off begins, or the first one.
func (w *lines) back(off int64, n int) (int64, error) {
	for ; n > 0 && off > 0; n-- {
		start, err := w.text.startOf(w.ctx, off-1)
		if err != nil {
			return 0, err
		}
		off = start
	}
	return off, nil
}

// forth returns where the line n lines after off begins, or the last one.
func (w *lines) forth(off int64, n int) (int64, error) {
	for ; n > 0; n-- {
		l, err := w.at(off)
		if err != nil {
			return 0, err
		}
		if l.next >= w.text.size {
			break
		}
		off = l.next
	}
	return off, nil
}
