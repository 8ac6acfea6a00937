package attach

import (
	"sync"
	"time"

	"corral/sessions"
)

const (
	// maxQueued bounds the output that waits for a viewer. A screen is some 20 KB, so this is dozens of redraws: more
	// would only show the past.
	maxQueued = 1 << 20

	// gather is how long output is collected after a message has been sent. In a flood a PTY hands out a few hundred
	// bytes at a time, and a message for each costs more than half of the throughput.
	gather = 3 * time.Millisecond
)

// message is one WebSocket message for a viewer: a frame, or terminal bytes.
type message struct {
	frame *sessions.Frame
	bytes []byte
}

// queue is what waits for one viewer. Writing never blocks; when the viewer is too slow all waiting output is dropped
// and the viewer is behind until reset: it needs a new picture then, not the old bytes.
type queue struct {
	limit int           // bytes of output that may wait
	ready chan struct{} // holds a token while there may be something to take

	mu     sync.Mutex // guards what follows
	urgent []message  // frames that do not belong to a place in the output
	items  []message  // output, and the frames that do
	size   int        // bytes of output in items
	behind bool
	sent   time.Time // when output was last taken
}

func newQueue(limit int) *queue { return &queue{limit: limit, ready: make(chan struct{}, 1)} }

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// write adds output. It copies p.
func (q *queue) write(p []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.behind || len(p) == 0 {
		return
	}
	if q.size+len(p) > q.limit {
		q.behind = true
		q.dropLocked()
		q.wake()
		return
	}
	q.size += len(p)
	if last := len(q.items) - 1; last >= 0 && q.items[last].frame == nil && len(q.items[last].bytes)+len(p) <= sessions.MaxDown {
		q.items[last].bytes = append(q.items[last].bytes, p...)
	} else {
		q.items = append(q.items, message{bytes: append([]byte(nil), p...)})
	}
	q.wake()
}

// dropLocked forgets all output; frames stay.
func (q *queue) dropLocked() {
	kept := q.items[:0]
	for _, m := range q.items {
		if m.frame != nil {
			kept = append(kept, m)
		}
	}
	clear(q.items[len(kept):])
	q.items, q.size = kept, 0
}

// post adds a frame behind the output so far. With no output since the frame before, it takes that one's place: what is
// posted are sizes, and only the last counts.
func (q *queue) post(f sessions.Frame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last := len(q.items) - 1; last >= 0 && q.items[last].frame != nil {
		q.items[last].frame = &f
	} else {
		q.items = append(q.items, message{frame: &f})
	}
	q.wake()
}

// maxUrgent bounds the frames that a viewer can make wait by asking for them and not reading.
const maxUrgent = 64

// hurry adds a frame that overtakes the output. A count of viewers takes the place of the one that waits.
func (q *queue) hurry(f sessions.Frame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.wake()
	if f.Type == sessions.FrameViewers {
		for i := range q.urgent {
			if q.urgent[i].frame.Type == f.Type {
				q.urgent[i].frame = &f
				return
			}
		}
	}
	if len(q.urgent) < maxUrgent {
		q.urgent = append(q.urgent, message{frame: &f})
	}
}

// reset forgets everything that has a place in the output, because a new picture takes its place.
func (q *queue) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items, q.size, q.behind = nil, 0, false
}

// lagging reports whether output was dropped.
func (q *queue) lagging() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.behind
}

// take returns the next message. When there is none, ok is false, and wait says after how long the output that is being
// gathered is due, 0 when there is none.
func (q *queue) take(now time.Time) (m message, wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.urgent) > 0 {
		m, q.urgent = q.urgent[0], q.urgent[1:]
		return m, 0, true
	}
	if len(q.items) == 0 {
		return message{}, 0, false
	}
	m = q.items[0]
	if m.frame == nil {
		if due := q.sent.Add(gather).Sub(now); due > 0 && len(q.items) == 1 {
			return message{}, due, false
		}
		q.sent = now
		q.size -= len(m.bytes)
	}
	q.items = q.items[1:]
	return m, 0, true
}

// flush makes waiting output due at once.
func (q *queue) flush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sent = time.Time{}
}
