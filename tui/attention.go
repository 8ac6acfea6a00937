package tui

import (
	"cmp"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/terminal"
)

// attention is what the dashboard knows of who wants its user.
type attention struct {
	unseen map[sessions.ID]bool // has finished something, and was not looked at since
	notify terminal.Notice      // how the terminal calls the user; its Text is filled in
}

// notice compares a session with what was known of it: what it finished is marked until somebody looks at it, and the
// terminal calls its user once when it begins to wait. What was there when the dashboard opened is not news.
func (a *App) notice(s sessions.Session) {
	was, known := a.sessions[s.ID]
	if !known {
		return
	}
	if finished(was, s) && !a.looksAt(s.ID) {
		a.attention.unseen[s.ID] = true
	}
	if !beginsToWait(was, s) || a.focused && a.looksAt(s.ID) {
		return
	}
	n := a.attention.notify
	n.Text = sessions.CleanTitle(s.Title) + ": " + waitsFor(s)
	a.display.Notify(n)
}

func (a *App) looksAt(id sessions.ID) bool { return a.shown != nil && a.shown.ID() == id }

// beginsToWait reports whether s waits for its user, and did not for the same thing before. An agent that has just started
// waits for its first prompt, which is no news to whoever started it.
func beginsToWait(was, s sessions.Session) bool {
	if s.State != sessions.WaitingForInput {
		return false
	}
	if was.State == sessions.Starting && s.Agent != nil && s.Agent.For == "prompt" {
		return false
	}
	if was.State != sessions.WaitingForInput {
		return true
	}
	// It waited before. Between two waits it worked, but the watch may have told both at once.
	return was.Agent != nil && s.Agent != nil && !was.Agent.Since.IsZero() && s.Agent.Since.After(was.Agent.Since) &&
		was.Agent.For != s.Agent.For
}

// finished reports whether s has ended a turn, or has ended by itself.
func finished(was, s sessions.Session) bool {
	if s.State == sessions.Stopped || s.State == sessions.Failed {
		return was.State.Live() && was.State != sessions.Stopping
	}
	if s.State != sessions.WaitingForInput || s.Agent == nil || !beginsToWait(was, s) {
		return false
	}
	return s.Agent.For == "turn ended" || s.Agent.For == "error"
}

// waitsFor says what a session waits for, in one line: what it asks or said last, with the kind of it.
func waitsFor(s sessions.Session) string {
	reason := sessions.CleanLine(s.StateReason, 60)
	if s.Agent == nil {
		return cmp.Or(reason, "waits for you")
	}
	reason = cmp.Or(sessions.CleanLine(s.Agent.For, 60), reason, "waits for you")
	if prompt := sessions.CleanLine(s.Agent.Prompt, 300); prompt != "" {
		return reason + ": " + prompt
	}
	return reason
}

// waitsSince says since when a session waits.
func waitsSince(s sessions.Session) time.Time {
	if s.Agent != nil && !s.Agent.Since.IsZero() {
		return s.Agent.Since
	}
	return s.UpdatedAt
}

// waiting returns the sessions that wait for their user, the one that has waited longest first.
func (a *App) waiting() []sessions.Session {
	var all []sessions.Session
	for _, s := range a.sessions {
		if s.State == sessions.WaitingForInput {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(x, y sessions.Session) int {
		return cmp.Or(waitsSince(x).Compare(waitsSince(y)), cmp.Compare(x.ID, y.ID))
	})
	return all
}

// attend selects the session that has waited longest; when that is selected already, the next one.
func (a *App) attend() tea.Cmd {
	all := a.waiting()
	if len(all) == 0 {
		return a.say("nothing waits for you", false)
	}
	next := 0
	if i := slices.IndexFunc(all, func(s sessions.Session) bool { return s.ID == a.list.SelectedID() }); i >= 0 {
		next = (i + 1) % len(all)
	}
	s := all[next]
	a.reveal(s.ID)
	return tea.Batch(a.show(), a.say(sessions.CleanTitle(s.Title)+" waits, "+waitsFor(s), false))
}

// saw takes the mark from a session that is looked at now.
func (a *App) saw(id sessions.ID) {
	if a.attention.unseen[id] {
		delete(a.attention.unseen, id)
		a.dirty = true
	}
}

// forgetUnseen drops the marks of sessions that are gone.
func (a *App) forgetUnseen() {
	for id := range a.attention.unseen {
		if _, there := a.sessions[id]; !there {
			delete(a.attention.unseen, id)
		}
	}
}
