package recorder

import (
	"encoding/json"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/journal"
)

// client is the socket of a runtime, seen from the worker.
type client struct {
	slot int
	file *os.File
	raw  syscall.RawConn
	last int64 // number of the last message dealt with; guarded by worker.mu
	// The worker before this one was appending the record of message doubt, as sequence; 0 when it was not.
	doubt, sequence int64
	over            bool // its other end is closed; guarded by worker.mu
}

// addClient returns what reads a client.
func (w *worker) addClient(slot int, file *os.File) func() {
	raw, err := file.SyscallConn()
	if err != nil {
		w.log.Error("client unusable", "err", err)
		_ = file.Close() // nothing was written
		return func() { w.gone(slot) }
	}
	c := &client{slot: slot, file: file, raw: raw}
	if c.last, c.sequence, err = w.slots.get(slot); err != nil {
		w.log.Error("slot unreadable", "err", err)
	}
	if c.sequence > 0 {
		c.doubt = c.last
		c.last--
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients[slot] = c
	c.tell(message{Op: opHello, Text: w.warning})
	for _, a := range w.sessions {
		a.hurry() // what nobody could be asked for
	}
	return func() {
		defer w.gone(slot)
		defer file.Close() //nolint:errcheck // nothing was written
		_ = raw.Read(func(uintptr) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.emptyClientLocked(c)
			return c.over || w.ended
		}) // an error says that we closed it
	}
}

// emptyClientLocked deals with all messages that wait in a client's socket.
func (w *worker) emptyClientLocked(c *client) {
	_ = c.raw.Control(func(fd uintptr) { // an error says that it is closed
		for !c.over {
			n, _, err := unix.Recvfrom(int(fd), w.letter, unix.MSG_PEEK|unix.MSG_DONTWAIT)
			switch {
			case errors.Is(err, unix.EAGAIN):
				return
			case errors.Is(err, unix.EINTR):
				continue
			case err != nil || n == 0:
				c.over = true
				return
			}
			var m message
			if err := json.Unmarshal(w.letter[:n], &m); err != nil {
				w.log.Warn("message not understood", "err", err)
			} else if m.N > c.last {
				if m.N != c.doubt || w.disk.last(m.ID) < c.sequence {
					w.dealLocked(c, m)
				}
				c.last = m.N
				_ = w.slots.set(c.slot, m.N, 0) // memory
			}
			take(int(fd), w.letter[:1]) // what is not read of a message goes with it
		}
	})
}

// dealLocked does what a message asks for.
func (w *worker) dealLocked(c *client, m message) {
	if !validName(m.ID) {
		w.log.Warn("message for no session", "op", m.Op)
		return
	}
	switch {
	case m.Op == opAppend && m.Record != nil && w.removed[m.ID] && m.Record.Kind != journal.Start:
	case m.Op == opAppend && m.Record != nil:
		delete(w.removed, m.ID)
		switch m.Record.Kind {
		case journal.Exit:
			if !w.outputOf(m.ID, true) {
				w.postponeLocked(m.ID, m.Record)
				return
			}
		case journal.Start:
			w.exitLocked(m.ID)
			delete(w.keys, m.ID)
		case journal.Resize, journal.Gap:
			w.noticedLocked(m.ID, 1)
		}
		w.appendLocked(op{id: m.ID, record: m.Record, slot: c.slot, number: m.N})
	case m.Op == opSequence:
		w.outputOf(m.ID, false)
		m.Sequence = w.disk.last(m.ID)
		c.tell(m)
	case m.Op == opKeys:
		w.outputOf(m.ID, false)
		m.Asked = w.keys[m.ID]
		c.tell(m)
	case m.Op == opRemove:
		delete(w.keys, m.ID)
		if a := w.sessions[m.ID]; a != nil {
			a.timer.Stop()
			delete(w.sessions, m.ID)
		}
		for _, p := range w.pipes {
			if p.id == m.ID {
				p.id = "" // its last words are not kept
			}
		}
		w.forgetExitLocked(m.ID)
		w.removed[m.ID] = true
		w.disk.append(op{id: m.ID, remove: true})
		c.tell(m)
	}
}

// outputOf takes what a session has printed, with force also the beginning of a character or sequence. It reports whether
// there is a pipe that more can come from.
func (w *worker) outputOf(id string, force bool) (more bool) {
	w.dealing = true
	defer func() { w.dealing = false }()
	for _, p := range w.pipes {
		if p.id == id && w.takeLocked(p, force) != end {
			more = true
		}
	}
	return more
}

// tell sends the runtime a message, if there is room for it.
func (c *client) tell(m message) {
	b, err := json.Marshal(m)
	if err != nil {
		return
	}
	_ = c.raw.Control(func(fd uintptr) { // an error says that it is closed
		_ = unix.Sendto(int(fd), b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil) // a hint: it comes again, or is asked for
	})
}

const (
	quietFor    = time.Second            // without output a screen is worth a snapshot
	busyFor     = time.Minute            // and with output after that time
	busyBytes   = 1 << 20                // or so much
	busyAtLeast = 250 * time.Millisecond // but not more often
)

// activity is what a session has printed since its last snapshot. Its fields are guarded by worker.mu.
type activity struct {
	bytes   int
	printed time.Time // last
	asked   time.Time // for a snapshot, last
	timer   *time.Timer
	armed   bool
}

func (a *activity) hurry() {
	if a.bytes > 0 && !a.armed {
		a.armed = true
		a.timer.Reset(0)
	}
}

// noticedLocked notes that a session's screen has changed.
func (w *worker) noticedLocked(id string, n int) {
	if id == "" || !w.cfg.Enabled {
		return
	}
	now := time.Now()
	a := w.sessions[id]
	if a == nil {
		a = &activity{asked: now}
		a.timer = time.AfterFunc(quietFor, func() { w.quiet(id) })
		a.armed = true
		w.sessions[id] = a
	}
	a.bytes += n
	a.printed = now
	switch {
	case a.bytes >= busyBytes && now.Sub(a.asked) >= busyAtLeast:
		w.askLocked(id, a, now)
	case !a.armed:
		a.armed = true
		a.timer.Reset(quietFor)
	}
}

// quiet runs when a session may have been quiet long enough.
func (w *worker) quiet(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.sessions[id]
	if a == nil || w.ended {
		return
	}
	a.armed = false
	if a.bytes == 0 {
		return
	}
	now := time.Now()
	wait := min(a.printed.Add(quietFor).Sub(now), a.asked.Add(busyFor).Sub(now))
	if wait <= 0 {
		w.askLocked(id, a, now)
		return
	}
	a.armed = true
	a.timer.Reset(wait)
}

// askLocked asks for a snapshot. Without a runtime the wish stays.
func (w *worker) askLocked(id string, a *activity, now time.Time) {
	a.asked = now
	if len(w.clients) == 0 {
		return
	}
	a.bytes = 0
	for _, c := range w.clients {
		c.tell(message{Op: opSnapshot, ID: id})
	}
}
