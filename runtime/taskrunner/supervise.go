package taskrunner

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/procfs"
	"corral/runtime/internal/taskdir"
)

// supervise returns when nothing of the task runs any more.
func (r *runner) supervise() {
	var timeout <-chan time.Time
	if r.meta.Timeout > 0 {
		t := time.NewTimer(r.meta.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	kill := time.NewTimer(time.Hour)
	kill.Stop()
	defer kill.Stop()
	end := func(grace time.Duration) {
		r.signalAll(syscall.SIGTERM)
		kill.Reset(grace)
	}
	ask := func() {
		if !r.asked {
			r.asked = true
			end(r.grace())
		}
	}
	cancelled := r.cancelled
	for !r.reap() {
		if r.main != nil && !r.asked && r.strays == 0 {
			// The program has ended and left something behind.
			r.strays = max(1, len(r.descendants()))
			end(min(strayGrace, r.grace()))
		}
		select {
		case <-r.children:
			if r.kills > 0 {
				r.signalAll(syscall.SIGKILL) // what a dying process left behind is ours now
			}
		case <-r.signals:
			switch {
			case r.main == nil && !r.cancelNow():
				r.abandoned = true
				ask()
			case r.main == nil:
				ask()
			case !r.asked && unasked(*r.main):
				r.abandoned = true
			}
		case <-cancelled:
			cancelled = nil
			if r.main == nil && !r.asked && r.cancelNow() {
				ask()
			}
		case <-timeout:
			if r.main == nil && !r.asked {
				r.timedOut = true
				ask()
			}
		case <-kill.C:
			if r.kills++; r.kills > killTries {
				return // in the kernel for good, as on a dead network file system
			}
			r.signalAll(syscall.SIGKILL)
			kill.Reset(killEvery)
		}
	}
	r.awaitShutdown()
}

func (r *runner) grace() time.Duration {
	if r.meta.Grace <= 0 {
		return 10 * time.Second
	}
	return r.meta.Grace
}

// reap takes every child that has ended and reports whether none is left.
func (r *runner) reap() (none bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD):
			return true
		case err != nil || pid == 0:
			return false
		case pid == r.pid:
			r.main, r.deathAt = &status, time.Now().UTC()
		}
	}
}

// signalAll signals the program's group and everything that descends from it, also what has left the group.
func (r *runner) signalAll(sig syscall.Signal) {
	if r.main == nil {
		_ = syscall.Kill(-r.pid, sig) // not reaped, so the number is its own
	}
	for _, pid := range r.descendants() {
		// Found as our descendant a moment ago: only a process that was reaped since, and its number given away, could
		// be another one. Those that are reaped by us are reaped by this goroutine.
		_ = syscall.Kill(pid, sig)
		if sig != syscall.SIGKILL {
			_ = syscall.Kill(pid, syscall.SIGCONT) // a stopped process would not hear of it
		}
	}
}

// descendants lists the living processes below us.
func (r *runner) descendants() []int {
	return procfs.Descendants(unix.Getpid())
}

// awaitShutdown waits, after a death as a host's shutdown causes it, for the shutdown to reach us as well.
func (r *runner) awaitShutdown() {
	if r.asked || r.abandoned || r.main == nil || !unasked(*r.main) {
		return
	}
	select {
	case <-r.signals:
		r.abandoned = true
	case <-time.After(doubt):
	}
}

// unasked reports a death by a signal that a host sends when it goes down, also when the program caught it and exited
// as shells do.
func unasked(w syscall.WaitStatus) bool {
	sig := w.Signal()
	if w.Exited() {
		sig = syscall.Signal(w.ExitStatus() - 128)
	}
	return sig == syscall.SIGHUP || sig == syscall.SIGTERM || sig == syscall.SIGKILL
}

// finish writes down how it ended, unless nobody can know.
func (r *runner) finish() (int, error) {
	logged := r.drained()
	r.cfg.After("drained")
	if r.abandoned {
		return failure, nil
	}
	e := taskdir.Exit{EndedAt: r.deathAt, Strays: r.strays}
	if r.main == nil {
		e.EndedAt = time.Now().UTC()
		e.Failed, e.Reason = true, "its program could not be killed and is still there"
	} else {
		code, sig := codes(*r.main)
		e.Code, e.Signal = &code, sig
		e.Unasked = !r.asked && unasked(*r.main)
	}
	switch {
	case r.cancel != nil:
		e.CancelledBy = r.cancel.By
	case r.timedOut:
		e.Failed, e.Reason = true, "it ran longer than "+r.meta.Timeout.String()
	}
	if logged != nil {
		e.Reason = join(e.Reason, "its log is not complete: "+logged.Error())
		e.Failed = true
	}
	usage := r.usage()
	if err := taskdir.Write(r.cfg.Dir, taskdir.UsageFile, usage); err == nil {
		r.cfg.After("usage")
	}
	if err := taskdir.Write(r.cfg.Dir, taskdir.ExitFile, e); err != nil {
		return 0, err
	}
	r.cfg.After("exit")
	if e.Code == nil {
		return failure, nil
	}
	return *e.Code, nil
}

// drained waits for the last of the output and closes the log. Its error says what the log lacks.
func (r *runner) drained() error {
	r.log.noMoreAfter(drain)
	err := <-r.copied
	return errors.Join(err, r.log.close())
}

// never writes down that the program did not run.
func (r *runner) never(reason string) (int, error) {
	e := taskdir.Exit{EndedAt: time.Now().UTC(), Reason: reason, Failed: true}
	if r.cancelNow() {
		e.CancelledBy = r.cancel.By
	}
	if err := taskdir.Write(r.cfg.Dir, taskdir.ExitFile, e); err != nil {
		return 0, err
	}
	return failure, nil
}

func codes(w syscall.WaitStatus) (code int, sig *int) {
	if w.Signaled() {
		n := int(w.Signal())
		return 128 + n, &n
	}
	return w.ExitStatus(), nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
