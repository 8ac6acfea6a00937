package tui

import (
	"fmt"
	"strings"

	"corral/sessions"
)

// Farewell is the one line that the command prints when the dashboard has closed: what keeps running, and how to come
// back to it.
func Farewell(out Outcome) string {
	running, waiting, lost := 0, 0, 0
	for _, s := range out.Sessions {
		switch {
		case s.State.Live():
			running++
			if s.State == sessions.WaitingForInput {
				waiting++
			}
		case s.State == sessions.Recoverable:
			lost++
		}
	}
	var b strings.Builder
	switch running {
	case 0:
		b.WriteString("no session is running")
	case 1:
		b.WriteString("1 session keeps running")
	default:
		fmt.Fprintf(&b, "%d sessions keep running", running)
	}
	var asides []string
	if waiting > 0 {
		asides = append(asides, fmt.Sprintf("%d waiting for you", waiting))
	}
	if lost > 0 {
		asides = append(asides, fmt.Sprintf("%d recoverable", lost))
	}
	if out.Removed > 0 {
		asides = append(asides, fmt.Sprintf("%d removed", out.Removed))
	}
	if out.NotRemoved > 0 {
		asides = append(asides, fmt.Sprintf("%d could not be removed", out.NotRemoved))
	}
	if len(asides) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(asides, ", "))
	}
	b.WriteString("; come back with: corral")
	return b.String()
}
