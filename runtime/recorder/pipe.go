package recorder

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/journal"
)

const (
	// bufferSize is what is taken from a pipe at most at a time: the most that makes one record.
	bufferSize = 64 << 10
	// tailPatience is how long the beginning of a character or sequence waits for the rest.
	tailPatience = 100 * time.Millisecond
	// gatherBelow is how much must have come at once not to wait gatherFor before looking again: a program that writes
	// a hundred thousand times a second makes two hundred records of it. The first of a burst never waits.
	gatherBelow, gatherFor = 16 << 10, 5 * time.Millisecond
)

// pipe is the output of a terminal.
type pipe struct {
	slot int
	id   string // of the session; "" when it is not recorded
	file *os.File
	raw  syscall.RawConn
	tail int // how much was held back when it was last looked at; guarded by worker.mu
	took int // how often something was taken out of it; guarded by worker.mu
}

// seen is what a look at a pipe found.
type seen int

const (
	nothing    seen = iota // wait for more
	unfinished             // the beginning of something: wait, but not for ever
	some
	much
	end
)

// addPipe returns what reads a pipe. again says that another worker had it: what that was appending is dropped.
func (w *worker) addPipe(slot int, name string, file *os.File, again bool) func() {
	id, ours := strings.CutPrefix(name, terminalPrefix)
	if !ours || !w.cfg.Enabled {
		id = ""
	}
	raw, err := file.SyscallConn()
	if err != nil {
		w.log.Error("pipe unusable", "terminal", name, "err", err)
		_ = file.Close() // nothing was written
		return func() { w.gone(slot) }
	}
	p := &pipe{slot: slot, id: id, file: file, raw: raw}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, old := range w.pipes {
		if old.id == id && !again {
			w.takeLocked(old, true) // tmux has closed it: what it holds came before
		}
	}
	if again {
		w.dropTaken(p)
		w.noticedLocked(id, 1)
	}
	w.pipes[slot] = p
	if w.late[id] != nil {
		w.takeLocked(p, true)
		w.exitLocked(id)
	}
	return func() { w.read(p) }
}

// dropTaken takes out of the pipe what the worker before appended and did not take.
func (w *worker) dropTaken(p *pipe) {
	sequence, n, err := w.slots.get(p.slot)
	if err != nil || n <= 0 || n > bufferSize || p.id == "" {
		return
	}
	var data []byte
	_, err = journal.Read(w.disk.dir(p.id), journal.Query{After: sequence - 1}, func(r *journal.Record) error {
		if r.Sequence == sequence && r.Kind == journal.Output {
			data, _ = r.Data()
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) || int64(len(data)) != n {
		return // it was not appended
	}
	_ = p.raw.Control(func(fd uintptr) {
		m, _, err := unix.Recvfrom(int(fd), w.buf[:n], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if err == nil && int64(m) == n && string(w.buf[:n]) == string(data) {
			take(int(fd), w.buf[:n])
		}
	})
	_ = w.slots.set(p.slot, 0, 0) // it is written again before it counts
}

var errEnough = errors.New("enough") //nolint:gochecknoglobals // a constant

// read reads a pipe to its end.
func (w *worker) read(p *pipe) {
	defer func() {
		_ = p.file.Close() // nothing was written
		w.gone(p.slot)
		if p.id != "" {
			w.disk.idle(p.id)
		}
	}()
	gather := time.NewTimer(gatherFor)
	defer gather.Stop()
	for force := false; ; {
		var got seen
		err := p.raw.Read(func(fd uintptr) bool {
			got = w.look(p, int(fd), force)
			return got != nothing
		})
		force = false
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			force = true
			_ = p.file.SetReadDeadline(time.Time{}) // it has been set
		case err != nil || got == end:
			return
		case got == unfinished:
			_ = p.file.SetReadDeadline(time.Now().Add(tailPatience)) // likewise
		case got == some:
			_ = p.file.SetReadDeadline(time.Time{}) // likewise
			gather.Reset(gatherFor)
			<-gather.C
		}
	}
}

// look sees what a pipe holds and has it appended. All that waits in the clients' sockets goes before.
func (w *worker) look(p *pipe, fd int, force bool) seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lookLocked(p, fd, force)
}

func (w *worker) lookLocked(p *pipe, fd int, force bool) seen {
	if w.ended {
		return end
	}
	n, _, err := unix.Recvfrom(fd, w.buf, unix.MSG_PEEK|unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, unix.EAGAIN):
		p.tail = 0
		return nothing
	case errors.Is(err, unix.EINTR):
		return much
	case err != nil || n == 0:
		return end
	}
	whole := n
	if !force {
		whole = journal.Whole(w.buf[:n])
	}
	if whole == 0 {
		if p.tail == n {
			return nothing // still
		}
		p.tail = n
		return unfinished
	}
	p.tail = 0
	before := p.took
	if !w.dealing {
		for _, c := range w.clients {
			w.emptyClientLocked(c)
		}
	}
	if p.took != before {
		return much // one of them asked for what the session has printed: what was seen here is taken already
	}
	p.took++
	data := w.buf[:whole]
	if p.id == "" {
		take(fd, data)
		return much
	}
	reusable := w.appendLocked(op{id: p.id, record: &journal.Record{Kind: journal.Output}, data: data, slot: p.slot, noted: true})
	if !reusable {
		w.buf = make([]byte, bufferSize)
	}
	take(fd, w.buf[:whole])
	w.keysLocked(p.id, w.buf[:whole])
	_ = w.slots.set(p.slot, 0, 0) // it is written again before it counts
	w.noticedLocked(p.id, whole)
	if whole < gatherBelow {
		return some
	}
	return much
}

// lastLooks bounds the work on a pipe into which a program pours: more than a pipe can hold.
const lastLooks = 16

// takeLocked takes all that is in a pipe, with force also the beginning of a character or sequence, and returns what it
// found last: end, or something else.
func (w *worker) takeLocked(p *pipe, force bool) (last seen) {
	err := p.raw.Control(func(fd uintptr) {
		for range lastLooks {
			if last = w.lookLocked(p, int(fd), force); last != some && last != much {
				return
			}
		}
	})
	if err != nil { // it is closed
		return end
	}
	return last
}

// take takes exactly what was seen; scratch gets it once more.
func take(fd int, scratch []byte) {
	for len(scratch) > 0 {
		n, _, err := unix.Recvfrom(fd, scratch, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		scratch = scratch[n:]
	}
}
