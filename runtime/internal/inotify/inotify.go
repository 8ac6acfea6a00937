// Package inotify watches directories for the few events that a task's life consists of. The general libraries ask the
// kernel for every write too, which wakes the watcher for each line that a task prints.
//
// A Watcher owns no goroutine; one goroutine may call Next, any may call the other methods.
package inotify

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What to watch for.
const (
	// Names are files that come, go and are renamed.
	Names = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE
	// Closed are files that nobody writes any more: also what a killed process had open.
	Closed = unix.IN_CLOSE_WRITE
	// Written are files that grow.
	Written = unix.IN_MODIFY
)

// Event says that something happened to Name in the directory Path. An event with an empty Path says that events were
// lost: look at everything.
type Event struct{ Path, Name string }

// Watcher watches paths.
type Watcher struct {
	file *os.File

	mu    sync.Mutex
	paths map[int32]string // by watch descriptor; guarded by mu
	wds   map[string]int32 // guarded by mu
	left  []byte           // read and not yet returned; Next's own
	buf   [16 << 10]byte   // Next's own
}

// New returns a watcher of nothing.
func New() (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	return &Watcher{file: os.NewFile(uintptr(fd), "inotify"), paths: map[int32]string{}, wds: map[string]int32{}}, nil
}

// Add watches path for the events of mask. A path that is watched gets the new mask.
func (w *Watcher) Add(path string, mask uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	conn, err := w.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	var wd int
	var added error
	if err := conn.Control(func(fd uintptr) { wd, added = unix.InotifyAddWatch(int(fd), path, mask) }); err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	if added != nil {
		return fmt.Errorf("watch %s: %w", path, added)
	}
	w.paths[int32(wd)], w.wds[path] = path, int32(wd) //nolint:gosec // descriptors are small
	return nil
}

// Remove gives a path up. One that is gone already is no error.
func (w *Watcher) Remove(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wd, ok := w.wds[path]
	if !ok {
		return
	}
	delete(w.wds, path)
	delete(w.paths, wd)
	conn, err := w.file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_, _ = unix.InotifyRmWatch(int(fd), uint32(wd)) //nolint:gosec // as the kernel gave it
	})
}

// Next waits for the next event. It fails when the watcher is closed.
func (w *Watcher) Next() (Event, error) {
	for {
		if len(w.left) < unix.SizeofInotifyEvent {
			n, err := w.file.Read(w.buf[:])
			if err != nil {
				return Event{}, err
			}
			w.left = w.buf[:n]
			continue
		}
		raw := (*unix.InotifyEvent)(unsafe.Pointer(&w.left[0])) //nolint:gosec // as inotify(7) lays it out
		end := unix.SizeofInotifyEvent + int(raw.Len)
		if end > len(w.left) {
			return Event{}, errors.New("watch files: the kernel gave half an event")
		}
		name := unix.ByteSliceToString(w.left[unix.SizeofInotifyEvent:end])
		wd, mask := raw.Wd, raw.Mask
		w.left = w.left[end:]
		if mask&unix.IN_Q_OVERFLOW != 0 {
			return Event{}, nil
		}
		w.mu.Lock()
		path, known := w.paths[wd]
		if mask&unix.IN_IGNORED != 0 && known {
			delete(w.paths, wd)
			if w.wds[path] == wd {
				delete(w.wds, path)
			}
			known = false
		}
		w.mu.Unlock()
		if known {
			return Event{Path: path, Name: name}, nil
		}
	}
}

// Close ends Next.
func (w *Watcher) Close() error { return w.file.Close() }
