package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// terminalPrefix begins the names of the terminals that are sessions; others are drained and not recorded.
const terminalPrefix = "cr-"

// WorkerConfig is what the worker needs.
type WorkerConfig struct {
	Dir     string // the journals, a directory for each session
	Enabled bool   // false: what comes is drained
	Segment int64  // size of a segment; the default when 0
	Limits  Limits
	Self    string // path of the corral binary, to compress
	Log     *slog.Logger
}

// RunWorker is the worker of the fd store that started this process. It ends when the fd store does, or ctx.
func RunWorker(ctx context.Context, cfg WorkerConfig) error {
	control, err := packetConn(os.NewFile(controlFD, "control"))
	if err != nil {
		return fmt.Errorf("the worker was not started by a recorder: %w", err)
	}
	defer control.Close() //nolint:errcheck // the process ends
	return work(ctx, cfg, control, slots{os.NewFile(slotsFD, "slots")})
}

func work(ctx context.Context, cfg WorkerConfig, control *net.UnixConn, memory slots) error {
	unlock, err := lockJournals(ctx, cfg.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &worker{
		cfg: cfg, log: cfg.Log, control: control, slots: memory, buf: make([]byte, bufferSize), letter: make([]byte, maxMessage),
		pipes: map[int]*pipe{}, clients: map[int]*client{}, sessions: map[string]*activity{}, removed: map[string]bool{},
		keys: map[string]bool{}, late: map[string]*lateExit{},
	}
	w.disk = newDisk(cfg, memory, w.warn)
	var disk sync.WaitGroup
	disk.Go(func() { w.disk.run(ctx) })
	defer disk.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })()

	var readers sync.WaitGroup
	err = w.follow(&readers)
	w.end()
	readers.Wait()
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// lockJournals waits until no other worker writes: one whose fd store was killed may be at its last record.
func lockJournals(ctx context.Context, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the journals: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the journals: %w", err)
	}
	again := time.NewTicker(lockEvery)
	defer again.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock the journals: %w", err), f.Close())
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock the journals: %w", ctx.Err()), f.Close())
		}
	}
}

// lockEvery is how often a lock is tried that another worker holds, which is at its end: a wait for it could not be given
// up.
const lockEvery = 20 * time.Millisecond

// worker reads descriptors and has what they bring written.
type worker struct {
	cfg     WorkerConfig
	log     *slog.Logger
	control *net.UnixConn
	slots   slots
	disk    *disk

	mu       sync.Mutex // makes one order of all that comes; guards what follows
	buf      []byte     // what was seen in a pipe
	letter   []byte     // what was seen in a client's socket
	pipes    map[int]*pipe
	clients  map[int]*client
	sessions map[string]*activity
	keys     map[string]bool // sessions whose programs asked for keys with modifiers
	removed  map[string]bool // journals that were removed: what is still to come for them is dropped
	late     map[string]*lateExit
	dealing  bool // with a client's message: no other one is dealt with before it
	ended    bool
	warning  string // the present one
}

// follow takes what the fd store gives until it ends. Nothing is read before everything is there that a worker before
// this one had: an input may wait in a client's socket whose echo waits in a pipe.
func (w *worker) follow(readers *sync.WaitGroup) error {
	var waiting []func()
	ready := false
	for {
		line, file, err := receive(w.control)
		if err != nil {
			return err
		}
		f := strings.SplitN(line, " ", 3)
		if line == readyWord && file == nil {
			ready = true
			for _, start := range waiting {
				readers.Go(start)
			}
			waiting = nil
			continue
		}
		slot := -1
		if len(f) > 1 && file != nil {
			if n, err := strconv.Atoi(f[1]); err == nil {
				slot = n
			}
		}
		var start func()
		switch {
		case slot >= 0 && f[0] == pipeWord && len(f) == 3:
			start = w.addPipe(slot, f[2], file, !ready)
		case slot >= 0 && f[0] == clientWord:
			start = w.addClient(slot, file)
		default:
			return fmt.Errorf("the fd store said %q", line)
		}
		if ready {
			readers.Go(start)
		} else {
			waiting = append(waiting, start)
		}
	}
}

// gone tells the fd store that a descriptor has come to its end.
func (w *worker) gone(slot int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return // it was closed by us, not by its other end
	}
	delete(w.pipes, slot)
	delete(w.clients, slot)
	_ = w.control.SetWriteDeadline(time.Now().Add(tellTimeout)) // an error shows when writing
	if err := send(w.control, endedWord+" "+strconv.Itoa(slot), nil); err != nil {
		w.log.Warn("fd store not told", "err", err)
	}
}

// end takes what is still in the pipes and stops all reading.
func (w *worker) end() {
	for _, f := range w.last() {
		_ = f.Close() // nothing was written; not under mu, for which its reader may wait
	}
}

func (w *worker) last() (files []*os.File) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pipes {
		w.takeLocked(p, true)
		files = append(files, p.file)
	}
	for _, c := range w.clients {
		w.emptyClientLocked(c)
	}
	for id := range w.late {
		w.exitLocked(id)
	}
	w.ended = true
	for _, c := range w.clients {
		files = append(files, c.file)
	}
	for _, a := range w.sessions {
		a.timer.Stop()
	}
	return files
}

// warn tells the runtime what is wrong, "" when nothing is any more.
func (w *worker) warn(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warning = text
	if text != "" {
		w.log.Warn("recording impaired", "why", text)
	}
	for _, c := range w.clients {
		c.tell(message{Op: opWarning, Text: text})
	}
}

// appendLocked appends a record. data, if it is not nil, becomes its payload. It reports whether data may be used again.
func (w *worker) appendLocked(o op) (reusable bool) {
	if !w.cfg.Enabled {
		return true
	}
	return w.disk.append(o)
}
