package terminal

import (
	"sync"
	"unicode/utf8"

	"corral/tui/canvas"
	"corral/vt"
)

const (
	// maxQueue is how many pieces wait for the dashboard; what comes on top is dropped. A dashboard that is 4096 keys
	// behind does not answer keys.
	maxQueue      = 4096
	maxQueueBytes = 2 * MaxPaste
	// maxDashboardPaste is what the dashboard gets of a paste: its text fields hold less, and Bubble Tea searches the
	// whole paste again for its end with every 256 bytes.
	maxDashboardPaste = 64 << 10
)

// router decides where each piece of input goes, and keeps the dashboard's share until Bubble Tea asks for it.
type router struct {
	prefix Key
	ready  func(bool) // told, under the lock, whether the queue holds something

	mu     sync.Mutex
	sink   Sink // who has the keyboard; nil: the dashboard
	area   canvas.Rect
	modes  vt.Modes
	grab   grab
	out    []byte // for the sink, not yet handed over
	queue  []piece
	queued int // bytes in queue
}

// grab says who gets mouse reports until the buttons are up: a drag belongs to where it began.
type grab uint8

const (
	grabNone grab = iota
	grabPane
	grabDashboard
)

// piece is one key, report or paste that waits for the dashboard.
type piece struct {
	kind kind
	b    []byte
}

// divert gives the keyboard to s. What waits for the dashboard was typed after the key that Update is handling, so it
// goes to s as well (see the package comment).
func (r *router) divert(s Sink, area canvas.Rect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sink, r.area, r.grab = s, area, grabNone
	waiting := r.queue
	r.queue, r.queued = nil, 0
	for _, p := range waiting {
		r.route(p.kind, p.b)
	}
	r.flush()
	r.ready(len(r.queue) > 0)
}

// move changes the area of the sink, if there is one.
func (r *router) move(area canvas.Rect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sink != nil {
		r.area = area
	}
}

func (r *router) undivert() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sink, r.grab = nil, grabNone
}

func (r *router) setModes(m vt.Modes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.modes = m
}

// route passes one piece on; a paste's bytes become the receiver's, other bytes are copied. The caller holds mu, and calls
// flush when it has no more.
func (r *router) route(k kind, b []byte) {
	if k == kindMouse {
		r.routeMouse(b)
		return
	}
	if r.sink == nil {
		r.enqueue(k, b)
		return
	}
	switch k {
	case kindPrefix:
		r.flush()
		r.sink, r.grab = nil, grabNone
		r.enqueue(k, b)
	case kindPaste:
		r.flush()
		r.sink.Paste(b)
	case kindFocusIn, kindFocusOut:
		if r.modes.FocusEvents {
			r.out = append(r.out, b...)
		}
	case kindKey:
		r.out = append(r.out, b...)
	case kindReply, kindPasteBegin, kindPasteEnd, kindMouse:
		// the reader keeps these, but for the mouse, which went its way above
	}
}

// flush hands the sink what was routed to it.
func (r *router) flush() {
	if len(r.out) == 0 {
		return
	}
	if r.sink != nil {
		r.sink.Input(r.out)
	}
	r.out = r.out[:0]
}

// routeMouse sends a report to the pane when its program asked for the mouse and the pointer is in the pane, or was when
// the button went down. Reports to the pane never name a cell outside it.
func (r *router) routeMouse(b []byte) {
	m, ok := parseMouse(b)
	if !ok {
		return
	}
	pane := r.sink != nil && r.modes.MouseTracking != 0 && r.area.W > 0 && r.area.H > 0 && r.area.Contains(m.x, m.y)
	switch r.grab {
	case grabPane:
		pane = r.sink != nil && r.area.W > 0 && r.area.H > 0
	case grabDashboard:
		pane = false
	case grabNone:
	}
	switch {
	case m.isPress() && pane:
		r.grab = grabPane
	case m.isPress():
		r.grab = grabDashboard
	case m.release:
		r.grab = grabNone
	}
	if !pane {
		r.enqueue(kindMouse, b)
		return
	}
	m.x = min(max(m.x-r.area.X, 0), r.area.W-1)
	m.y = min(max(m.y-r.area.Y, 0), r.area.H-1)
	r.out = m.append(r.out)
}

// enqueue keeps a piece for the dashboard.
func (r *router) enqueue(k kind, b []byte) {
	switch k {
	case kindFocusIn, kindFocusOut:
		return // an event already
	case kindMouse:
		if n := len(r.queue); n > 0 && r.queue[n-1].kind == kindMouse && sameMotion(r.queue[n-1].b, b) {
			r.queued -= len(r.queue[n-1].b)
			r.queue = r.queue[:n-1]
		}
	case kindKey, kindPrefix, kindPaste, kindReply, kindPasteBegin, kindPasteEnd:
	}
	if len(r.queue) >= maxQueue || r.queued+len(b) > maxQueueBytes {
		return
	}
	if k != kindPaste {
		b = append([]byte(nil), b...)
	}
	r.queue = append(r.queue, piece{k, b})
	r.queued += len(b)
	r.ready(true)
}

// pop takes the first waiting piece, as the bytes that Bubble Tea is to read.
func (r *router) pop() (b []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return nil, false
	}
	p := r.queue[0]
	r.queue[0] = piece{}
	r.queue = r.queue[1:]
	r.queued -= len(p.b)
	switch p.kind {
	case kindPrefix:
		return r.prefix.Bytes(), true // one form, whatever the terminal sent
	case kindPaste:
		return dashboardPaste(p.b), true
	case kindKey, kindMouse, kindReply, kindPasteBegin, kindPasteEnd, kindFocusIn, kindFocusOut:
	}
	return p.b, true
}

func (r *router) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0
}

// dashboardPaste puts the markers back that Bubble Tea tells a paste by.
func dashboardPaste(b []byte) []byte {
	if len(b) > maxDashboardPaste {
		b = b[:maxDashboardPaste]
		for len(b) > 0 && !utf8.FullRune(lastRune(b)) {
			b = b[:len(b)-1]
		}
	}
	out := append([]byte(pasteBegin), b...)
	return append(out, pasteEnd...)
}

// lastRune returns b from the beginning of its last character on.
func lastRune(b []byte) []byte {
	i := len(b) - 1
	for i > 0 && len(b)-i < utf8.UTFMax && !utf8.RuneStart(b[i]) {
		i--
	}
	return b[i:]
}
