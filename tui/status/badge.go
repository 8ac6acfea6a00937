package status

import (
	"fmt"

	"corral/sessions"
	"corral/tui/style"
)

// Badge is how a session's state is shown: a static mark and a word, so that colour adds and never carries the meaning,
// and nothing spins.
type Badge struct {
	Mark string // one cell wide
	Word string
	Tone style.Tone
}

// BadgeOf returns the badge of s.
func BadgeOf(s sessions.Session) Badge {
	switch s.State {
	case sessions.Starting:
		return Badge{"…", "STARTING", style.Busy}
	case sessions.Running:
		return Badge{"●", "RUNNING", style.Good}
	case sessions.Detached:
		return Badge{"○", "DETACHED", style.Quiet}
	case sessions.WaitingForInput:
		return Badge{"!", "WAITING", style.Waiting}
	case sessions.Stopping:
		return Badge{"…", "STOPPING", style.Busy}
	case sessions.Stopped:
		return Badge{"■", "STOPPED", style.Over}
	case sessions.Failed:
		b := Badge{"✗", "FAILED", style.Bad}
		if s.ExitCode != nil {
			b.Word = fmt.Sprintf("FAILED %d", *s.ExitCode)
		}
		return b
	case sessions.Recoverable:
		return Badge{"↺", "RECOVERABLE", style.Lost}
	}
	return Badge{"?", sessions.CleanLine(string(s.State), 20), style.Muted} // a server newer than this dashboard
}
