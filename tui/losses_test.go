package tui_test

import (
	"fmt"
	"testing"
	"time"

	"corral/sessions"
)

// A hundred sessions that are lost together are one notice, which names the number; a later loss is another.
func TestOneNoticeForAllLosses(t *testing.T) {
	t.Parallel()
	var all []sessions.Session
	for i := range 100 {
		all = append(all, session(i, fmt.Sprint("s", i), sessions.Detached))
	}
	d := with(t, 200, 50, all...)
	gone := func(s sessions.Session) sessions.Session {
		s = later(s, sessions.Recoverable)
		s.StateReason = "its tmux server went down"
		return s
	}
	for _, s := range all[1:] {
		s := gone(s)
		d.backend.Tell(sessions.Change{Type: sessions.ChangeSession, Session: &s})
	}
	d.shows("99 sessions were lost: its tmux server went down. R restarts one")
	d.now = d.now.Add(time.Minute)
	d.change(gone(all[0]))
	d.shows("s0 was lost: its tmux server went down. R restarts it")
}
