package terminal

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

var errClosed = errors.New("the terminal is closed")

// Suspend gives the terminal back as it was found, until Resume. Frames presented meanwhile wait; of what is typed
// nothing is read.
func (t *Terminal) Suspend() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosed
	}
	if !t.held.Load() {
		return nil
	}
	return t.give()
}

// Resume takes the terminal again after Suspend and repaints it.
func (t *Terminal) Resume() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return errClosed
	case t.abandoned:
		return fmt.Errorf("take the terminal again: %w", os.ErrDeadlineExceeded)
	case t.held.Load():
		return nil
	}
	if err := t.take(enter(t.caps, t.use, t.mouse)); err != nil {
		return err
	}
	t.events.send(Resumed{})
	return nil
}

// Lend gives the terminal to f, as it was found, and takes it again when f returns.
func (t *Terminal) Lend(f func() error) error {
	if err := t.Suspend(); err != nil {
		return err
	}
	return errors.Join(f(), t.Resume())
}

// notStopped is how long StopProcess waits to be stopped. Whoever has no shell with job control above it is not stopped
// at all: the kernel drops the signal for an orphaned process group.
const notStopped = 500 * time.Millisecond

// StopProcess suspends, stops the process group as ctrl+z does in a shell, and resumes when it is continued.
func (t *Terminal) StopProcess() error {
	if err := t.Suspend(); err != nil {
		return err
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	// Not SIGSTOP: that would stop us for ever where nobody can continue us. It goes to the group, so that a `make run`
	// above stops too.
	err := unix.Kill(0, unix.SIGTSTP)
	if err == nil {
		select {
		case <-continued:
		case <-time.After(notStopped):
		}
	}
	if err != nil {
		err = fmt.Errorf("stop the process group: %w", err)
	}
	return errors.Join(err, t.Resume())
}

// watchSignals handles what the kernel says about the terminal until Close. SIGTERM, SIGHUP and SIGINT are the caller's,
// who ends its context and then closes the terminal. SIGTSTP is left alone: the key sends none in raw mode, and once Go
// has caught it there is no way back to its default action, which StopProcess needs.
func (t *Terminal) watchSignals() {
	defer close(t.signalsDone)
	for sig := range t.signals {
		switch sig {
		case unix.SIGWINCH:
			t.resized()
		case unix.SIGCONT: // perhaps after a stop that was not prepared for
			t.continued()
		}
	}
}

// continued takes the terminal again after somebody may have changed it.
func (t *Terminal) continued() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.held.Load() {
		return
	}
	if err := t.tty.raw(); err != nil {
		t.log.Warn("the terminal did not come back", "err", err)
		return
	}
	if !t.bare {
		t.painter.send(enter(t.caps, t.use, t.mouse))
		t.painter.invalidate()
	}
	t.resized()
	t.events.send(Resumed{})
}
