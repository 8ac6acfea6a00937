package sock

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Settle is how long the path must be quiet before a deleted socket is bound again, so that an `rm -r` of the directory
// can finish first.
const Settle = 30 * time.Millisecond

// dialTimeout bounds the question whether somebody listens at a path: a listener with a full backlog does not answer.
const dialTimeout = time.Second

// ErrGone is what Accept returns when the directory that held the socket's directory was deleted.
var ErrGone = errors.New("the directory of the socket is gone")

// Listener is a net.Listener on a unix socket that heals itself. Accept may be called from one goroutine at a time.
type Listener struct {
	path    string
	uid     int
	log     *slog.Logger
	watcher *fsnotify.Watcher
	done    chan struct{} // closed by Close
	watched chan struct{} // closed when the watcher has returned

	mu     sync.Mutex
	bound  *net.UnixListener // guarded by mu
	id     fileID            // guarded by mu: the socket we bound, to tell it from another one at the same path
	reason error             // guarded by mu: why Accept must fail; nil while it must not
}

type fileID struct{ dev, ino uint64 }

// Listen binds the socket at path, in a directory that it makes if only that is missing. The caller holds the lock of
// its role, so that nobody else of ours binds the same path at the same time.
func Listen(path string, log *slog.Logger) (*Listener, error) {
	l := &Listener{path: path, uid: os.Geteuid(), log: log, done: make(chan struct{}), watched: make(chan struct{})}
	var err error
	if l.watcher, err = fsnotify.NewWatcher(); err != nil {
		return nil, fmt.Errorf("watch the directory of %s: %w", path, err)
	}
	if err := l.bind(); err != nil {
		return nil, errors.Join(err, l.watcher.Close())
	}
	go l.watch()
	return l, nil
}

// Accept waits for the next connection of an allowed peer.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		bound, err := l.current()
		if err != nil {
			return nil, err
		}
		conn, err := bound.AcceptUnix()
		if err != nil {
			if now, closed := l.current(); closed != nil {
				return nil, closed
			} else if now != bound {
				continue // it was bound again
			}
			return nil, err
		}
		if err := allowed(conn, l.uid); err != nil {
			l.log.Warn("connection refused", "socket", l.path, "reason", err)
			_ = conn.Close()
			continue
		}
		return conn, nil
	}
}

func (l *Listener) current() (*net.UnixListener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bound, l.reason
}

// Addr returns the socket's address.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close stops listening, removes the socket if it is still ours, and waits for the watcher.
func (l *Listener) Close() error {
	if !l.stop(net.ErrClosed) {
		return net.ErrClosed
	}
	close(l.done)
	<-l.watched
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, err := identify(l.path); err == nil && id == l.id {
		return os.Remove(l.path)
	}
	return nil
}

// stop makes Accept fail for good. It reports false when a Close came before.
func (l *Listener) stop(reason error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.reason, net.ErrClosed) {
		return false
	}
	l.reason = reason
	_ = l.bound.Close() // again after ErrGone: then it is closed already
	return true
}

// bind makes the socket and watches its directory.
func (l *Listener) bind() error {
	dir := filepath.Dir(l.path)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the socket directory: %w", err)
	}
	if err := private(dir, l.uid); err != nil {
		return err
	}
	// Watch first: what happens to the socket from its first moment on is then seen.
	_ = l.watcher.Remove(dir) // of a directory that was deleted and made anew; there is none at first
	if err := l.watcher.Add(dir); err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	if err := clear(l.path); err != nil {
		return err
	}
	bound, err := net.ListenUnix("unix", &net.UnixAddr{Name: l.path, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	bound.SetUnlinkOnClose(false) // by then another socket may have the name
	// Who waits for a start watches the directory: this change of mode is the event that says "now it listens".
	err = os.Chmod(l.path, 0o600)
	id, idErr := identify(l.path)
	if err = errors.Join(err, idErr); err != nil {
		return errors.Join(fmt.Errorf("protect %s: %w", l.path, err), bound.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason != nil {
		return errors.Join(l.reason, bound.Close(), os.Remove(l.path))
	}
	old := l.bound
	l.bound, l.id = bound, id
	if old != nil {
		_ = old.Close() // wakes Accept, which goes on with the new one
	}
	return nil
}

// clear removes a socket that nobody listens on. It leaves everything else alone and says what it is.
func clear(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is in the way and is no socket; move it away", path)
	}
	conn, err := net.DialTimeout("unix", path, dialTimeout)
	if err == nil {
		defer conn.Close()
		return inUse(path, conn)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s is in the way and cannot be asked who listens: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the stale socket: %w", err)
	}
	return nil
}

func identify(path string) (fileID, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return fileID{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, fmt.Errorf("%s has no inode", path)
	}
	return fileID{dev: uint64(st.Dev), ino: st.Ino}, nil //nolint:unconvert // Dev is narrower on other platforms
}
