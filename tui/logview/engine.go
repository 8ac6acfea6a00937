package logview

import (
	"context"
	"errors"
	"io"
	"time"

	"corral/sessions"
)

// engine shows a log: it owns what is on the screen and reads what that needs. It runs in one goroutine; keys come as
// commands, in order, and long work is done in short steps between them.
type engine struct {
	ctx     context.Context
	source  Source
	publish func(*picture)
	// clipboard hands text to the user's clipboard; it does not block.
	clipboard func([]byte)

	text    *text
	visible bool
	w, h    int // of the text
	ended   bool

	top      place
	follow   bool
	wrapping bool
	column   int // first one shown, when lines are not wrapped
	stamps   bool

	search *matcher
	hit    int64 // the line that was found last, none when negative
	filter *filter
	job    job  // what takes more than one step; a newer one replaces it
	short  bool // the last picture lacks lines that were not searched yet

	saving *saving

	selected *selection // nil when nothing is

	fresh   int64 // lines that came since following stopped
	freshTo int64 // as far as they are counted
	index   lineIndex
	marks   []sessions.LogMark
	marksTo int64 // the log's size when they were told
	laid    map[int64]laid
	cells   int // in laid

	notice  string
	problem string
	shownAt time.Time // when progress was shown last
}

// place is a row on the screen: the one with this number of the line that begins at line.
type place struct {
	line int64
	row  int
}

func (p place) before(q place) bool {
	return p.line < q.line || p.line == q.line && p.row < q.row
}

// command is a wish of the user.
type command func(*engine)

// job is work that takes more than one step.
type job interface {
	// step does some of it and reports whether it is done.
	step(e *engine) (done bool, err error)
	// doing says what it does, for people.
	doing() string
}

// progressEvery is how often the picture shows the progress of a job.
const progressEvery = 60 * time.Millisecond

func newEngine(ctx context.Context, s Source, publish func(*picture), clipboard func([]byte)) *engine {
	e := &engine{
		ctx: ctx, source: s, publish: publish, clipboard: clipboard,
		text: newText(s), follow: true, hit: -1, laid: make(map[int64]laid),
	}
	e.text.ahead = newAhead(ctx, s)
	return e
}

// run obeys commands and follows the log until ctx ends.
func (e *engine) run(commands <-chan command, news <-chan news) {
	defer func() { _ = e.endSaving() }() // a copy that was broken off has no good end
	defer e.text.ahead.wait()            // it lives as long as the engine
	select {                             // what a command means depends on the log
	case n := <-news:
		e.learn(n)
	case <-e.ctx.Done():
		return
	}
	for e.ctx.Err() == nil {
		worked := false
		if e.busy() {
			select {
			case c := <-commands:
				e.obey(c)
			case n := <-news:
				e.learn(n)
			case <-e.ctx.Done():
				return
			default:
				worked = true
				e.work()
			}
		} else {
			select {
			case c := <-commands:
				e.obey(c)
			case n := <-news:
				e.learn(n)
			case <-e.ctx.Done():
				return
			}
		}
		for more := true; more; { // a key held down makes one picture, not ten
			select {
			case c := <-commands:
				e.obey(c)
				worked = false
			default:
				more = false
			}
		}
		if !e.visible || worked && e.busy() && time.Since(e.shownAt) < progressEvery {
			continue
		}
		e.shownAt = time.Now()
		e.publish(e.draw())
	}
}

// obey does what the user wants. What could not be read before is tried again.
func (e *engine) obey(c command) {
	e.problem = ""
	c(e)
}

// busy reports whether there is something to do without being asked.
func (e *engine) busy() bool {
	if e.saving != nil {
		return true
	}
	if !e.visible || e.problem != "" {
		return false
	}
	return e.job != nil || e.short || e.freshTo < e.text.size && !e.follow || e.search != nil && !e.search.complete() ||
		e.filter != nil && !e.filter.complete()
}

// work does one step of what there is to do, the most urgent first.
func (e *engine) work() {
	var err error
	switch {
	case e.job != nil:
		var done bool
		if done, err = e.job.step(e); done || err != nil {
			e.job = nil
		}
	case e.saving != nil:
		e.keepSaving()
	case e.short:
		e.draw() // searches on
	case e.freshTo < e.text.size && !e.follow:
		err = e.countFresh()
	case e.search != nil && !e.search.complete():
		err = e.search.countOne(e.ctx)
	case e.filter != nil && !e.filter.complete():
		err = e.filter.countOne(e.ctx)
	}
	e.failed(err)
}

// failed takes note of an error of reading.
func (e *engine) failed(err error) {
	if err != nil && e.ctx.Err() == nil {
		e.problem = reason(err)
		e.job, e.short = nil, false
	}
}

func reason(err error) string {
	var known *sessions.Error
	switch {
	case errors.As(err, &known):
		return sessions.CleanLine(known.Error(), 200)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the log has become shorter"
	}
	return sessions.CleanLine(err.Error(), 200)
}

// do makes j what is being done.
func (e *engine) do(j job) { e.job = j }

// learn takes what the source said of the log.
func (e *engine) learn(n news) {
	if n.err != nil {
		e.problem = reason(n.err)
		return
	}
	e.problem = ""
	was := e.text.size
	if n.info.Size < was { // another log by the same name
		reading := e.text.ahead
		e.text, e.top, e.search, e.filter, e.index = newText(e.source), place{}, nil, nil, lineIndex{}
		e.follow, e.job, e.selected, e.marks, e.marksTo, was = true, nil, nil, nil, 0, 0
		e.text.ahead = reading
	}
	e.text.size, e.text.gap, e.ended = n.info.Size, span{n.info.CutFrom, n.info.CutTo}, n.info.Ended
	if n.info.Size == was {
		return
	}
	e.forget(was)
	if e.search != nil {
		e.search.grown(was)
	}
	if e.filter != nil {
		e.filter.grown(was)
	}
	e.index.grown(was)
	if e.follow {
		e.freshTo = e.text.size
	}
}

// countFresh counts some of the lines that came below what is shown.
func (e *engine) countFresh() error {
	n, to, err := e.text.feeds(e.ctx, e.freshTo, e.text.size)
	e.fresh += n
	e.freshTo = to
	return err
}

// stopFollowing keeps the view where it is when the log grows.
func (e *engine) stopFollowing() {
	if e.follow {
		e.follow, e.fresh, e.freshTo = false, 0, e.text.size
	}
}

// news is what became known of the log.
type news struct {
	info sessions.LogInfo
	err  error
}

// growthPace is the least time between two looks at a log that grows all the time.
const growthPace = 8 * time.Millisecond

// listen tells news until ctx ends or the log will not grow any more.
func listen(ctx context.Context, s Source, tell chan<- news) {
	const patienceMost = 10 * time.Second
	patience, size, first := 500*time.Millisecond, int64(0), true
	pace := time.NewTimer(0)
	defer pace.Stop()
	for {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
		var n news
		if first {
			_, n.info, n.err = s.ReadAt(ctx, nil, 0)
		} else {
			n.info, n.err = s.Wait(ctx, size)
		}
		if ctx.Err() != nil {
			return
		}
		select {
		case tell <- n:
		case <-ctx.Done():
			return
		}
		if n.err != nil {
			pace.Reset(patience)
			patience = min(2*patience, patienceMost)
			continue
		}
		if n.info.Ended && !first {
			return
		}
		first, size, patience = false, n.info.Size, 500*time.Millisecond
		pace.Reset(growthPace)
	}
}
