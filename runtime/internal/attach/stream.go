package attach

import (
	"sync"
	"time"
)

// How long the first picture after a marker may take, when tmux does not say where it ends.
const (
	quietCut  = 3 * time.Millisecond  // nothing came for so long: the redraw is over
	latestCut = 50 * time.Millisecond // cut anyway; what is missing arrives as live output
)

// redraw is a full redraw that somebody waits for.
type redraw struct {
	number int
	cut    bool // the output up to it is void and its picture is kept apart

	marked chan marker  // gets the redraw's marker
	drawn  chan picture // gets its picture once it is complete
}

// picture is one full redraw: what a terminal that was just reset has to be fed to show it. The next byte of the live
// stream follows it exactly.
type picture struct {
	bytes []byte
	modes modes
}

// phase is what happens to the output of the tmux client.
type phase uint8

const (
	void    phase = iota // dropped: nothing that came before the awaited redraw counts
	drawing              // part of the awaited redraw
	live                 // for the viewer
)

// stream carries the output of a viewer's tmux clients, one at a time, to the viewer's queue. Its exported side may be
// used from any goroutine; the sink's methods run inside feed.
type stream struct {
	queue *queue
	reply func([]byte) // has an answer typed; must not block

	mu       sync.Mutex // guards what follows
	filter   filter
	phase    phase
	await    *redraw
	marked   bool // await's marker has come
	synced   bool // inside a synchronized update, which may have begun before the marker; its end is the redraw's
	picture  []byte
	deadline time.Time // of the redraw
	timer    *time.Timer
	title    string
}

func newStream(q *queue, r replies) *stream {
	s := &stream{queue: q}
	s.filter.replies = r
	return s
}

// begin makes s ready for the output of a new client of the tmux server that has this nonce, cols x rows in size.
func (s *stream) begin(nonce string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filter = filter{nonce: nonce, replies: s.filter.replies, sink: s}
	s.phase, s.synced = void, false
}

// resized notes the size, for questions about it.
func (s *stream) resized(cols, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filter.replies.cols, s.filter.replies.rows = cols, rows
}

// expect announces a redraw that is about to be caused. With cut, output is dropped from now until its marker.
func (s *stream) expect(number int, cut bool) *redraw {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.await = &redraw{number: number, cut: cut, marked: make(chan marker, 1), drawn: make(chan picture, 1)}
	s.marked = false
	s.stopTimer()
	if cut {
		s.phase = void
	}
	return s.await
}

// bracketedPaste reports whether the program wants pastes between markers.
func (s *stream) bracketedPaste() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filter.modes.BracketedPaste
}

// feed takes the next output of the client.
func (s *stream) feed(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filter.write(p)
	if s.timer != nil && !s.synced {
		s.timer.Reset(min(quietCut, time.Until(s.deadline)))
	}
}

// output implements sink.
func (s *stream) output(p []byte) {
	switch s.phase {
	case void:
	case drawing:
		s.picture = append(s.picture, p...)
	case live:
		s.queue.write(p)
	}
}

// redraw implements sink.
func (s *stream) redraw(m marker) {
	renamed := m.title != s.title
	s.title = m.title
	r := s.await
	if r != nil && !s.marked && m.redraw == cellWidth(r.number) {
		s.marked = true
		s.deadline = time.Now().Add(latestCut)
		s.timer = time.AfterFunc(latestCut, func() { s.late(r) })
		if r.cut {
			s.phase, s.picture, renamed = drawing, s.filter.modes.sequences(), true
		}
		r.marked <- m
	}
	if renamed {
		s.output([]byte(titleSequence(m.title)))
	}
}

// syncBegin implements sink.
func (s *stream) syncBegin() { s.synced = true }

// syncEnd implements sink.
func (s *stream) syncEnd() {
	s.synced = false
	s.complete()
}

// late completes r when tmux did not say that it is complete.
func (s *stream) late(r *redraw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.await == r {
		s.complete()
	}
}

// complete ends the awaited redraw; what comes next is live.
func (s *stream) complete() {
	r := s.await
	if r == nil || !s.marked {
		return
	}
	s.await = nil
	s.stopTimer()
	p := picture{modes: s.filter.modes}
	if r.cut {
		p.bytes, s.picture, s.phase = s.picture, nil, live
	}
	r.drawn <- p
}

func (s *stream) stopTimer() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// answer implements sink.
func (s *stream) answer(p []byte) { s.reply(p) }

// detached implements sink.
func (s *stream) detached() { s.phase = void }
