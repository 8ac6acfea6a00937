package terminal

import "sync"

// maxEvents is how many events wait; the oldest is dropped for a new one, since the new one tells more about now.
const maxEvents = 64

// events is a queue that never blocks who sends.
type events struct {
	mu     sync.Mutex
	ch     chan Event
	closed bool
}

func newEvents() *events { return &events{ch: make(chan Event, maxEvents)} }

func (e *events) send(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	for {
		select {
		case e.ch <- ev:
			return
		default:
		}
		select {
		case <-e.ch:
		default:
		}
	}
}

func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.closed = true
		close(e.ch)
	}
}
