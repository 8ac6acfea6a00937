package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a process that cannot be mistaken for a later one with the same number.
type Process struct {
	PID   int
	pidfd *os.File
}

// Find returns the process that holder names, nil when it names none. It asks holder again once it has hold of the
// process: if the answer is the same the number was not reused in between.
func Find(holder func() (int, error)) (*Process, error) {
	for {
		pid, err := holder()
		if err != nil || pid == 0 {
			return nil, err
		}
		fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
		if errors.Is(err, unix.ESRCH) {
			continue // it ended between the answer and now
		}
		if err != nil {
			return nil, fmt.Errorf("open process %d: %w", pid, err)
		}
		p := &Process{PID: pid, pidfd: os.NewFile(uintptr(fd), "pidfd")}
		if again, err := holder(); err == nil && again == pid {
			return p, nil
		}
		_ = p.Close()
	}
}

// Wait returns when the process has ended, or with ctx's error.
func (p *Process) Wait(ctx context.Context) error {
	raw, err := p.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	if err := p.pidfd.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("wait for process %d: %w", p.PID, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = p.pidfd.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var pollErr error
	err = raw.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
		n, err := unix.Poll(fds, 0)
		if err != nil && !errors.Is(err, unix.EINTR) {
			pollErr = err
			return true
		}
		return n > 0 // a pidfd is readable once its process has ended (pidfd_open(2))
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("wait for process %d: %w", p.PID, err)
	case pollErr != nil:
		return fmt.Errorf("wait for process %d: %w", p.PID, pollErr)
	}
	return nil
}

// End asks the process to end, and kills it after grace.
func (p *Process) End(ctx context.Context, grace time.Duration) error {
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		if err := p.signal(signal); errors.Is(err, unix.ESRCH) {
			return nil
		} else if err != nil {
			return fmt.Errorf("signal process %d: %w", p.PID, err)
		}
		patience, cancel := context.WithTimeout(ctx, grace)
		err := p.Wait(patience)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("process %d does not end", p.PID)
}

func (p *Process) signal(s unix.Signal) error {
	raw, err := p.pidfd.SyscallConn() // File.Fd would make later waits blind to their deadline
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), s, nil, 0) })
	return errors.Join(err, sent)
}

// Close lets go of the process.
func (p *Process) Close() error { return p.pidfd.Close() }
