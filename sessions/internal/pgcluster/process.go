package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// process is a handle on a process that can never come to mean another one, however pids are reused (pidfd_open(2)).
// It runs one goroutine until close.
type process struct {
	pid   int
	ended chan struct{} // closed when the process has ended, and stays open when the handle is closed before
	fd    *os.File
	gone  chan struct{} // closed when the goroutine has returned
}

// openProcess returns a handle on pid. os.ErrProcessDone means that there is no such process.
func openProcess(pid int) (*process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil, os.ErrProcessDone
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // what makes os.NewFile wait through the runtime's poller
		_ = unix.Close(fd)
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	p := &process{
		pid:   pid,
		ended: make(chan struct{}),
		fd:    os.NewFile(uintptr(fd), "pidfd"),
		gone:  make(chan struct{}),
	}
	go p.wait()
	return p, nil
}

// wait closes ended when the process ends: a pidfd becomes readable then. If it is our child it is reaped; that of
// another parent, the ordinary case after a restart of ours, answers ECHILD.
func (p *process) wait() {
	defer close(p.gone)
	raw, err := p.fd.SyscallConn()
	if err != nil {
		return // closed already
	}
	over := false
	err = raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		over = err == nil && n == 1
		return over
	})
	if err != nil || !over {
		return // closed meanwhile
	}
	_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
	close(p.ended)
}

func (p *process) signal(sig unix.Signal) error {
	raw, err := p.fd.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), sig, nil, 0) }); err != nil {
		return err
	}
	if errors.Is(sent, unix.ESRCH) {
		return nil // it has ended, which is what signals here are for
	}
	return sent
}

// end asks the process to end with one signal after the other, each given the time grace, until it has.
func (p *process) end(grace time.Duration, signals ...unix.Signal) error {
	for _, sig := range signals {
		if err := p.signal(sig); err != nil {
			return fmt.Errorf("signal process %d: %w", p.pid, err)
		}
		timer := time.NewTimer(grace)
		select {
		case <-p.ended:
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
	return fmt.Errorf("process %d does not end", p.pid)
}

// close gives the handle back; the process is left alone.
func (p *process) close() {
	_ = p.fd.Close() // ends the goroutine's wait
	<-p.gone
}
