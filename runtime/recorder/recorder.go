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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxRequest is the longest request line.
	maxRequest = 512
	// requestTimeout is how long a connection may take to say what it wants.
	requestTimeout = 5 * time.Second
	// bufferSize is what one read takes at most. tmux writes in pieces of some KiB.
	bufferSize = 32 << 10
)

const (
	handoffVerb = "handoff "
	watchVerb   = "watch"
)

// Config is what the recorder needs.
type Config struct {
	Listener net.Listener // on the socket that Handoff dials; unix
	Log      *slog.Logger
}

// hello is the answer to watch.
type hello struct {
	PID  int      `json:"pid"`
	Held []string `json:"held"`
}

// Run takes over pipes and drains them until ctx ends.
func Run(ctx context.Context, cfg Config) error {
	r := &recorder{
		log:     cfg.Log,
		buffers: sync.Pool{New: func() any { return new([bufferSize]byte) }},
		pipes:   map[*os.File]string{},
		conns:   map[net.Conn]struct{}{},
	}
	stop := context.AfterFunc(ctx, func() {
		_ = cfg.Listener.Close() // ends Accept
		r.hangUp()
	})
	defer stop()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for {
		conn, err := cfg.Listener.Accept()
		if err != nil {
			r.hangUp()
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept a pipe: %w", err)
		}
		if !r.admit(conn) {
			_ = conn.Close()
			continue
		}
		tasks.Go(func() {
			defer r.dismiss(conn)
			if err := r.serve(conn, &tasks); err != nil {
				r.log.Warn("recorder request", "err", err)
			}
		})
	}
}

type recorder struct {
	log     *slog.Logger
	buffers sync.Pool

	mu     sync.Mutex
	closed bool                  // guarded by mu
	pipes  map[*os.File]string   // which terminal's; guarded by mu
	conns  map[net.Conn]struct{} // guarded by mu
}

func (r *recorder) admit(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.conns[conn] = struct{}{}
	return true
}

func (r *recorder) dismiss(conn net.Conn) {
	_ = conn.Close() // the peer may have closed it
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, conn)
}

// hangUp ends every read.
func (r *recorder) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for c := range r.conns {
		_ = c.Close() // its goroutine closes it again
	}
	for p := range r.pipes {
		_ = p.Close() // likewise
	}
}

// serve answers one connection.
func (r *recorder) serve(conn net.Conn, tasks *sync.WaitGroup) error {
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
	case isHandoff && file != nil:
		if err := r.take(name, file, tasks); err != nil {
			return err
		}
		if _, err := conn.Write([]byte{ack}); err != nil {
			return fmt.Errorf("acknowledge the pipe of %s: %w", name, err)
		}
		return nil
	case request == watchVerb && file == nil:
		return r.watched(conn)
	}
	if file != nil {
		_ = file.Close() // nobody wants it
	}
	return fmt.Errorf("an unknown request %q", request)
}

// unixConn finds the unix connection in one that a listener may have wrapped.
func unixConn(conn net.Conn) (*net.UnixConn, bool) {
	for {
		switch c := conn.(type) {
		case *net.UnixConn:
			return c, true
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil, false
		}
	}
}

// receive reads a request line and the descriptor that comes with it, nil without one.
func receive(conn *net.UnixConn) (request string, file *os.File, err error) {
	buf, oob := make([]byte, maxRequest), make([]byte, unix.CmsgSpace(4*4))
	n, oobn, flags, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return "", nil, fmt.Errorf("read a request: %w", err)
	}
	files, err := descriptors(oob[:oobn])
	if err == nil && (len(files) > 1 || flags&unix.MSG_CTRUNC != 0) {
		err = errors.New("more than one descriptor")
	}
	line, whole := strings.CutSuffix(string(buf[:n]), "\n")
	if err == nil && (!whole || strings.ContainsRune(line, '\n')) {
		err = errors.New("the request is not one line") // it was written in one piece, and is read in one
	}
	if err != nil {
		for _, f := range files {
			_ = f.Close() // refused
		}
		return "", nil, fmt.Errorf("read a request: %w", err)
	}
	if len(files) == 1 {
		file = files[0]
	}
	return line, file, nil
}

func descriptors(oob []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // some other kind of message
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			// Without O_NONBLOCK the poller would not have it and each pipe would cost a thread.
			nberr := unix.SetNonblock(fd, true)
			f := os.NewFile(uintptr(fd), "pipe")
			files = append(files, f)
			err = errors.Join(err, nberr)
		}
		if err != nil {
			return files, fmt.Errorf("take a descriptor: %w", err)
		}
	}
	return files, nil
}

// take starts to drain a terminal's pipe. An older pipe of the same terminal goes on to its end, which tmux brings
// about when it replaces a pipe; the same pipe offered again, by a handoff that missed the answer, is dropped.
func (r *recorder) take(name string, file *os.File, tasks *sync.WaitGroup) error {
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close() // unusable
		return fmt.Errorf("take the pipe of %s: %w", name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		_ = file.Close() // nothing will be read
		return fmt.Errorf("take the pipe of %s: the recorder ends", name)
	}
	for held, of := range r.pipes {
		if of == name && same(held, file) {
			_ = file.Close() // nothing was written
			return nil
		}
	}
	r.pipes[file] = name
	r.log.Info("pipe taken", "terminal", name)
	tasks.Go(func() {
		err := r.drain(raw)
		r.mu.Lock()
		delete(r.pipes, file)
		r.mu.Unlock()
		_ = file.Close() // nothing was written
		r.log.Info("pipe ended", "terminal", name, "err", err)
	})
	return nil
}

func same(a, b *os.File) bool {
	ai, aerr := a.Stat()
	bi, berr := b.Stat()
	return aerr == nil && berr == nil && os.SameFile(ai, bi)
}

// drain reads until the end. A buffer is held only while there is something to read, so a thousand quiet terminals
// hold none.
func (r *recorder) drain(raw syscall.RawConn) error {
	for {
		var n int
		var rerr error
		err := raw.Read(func(fd uintptr) bool {
			buf := r.buffers.Get().(*[bufferSize]byte)
			defer r.buffers.Put(buf)
			n, rerr = unix.Read(int(fd), buf[:])
			return !errors.Is(rerr, unix.EAGAIN)
		})
		switch {
		case errors.Is(err, os.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("wait for output: %w", err)
		case errors.Is(rerr, unix.EINTR):
		case rerr != nil:
			return fmt.Errorf("read output: %w", rerr)
		case n == 0:
			return nil
		}
	}
}

// watched tells who we are, then waits until the watcher goes or Run ends.
func (r *recorder) watched(conn net.Conn) error {
	h := hello{PID: os.Getpid(), Held: []string{}}
	r.mu.Lock()
	for _, name := range r.pipes {
		if !slices.Contains(h.Held, name) {
			h.Held = append(h.Held, name)
		}
	}
	r.mu.Unlock()
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
