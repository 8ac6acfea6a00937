package recorder

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxRequest is the longest request line.
	maxRequest = 512
	// requestTimeout is how long a connection may take to say what it wants.
	requestTimeout = 5 * time.Second
	// tellTimeout bounds a message to the worker, which always reads them.
	tellTimeout = 5 * time.Second
	// The pauses before a worker is started that did not live long.
	workerPauseMin, workerPauseMax = 20 * time.Millisecond, 2 * time.Second
	// farewell bounds how long a worker may take to end when its fd store does.
	farewell = 5 * time.Second
)

// WorkerVerb is the argument with which Config.Self becomes RunWorker.
const WorkerVerb = "recorder-worker"

// Config is what the fd store needs.
type Config struct {
	Listener net.Listener // on the socket that Handoff dials; unix
	Self     string       // path of the corral binary
	Env      []string     // of the worker
	Log      *slog.Logger
}

// hello is the answer to watch.
type hello struct {
	PID  int      `json:"pid"`
	Held []string `json:"held"`
}

// Run is the fd store. It takes over descriptors and keeps a worker that reads them until ctx ends.
func Run(ctx context.Context, cfg Config) error {
	memory, err := newSlots()
	if err != nil {
		return err
	}
	defer memory.file.Close() //nolint:errcheck // memory
	s := &store{cfg: cfg, log: cfg.Log, slots: memory, held: map[int]*held{}, conns: map[net.Conn]struct{}{}}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		_ = cfg.Listener.Close() // ends Accept
		s.hangUp()
	})
	defer stop()
	tasks.Go(func() { s.keepWorker(ctx) })
	for {
		conn, err := cfg.Listener.Accept()
		if err != nil {
			s.hangUp()
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept a pipe: %w", err)
		}
		if !s.admit(conn) {
			_ = conn.Close()
			continue
		}
		tasks.Go(func() {
			defer s.dismiss(conn)
			if err := s.serve(conn); err != nil {
				s.log.Warn("recorder request", "err", err)
			}
		})
	}
}

// held is a descriptor that is kept for the workers.
type held struct {
	name string // of the terminal; "" for a client
	file *os.File
}

func (h *held) line(slot int) string {
	if h.name == "" {
		return clientWord + " " + strconv.Itoa(slot)
	}
	return pipeWord + " " + strconv.Itoa(slot) + " " + h.name
}

type store struct {
	cfg   Config
	log   *slog.Logger
	slots slots

	mu     sync.Mutex
	closed bool                  // guarded by mu
	held   map[int]*held         // by slot; guarded by mu
	conns  map[net.Conn]struct{} // guarded by mu
	worker *net.UnixConn         // to the living worker, nil without one; guarded by mu
}

func (s *store) admit(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[conn] = struct{}{}
	return true
}

func (s *store) dismiss(conn net.Conn) {
	_ = conn.Close() // the peer may have closed it
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

// hangUp ends every connection, and what is held when there is no worker left that could read it.
func (s *store) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close() // its goroutine closes it again
	}
	for slot, h := range s.held {
		_ = h.file.Close() // the worker has its own
		delete(s.held, slot)
	}
	if s.worker != nil {
		_ = s.worker.CloseWrite() // asks the worker to end
	}
}

// serve answers one connection.
func (s *store) serve(conn net.Conn) error {
	uc, ok := unixConn(conn)
	if !ok {
		return fmt.Errorf("a connection of type %T cannot carry descriptors", conn)
	}
	if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	request, file, err := receive(uc)
	if err != nil {
		return err
	}
	name, isHandoff := strings.CutPrefix(request, handoffVerb)
	switch {
	case isHandoff && file != nil && validName(name):
	case request == clientVerb && file != nil:
		name = ""
	case request == watchVerb && file == nil:
		return s.watched(conn)
	default:
		if file != nil {
			_ = file.Close() // nobody wants it
		}
		return fmt.Errorf("an unknown request %q", request)
	}
	if err := s.take(name, file); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{ack}); err != nil {
		return fmt.Errorf("acknowledge %q: %w", request, err)
	}
	return nil
}

// validName reports whether name can be the name of a directory.
func validName(name string) bool {
	return name != "" && len(name) <= 100 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// take holds a descriptor and gives it to the worker. An older pipe of the same terminal goes on to its end, which tmux
// brings about when it replaces a pipe; the same pipe offered again, by a handoff that missed the answer, is dropped.
func (s *store) take(name string, file *os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := 0
	for s.held[slot] != nil {
		slot++
	}
	if s.closed || slot >= maxSlots {
		_ = file.Close() // nothing will be read
		return fmt.Errorf("take the pipe of %s: the recorder ends, or holds too many", name)
	}
	for _, h := range s.held {
		if h.name == name && same(h.file, file) {
			_ = file.Close() // nothing was written
			return nil
		}
	}
	if err := s.slots.set(slot, 0, 0); err != nil {
		_ = file.Close() // likewise
		return err
	}
	s.held[slot] = &held{name, file}
	s.log.Info("descriptor taken", "terminal", name, "slot", slot)
	s.tellLocked(s.held[slot].line(slot), file)
	return nil
}

// tellLocked sends the worker a line. A worker that cannot be told is ended: the next one is told everything.
func (s *store) tellLocked(line string, file *os.File) {
	if s.worker == nil {
		return
	}
	_ = s.worker.SetWriteDeadline(time.Now().Add(tellTimeout)) // an error shows when writing
	if err := send(s.worker, line, file); err != nil {
		s.log.Warn("worker not told", "err", err)
		_ = s.worker.Close() // the worker ends by it
		s.worker = nil
	}
}

func same(a, b *os.File) bool {
	ai, aerr := a.Stat()
	bi, berr := b.Stat()
	return aerr == nil && berr == nil && os.SameFile(ai, bi)
}

// keepWorker runs one worker after the other until ctx ends.
func (s *store) keepWorker(ctx context.Context) {
	pause := workerPauseMin
	for ctx.Err() == nil {
		began := time.Now()
		err := s.runWorker(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > workerPauseMax {
			pause = workerPauseMin
		}
		s.log.Warn("worker lost", "err", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, workerPauseMax)
	}
}

// runWorker runs one worker to its end.
func (s *store) runWorker(ctx context.Context) error {
	ours, theirs, err := packetPair()
	if err != nil {
		return err
	}
	conn, err := packetConn(ours)
	if err != nil {
		return errors.Join(err, theirs.Close())
	}
	defer conn.Close()                          //nolint:errcheck // may be closed already
	cmd := exec.Command(s.cfg.Self, WorkerVerb) //nolint:noctx // it ends with its socket, after the last words
	cmd.Env, cmd.Dir = s.cfg.Env, "/"
	cmd.ExtraFiles = []*os.File{theirs, s.slots.file}
	err = cmd.Start()
	_ = theirs.Close() // the worker has its own
	if err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	s.log.Info("worker started", "pid", cmd.Process.Pid)
	s.introduce(conn)
	s.listen(conn)
	s.mu.Lock()
	if s.worker == conn {
		s.worker = nil
	}
	s.mu.Unlock()
	late := time.AfterFunc(farewell, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if err := cmd.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the worker: %w", err)
	}
	return nil
}

// introduce tells a new worker everything.
func (s *store) introduce(conn *net.UnixConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worker = conn
	for slot, h := range s.held {
		s.tellLocked(h.line(slot), h.file)
	}
	s.tellLocked(readyWord, nil)
	if s.closed && s.worker != nil {
		_ = conn.CloseWrite() // as hangUp would have
	}
}

// listen follows what the worker says until it ends.
func (s *store) listen(conn *net.UnixConn) {
	for {
		line, file, err := receive(conn)
		if err != nil {
			return
		}
		if file != nil {
			_ = file.Close() // it has none to give
		}
		word, number, _ := strings.Cut(line, " ")
		slot, err := strconv.Atoi(number)
		if word != endedWord || err != nil {
			s.log.Warn("worker said something unknown", "line", line)
			continue
		}
		s.mu.Lock()
		if h := s.held[slot]; h != nil {
			_ = h.file.Close() // at its end
			delete(s.held, slot)
			s.log.Info("descriptor ended", "terminal", h.name, "slot", slot)
		}
		s.mu.Unlock()
	}
}

// watched tells who we are, then waits until the watcher goes or Run ends.
func (s *store) watched(conn net.Conn) error {
	h := hello{PID: os.Getpid(), Held: []string{}}
	s.mu.Lock()
	for _, p := range s.held {
		if p.name != "" && !slices.Contains(h.Held, p.name) {
			h.Held = append(h.Held, p.name)
		}
	}
	s.mu.Unlock()
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("answer a watcher: %w", err)
	}
	if _, err := conn.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("answer a watcher: %w", err)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("answer a watcher: %w", err)
	}
	_, _ = bufio.NewReader(conn).ReadByte() // it says nothing: this is its end
	return nil
}
