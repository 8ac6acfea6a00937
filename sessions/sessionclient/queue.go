package sessionclient

import (
	"sync"

	"github.com/coder/websocket"

	"corral/sessions"
)

const (
	// maxQueued bounds the keys that wait to be written: a minute of the fastest key repeat is a hundredth of it, so it
	// fills only when the server does not read. Pastes have a bound of their own, that of the largest one, so that what
	// is typed behind a paste waits for it.
	maxQueued = 1 << 20
	// maxItems bounds everything that waits, of whatever size.
	maxItems = 4096
)

// item is what the writer sends together: a frame, or bytes, or a frame that announces the bytes after it.
type item struct {
	frame *sessions.Frame
	bytes []byte
}

// presses is how many keys the item stands for; a paste is one.
func (i item) presses() int {
	switch {
	case len(i.bytes) == 0:
		return 0
	case i.frame != nil:
		return 1
	}
	return sessions.CountKeys(i.bytes)
}

func (i item) isResize() bool { return i.frame != nil && i.frame.Type == sessions.FrameResize }

// messages calls write for each message of the item.
func (i item) messages(write func(websocket.MessageType, []byte) error) error {
	if i.frame != nil {
		b, err := encode(*i.frame)
		if err != nil {
			return err
		}
		if err := write(websocket.MessageText, b); err != nil {
			return err
		}
	}
	for rest := i.bytes; len(rest) > 0; {
		n := min(len(rest), sessions.MaxUp)
		if err := write(websocket.MessageBinary, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// queue is what a stream has still to send, in order. It is open while connected and takes input from the first restore on. What is
// refused, and what a cut leaves unsent, counts as dropped.
type queue struct {
	ready chan struct{} // signals the writer; holds one

	mu      sync.Mutex
	items   []item // all fields guarded by mu
	keys    int    // bytes in items, of keys and of pastes
	pasted  int
	flying  int // keys that were sent since the other side was last heard
	open    bool
	live    bool
	dropped int // keys since last live
	size    [2]int
	owned   bool
}

// connect opens the queue for a new connection that was asked for with the given size, and queues what has changed
// since and what the connection must be told again.
func (q *queue) connect(size [2]int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = true
	if q.size != size {
		q.addLocked(item{frame: &sessions.Frame{Type: sessions.FrameResize, Cols: q.size[0], Rows: q.size[1]}})
	}
	if q.owned {
		q.addLocked(item{frame: &sessions.Frame{Type: sessions.FrameOwn}})
	}
}

// disconnect closes the queue. Input in it was accepted but not sent: it is dropped.
func (q *queue) disconnect() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open, q.live = false, false
	for _, i := range q.items {
		q.dropped += i.presses()
	}
	q.items, q.keys, q.pasted, q.flying = nil, 0, 0, 0
}

// heard notes that the other side has read what was sent, as far as anybody can tell.
func (q *queue) heard() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flying = 0
}

// lost gives up what was sent and not answered: the other side does not read, and will drop it when it does.
func (q *queue) lost() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped += q.flying
	q.flying = 0
}

// goLive lets input in and returns how much was dropped before.
func (q *queue) goLive() (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	dropped, q.dropped = q.dropped, 0
	q.live = true
	return dropped
}

func (q *queue) droppedCount() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// input queues bytes, which it copies.
func (q *queue) input(p []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.inputLocked(item{bytes: p}, q.keys+len(p) <= maxQueued)
}

// paste queues bytes, which it copies, behind a frame that announces them.
func (q *queue) paste(p []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := &sessions.Frame{Type: sessions.FramePaste, Bytes: len(p)}
	return q.inputLocked(item{f, p}, q.pasted+len(p) <= sessions.MaxPaste)
}

func (q *queue) inputLocked(i item, fits bool) bool {
	if !q.live || !fits || len(q.items) >= maxItems {
		q.dropped += i.presses()
		return false
	}
	i.bytes = append([]byte(nil), i.bytes...)
	q.addLocked(i)
	return true
}

// resize remembers the size and queues it, in the place of one that has not gone yet.
func (q *queue) resize(cols, rows int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size == [2]int{cols, rows} {
		return
	}
	q.size = [2]int{cols, rows}
	f := item{frame: &sessions.Frame{Type: sessions.FrameResize, Cols: cols, Rows: rows}}
	if last := len(q.items) - 1; last >= 0 && q.items[last].isResize() {
		q.items[last] = f
		return
	}
	q.addLocked(f)
}

func (q *queue) own(owned bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.owned = owned
	t := sessions.FrameRelease
	if owned {
		t = sessions.FrameOwn
	}
	q.addLocked(item{frame: &sessions.Frame{Type: t}})
}

func (q *queue) control(f sessions.Frame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addLocked(item{frame: &f})
}

// addLocked appends an item while connected; a new connection is told of size and ownership anyway.
func (q *queue) addLocked(i item) {
	if !q.open || len(q.items) >= maxItems {
		return
	}
	q.items = append(q.items, i)
	q.countLocked(i, 1)
	signal(q.ready)
}

func (q *queue) countLocked(i item, sign int) {
	if i.frame == nil {
		q.keys += sign * len(i.bytes)
	} else {
		q.pasted += sign * len(i.bytes)
	}
}

// take returns the oldest item.
func (q *queue) take() (item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		q.items = nil // lets go of what a burst has grown
		return item{}, false
	}
	i := q.items[0]
	q.items[0] = item{}
	q.items = q.items[1:]
	q.countLocked(i, -1)
	q.flying += i.presses()
	return i, true
}

// wanted returns the size to ask a new connection for.
func (q *queue) wanted() [2]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

// signal marks a channel of capacity one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
