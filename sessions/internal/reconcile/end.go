package reconcile

import (
	"fmt"
	"syscall"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// End is what a terminal's death means for its session when nobody asked for it.
type End struct {
	State    sessions.State // STOPPED or FAILED
	ExitCode *int           // 128+n after death by signal n, as shells count
	Signal   *int
	Reason   string
}

// EndOf reads the end of a dead terminal. A death that tmux could not explain counts as a failure without a code.
func EndOf(t rtapi.Terminal) End {
	switch {
	case t.Signal != nil:
		sig, code := *t.Signal, 128+*t.Signal
		return End{sessions.Failed, &code, &sig, fmt.Sprintf("killed by signal %d", sig)}
	case t.ExitCode != nil && *t.ExitCode == 0:
		code := 0
		return End{sessions.Stopped, &code, nil, "exited 0"}
	case t.ExitCode != nil:
		code := *t.ExitCode
		return End{sessions.Failed, &code, nil, fmt.Sprintf("exited %d", code)}
	}
	return End{State: sessions.Failed, Reason: "ended without an exit code"}
}

// byHostSignal reports an end by one of the signals that a host sends to every process when it goes down, or that the
// loss of a terminal brings: HUP, KILL, TERM. Shells and agents catch them and exit 128+n instead.
func byHostSignal(exitCode, signal *int) bool {
	n := 0
	switch {
	case signal != nil:
		n = *signal
	case exitCode != nil:
		n = *exitCode - 128
	}
	return n == int(syscall.SIGHUP) || n == int(syscall.SIGKILL) || n == int(syscall.SIGTERM)
}
