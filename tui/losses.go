package tui

import (
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
)

// losses are the sessions that were lost together, as when their tmux server dies: one notice tells of all of them.
type losses struct {
	count int
	last  time.Time
}

// apart is the silence after which a loss is another one.
const apart = 3 * time.Second

// loses reports whether s, as just told, was alive when we heard of it last and is lost now.
func (a *App) loses(s sessions.Session) bool {
	was, known := a.sessions[s.ID]
	return known && was.State.Live() && s.State == sessions.Recoverable
}

// tellLosses brings the one notice up to date.
func (a *App) tellLosses(lost []sessions.Session) tea.Cmd {
	if len(lost) == 0 {
		return nil
	}
	if a.now().Sub(a.losses.last) > apart {
		a.losses.count = 0
	}
	a.losses.count += len(lost)
	a.losses.last = a.now()
	text := fmt.Sprintf("%d sessions were lost: %s. R restarts one", a.losses.count, lost[0].StateReason)
	if a.losses.count == 1 {
		text = fmt.Sprintf("%s was lost: %s. R restarts it", sessions.CleanTitle(lost[0].Title), lost[0].StateReason)
	}
	return a.say(sessions.CleanLine(text, maxNotice), true)
}

// maxNotice is more than any terminal is wide.
const maxNotice = 300
