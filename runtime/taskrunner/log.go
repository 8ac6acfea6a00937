package taskrunner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"corral/runtime/internal/taskdir"
	"corral/runtime/rtapi"
)

const (
	// chunk is how much output is taken at once, pipeSize how much may wait for it.
	chunk, pipeSize = 64 << 10, 1 << 20
	// markEvery is the least time between two marks.
	markEvery = 20 * time.Millisecond
	// block is what a file system gives back to the disk.
	block = 4096
	// minLimit is the smallest limit of a log.
	minLimit = 64 << 10
)

// logFile is the log with its index. One goroutine writes it.
type logFile struct {
	dir    string
	file   *os.File
	index  *os.File
	limit  int64    // negative: none
	source *os.File // set before the program's end can be waited for

	size   int64
	marked time.Time
	cut    taskdir.Cut
	failed error // why nothing more is kept
}

func openLog(dir string, limit int64) (*logFile, error) {
	if limit >= 0 {
		limit = max(limit, minLimit)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	file, err := os.OpenFile(filepath.Join(dir, taskdir.LogFile), flags, 0o600)
	if err != nil {
		return nil, err
	}
	index, err := os.OpenFile(filepath.Join(dir, taskdir.IndexFile), flags, 0o600)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &logFile{dir: dir, file: file, index: index, limit: limit}, nil
}

// copy keeps what comes from the program until its end. A log that cannot be written does not hold the program up:
// the rest is read and dropped, and the error says so.
func (l *logFile) copy(from *os.File) error {
	defer from.Close() //nolint:errcheck // nothing was written
	buf := make([]byte, chunk)
	for {
		n, err := from.Read(buf)
		if n > 0 && l.failed == nil {
			l.failed = l.keep(buf[:n])
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.EIO):
			return l.failed // EIO is how a terminal says that nobody has it open any more
		default:
			return errors.Join(l.failed, fmt.Errorf("read the output: %w", err))
		}
	}
}

func (l *logFile) keep(p []byte) error {
	now := time.Now()
	at := l.size
	n, err := l.file.Write(p)
	l.size += int64(n)
	if err != nil {
		return reason(err)
	}
	if now.Sub(l.marked) >= markEvery {
		l.marked = now
		if _, err := l.index.Write(taskdir.AppendMark(nil, rtapi.LogMark{Offset: at, At: now})); err != nil {
			return reason(err)
		}
	}
	return l.trim()
}

// trim gives the middle of a log that is longer than its limit back to the disk: half of the limit is kept from the
// begin, half from the end. Offsets keep their meaning, as the file keeps its length. An eighth of the limit is
// waited for, so that this happens rarely.
func (l *logFile) trim() error {
	if l.limit < 0 {
		return nil
	}
	half := l.limit / 2
	kept := l.size - (l.cut.To - l.cut.From)
	if kept <= l.limit+max(l.limit/8, block) {
		return nil
	}
	next := taskdir.Cut{From: half / block * block, To: (l.size - half) / block * block}
	// Told before it is done: a reader must not take the hole for output.
	if err := taskdir.WriteQuick(l.dir, taskdir.CutFile, next); err != nil {
		return reason(err)
	}
	begin := max(next.From, l.cut.To)
	l.cut = next
	err := unix.Fallocate(int(l.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, begin, next.To-begin) //nolint:gosec // descriptors are small
	if err != nil {
		return fmt.Errorf("its limit is reached and this file system cannot cut out its middle: %w", err)
	}
	return nil
}

// noMoreAfter makes copy return after d at the latest.
func (l *logFile) noMoreAfter(d time.Duration) {
	_ = l.source.SetReadDeadline(time.Now().Add(d)) // a pipe or terminal; closed already is as well
}

func (l *logFile) close() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Sync(), l.file.Close(), l.index.Close())
	l.file = nil
	return err
}

func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// output is the way of the program's output to us: a pipe, or a terminal.
type output struct {
	stdin, stdout *os.File // the program's
	ours          *os.File
}

func openOutput(m taskdir.Meta) (output, error) {
	if m.TTY {
		ours, tty, err := pty.Open()
		if err != nil {
			return output{}, fmt.Errorf("open a terminal: %w", err)
		}
		size := &pty.Winsize{Cols: 80, Rows: 24}
		if m.Cols > 0 && m.Rows > 0 {
			size.Cols, size.Rows = uint16(min(m.Cols, 1000)), uint16(min(m.Rows, 1000)) //nolint:gosec // bounded
		}
		if err := pty.Setsize(tty, size); err != nil {
			return output{}, errors.Join(fmt.Errorf("size the terminal: %w", err), ours.Close(), tty.Close())
		}
		return output{stdin: tty, stdout: tty, ours: ours}, nil
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return output{}, err
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return output{}, errors.Join(err, null.Close())
	}
	// More room makes a busy program wait less; without it everything works too.
	if conn, err := ours.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
	return output{stdin: null, stdout: theirs, ours: ours}, nil
}

// files are the program's standard streams. Fd makes them block, as programs expect.
func (o output) files() []uintptr { return []uintptr{o.stdin.Fd(), o.stdout.Fd(), o.stdout.Fd()} }

func (o output) closeProgramSide() {
	_ = o.stdin.Close() // nothing was written
	if o.stdout != o.stdin {
		_ = o.stdout.Close()
	}
}

func (o output) closeOurSide() { _ = o.ours.Close() }
