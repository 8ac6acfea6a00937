package sock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"corral/sessions"
)

// Lock is held by one process at a time. The kernel releases it when the process ends, however it ends.
type Lock struct{ file *os.File }

// HeldError says that another process holds the lock.
type HeldError struct {
	Path string
	PID  int // 0 when it has not written it yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return e.Path + " is held by another process"
	}
	return fmt.Sprintf("%s is held by process %d", e.Path, e.PID)
}

// Acquire takes the lock at path or returns a *HeldError at once. The lock belongs to the open file (F_OFD_SETLK,
// fcntl(2)), which no child inherits. Unlike flock it can be asked about without being taken, which is what Holder does:
// a look from `corral status` must not make a starting server believe that another one runs.
func Acquire(path string) (*Lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the lock: %w", err)
		}
		lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
		err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return nil, errors.Join(&HeldError{Path: path, PID: readPID(f)}, f.Close())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		// Between the open and the lock the file may have been deleted: then others lock another one.
		if !same(f, path) {
			_ = f.Close()
			continue
		}
		if err := writePID(f); err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), f.Close())
			if errors.Is(err, syscall.ENOSPC) {
				err = &sessions.Error{
					Code: sessions.CodeInternal, Message: "cannot write " + path + ": no space left on device",
					Hint: "free some space and try again", Cause: err,
				}
			}
			return nil, err
		}
		return &Lock{file: f}, nil
	}
}

// Release gives the lock back. The file stays: removing it would let two processes lock two files of one name.
func (l *Lock) Release() error {
	// Closing alone would not do: a child that was just forked shares the open file until it becomes its program.
	unlock := unix.Flock_t{Type: unix.F_UNLCK, Whence: io.SeekStart}
	return errors.Join(l.file.Truncate(0), unix.FcntlFlock(l.file.Fd(), unix.F_OFD_SETLK, &unlock), l.file.Close())
}

// Holder returns the process that holds the lock at path, 0 when nobody does. It does not disturb the lock.
func Holder(path string) (pid int, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open the lock: %w", err)
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		return 0, fmt.Errorf("ask who holds %s: %w", path, err)
	}
	if lock.Type == unix.F_UNLCK {
		return 0, nil
	}
	if pid = readPID(f); pid == 0 {
		return 0, &HeldError{Path: path}
	}
	return pid, nil
}

func same(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readPID(f *os.File) int {
	b := make([]byte, 16)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	text, whole := strings.CutSuffix(string(b[:n]), "\n")
	pid, err := strconv.Atoi(text)
	if err != nil || !whole || pid < 1 {
		return 0
	}
	return pid
}
