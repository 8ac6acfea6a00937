// Package taskdir is the directory of a task: its files, how they are written so that a crash leaves an old or a new one
// and nothing between, and what they say together. docs/tasks.md describes the files for people.
//
// The files and who writes them, in the order in which they come:
//
//	meta.json   the runtime    what is to be run; the directory appears with it
//	launch      the runtime    the program's environment; removed when the program starts
//	start       the runtime    made once, before the runner is started: a task is never started twice
//	lock        the runner     locked (flock) for as long as the runner lives
//	log         the runner     what the program prints, byte by byte
//	log.idx     the runner     when it came
//	log.cut     the runner     what the limit cut out of the log
//	run.json    the runner     the processes
//	cancel      the runtime    somebody wants the task to end
//	usage.json  the runner     what it used
//	exit        the runner     how it ended; written last, and the only proof of an end
//	seen        the runtime    somebody has looked at the task since it ended
//
// The package has no goroutines and no locks of its own.
package taskdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/rtapi"
)

// The names of the files.
const (
	MetaFile   = "meta.json"
	LaunchFile = "launch"
	StartFile  = "start"
	LockFile   = "lock"
	LogFile    = "log"
	IndexFile  = "log.idx"
	CutFile    = "log.cut"
	RunFile    = "run.json"
	CancelFile = "cancel"
	UsageFile  = "usage.json"
	ExitFile   = "exit"
	SeenFile   = "seen"
)

// maxFile bounds what is read of a file; meta.json may hold arguments of 128 KiB, escaped.
const maxFile = 4 << 20

// Meta says what is to be run.
type Meta struct {
	ID         string        `json:"id"`
	Title      string        `json:"title"`
	CWD        string        `json:"cwd"`
	Command    []string      `json:"command"`
	Shell      bool          `json:"shell,omitempty"`
	TTY        bool          `json:"tty,omitempty"`
	Cols       int           `json:"cols,omitempty"`
	Rows       int           `json:"rows,omitempty"`
	Timeout    time.Duration `json:"timeout,omitempty"` // ns
	Grace      time.Duration `json:"grace"`             // ns
	LogLimit   int64         `json:"logLimit"`          // negative: none
	After      string        `json:"after,omitempty"`
	Group      string        `json:"group,omitempty"`
	GroupLimit int           `json:"groupLimit,omitempty"`
	CreatedAt  time.Time     `json:"createdAt"`
}

// Start says in which life of the tmux server the runner was started.
type Start struct {
	Server rtapi.Incarnation `json:"server"`
	At     time.Time         `json:"at"`
}

// Run names the processes. PID, which is the process group too, is 0 until the program has started.
type Run struct {
	Runner    rtapi.Incarnation `json:"runner"`
	PID       int               `json:"pid,omitempty"`
	Start     int64             `json:"start,omitempty"` // kernel start time of PID
	StartedAt time.Time         `json:"startedAt"`
}

// Cancel says who wants the task to end.
type Cancel struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// Seen says when somebody looked at the ended task first.
type Seen struct {
	At time.Time `json:"at"`
}

// Exit says how the task ended.
type Exit struct {
	Code        *int      `json:"code"`   // 128+n after death by signal n; null when the program never started
	Signal      *int      `json:"signal"` // null after an exit
	EndedAt     time.Time `json:"endedAt"`
	Reason      string    `json:"reason,omitempty"`
	CancelledBy string    `json:"cancelledBy,omitempty"`
	Failed      bool      `json:"failed,omitempty"` // FAILED whatever the code: timeout, log incomplete, never started
	Strays      int       `json:"strays,omitempty"`
	// Unasked is true after a death as a shutdown of the host causes it, by HUP, TERM or KILL, that nobody asked for.
	Unasked bool `json:"unasked,omitempty"`
}

// Cut says which bytes the limit cut out of the log.
type Cut struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Read reads a file of dir into a T. A file that is not there gives fs.ErrNotExist.
func Read[T any](dir, name string) (T, error) {
	var v T
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return v, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return v, fmt.Errorf("read %s: %w", name, err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("read %s: %w", name, err)
	}
	return v, nil
}

func temporary(dir, name string) string { return filepath.Join(dir, "."+name+".tmp") }

// Write puts v into a file of dir, whole or not at all, and returns when it is on the disk.
func Write(dir, name string, v any) error {
	if err := replace(dir, name, v, true); err != nil {
		return err
	}
	return SyncDir(dir)
}

// WriteQuick is Write without waiting for the disk: a crash of the machine may undo it.
func WriteQuick(dir, name string, v any) error { return replace(dir, name, v, false) }

func replace(dir, name string, v any, sync bool) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	tmp := temporary(dir, name)
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.WriteAt(b, 0)
	// What Reserve wrote is cut off after the rest is there: its place on the disk is not given up before.
	if err == nil {
		err = f.Truncate(int64(len(b)))
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Create is Write for a file that may be made only once: fs.ErrExist when it is there.
func Create(dir, name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	tmp := temporary(dir, name)
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer os.Remove(tmp) //nolint:errcheck // it is a second name of the file, or of nothing
	if err := os.Link(tmp, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return SyncDir(dir)
}

// Reserve takes the place on the disk that a later Write of name needs, so that an end can be told on a full disk too.
func Reserve(dir, name string) error {
	f, err := os.OpenFile(temporary(dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("reserve %s: %w", name, err)
	}
	_, err = f.Write(make([]byte, 4096))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("reserve %s: %w", name, err)
	}
	return nil
}

// SyncDir makes the names in dir last.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// ErrLocked means that a runner lives.
var ErrLocked = errors.New("the task's runner holds its lock")

// Lock takes dir's lock, which the kernel gives back with the process or with the file's close.
func Lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the task: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { //nolint:gosec // descriptors are small
		_ = f.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock the task: %w", err)
	}
	return f, nil
}

// Locked reports whether a runner lives. Its own try is shared and short; a runner that begins at that moment tries again.
func Locked(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, LockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the task's lock: %w", err)
	}
	defer f.Close()                                                     //nolint:errcheck // nothing was written
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); { //nolint:gosec // descriptors are small
	case err == nil:
		return false, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return true, nil
	default:
		return false, fmt.Errorf("look at the task's lock: %w", err)
	}
}
