package tui

import (
	"maps"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/dialog"
)

// watched takes what the watch told.
func (a *App) watched(m watchedMsg) tea.Cmd {
	if m.link != nil {
		a.watch = *m.link
	}
	var revived []sessions.ID
	var lost []sessions.Session
	for _, c := range m.changes {
		a.taskChanged(c)
		switch c.Type {
		case sessions.ChangeSnapshot:
			a.listed = true
			fresh := make(map[sessions.ID]sessions.Session, len(c.Sessions))
			for _, s := range c.Sessions {
				fresh[s.ID] = s
				a.notice(s)
				if a.loses(s) {
					lost = append(lost, s)
				}
				if a.revives(s) {
					revived = append(revived, s.ID)
				}
			}
			if c.Partial { // of a server that has just started: what it does not know yet is as it was
				for id, s := range a.sessions {
					if _, told := fresh[id]; !told {
						fresh[id] = s
					}
				}
			}
			a.sessions, a.nodes, a.database = fresh, c.Nodes, c.Database
		case sessions.ChangeSession:
			if c.Session == nil {
				continue
			}
			if a.loses(*c.Session) {
				lost = append(lost, *c.Session)
			}
			if a.revives(*c.Session) {
				revived = append(revived, c.Session.ID)
			}
			a.notice(*c.Session)
			a.sessions[c.Session.ID] = *c.Session
		case sessions.ChangeRemoved:
			delete(a.sessions, c.ID)
			a.forget(c.ID)
		case sessions.ChangeNode:
			a.nodes = c.Nodes
		case sessions.ChangeDatabase:
			a.database = c.Database
		case sessions.ChangeAlive, sessions.ChangeTask, sessions.ChangeTaskGone, sessions.ChangeTasks:
		}
	}
	cmds := []tea.Cmd{a.relist(), a.countdown(), a.lookForLost(), a.tellLosses(lost), a.tellLate()}
	for _, id := range revived {
		if p := a.panes.get(id); p != nil {
			cmds = append(cmds, a.open(p))
		}
	}
	return tea.Batch(cmds...)
}

// relist brings the list up to date with the sessions.
func (a *App) relist() tea.Cmd {
	revived := a.settleRemovals()
	a.list.SetNow(a.now())
	a.list.Set(slices.DeleteFunc(slices.Collect(maps.Values(a.sessions)), func(s sessions.Session) bool { return a.removed(s.ID) >= 0 }))
	a.forgetUnseen()
	a.list.SetUnseen(a.attention.unseen)
	a.relistTasks()
	if a.wanted != "" && a.listed {
		a.list.Select(a.wanted)
		a.wanted = ""
	}
	details := a.refreshDetails()
	gone := a.panes.drop(func(id sessions.ID) bool { _, there := a.sessions[id]; return there })
	if a.shown != nil && slices.Contains(gone, a.shown) {
		a.leave()
		a.showLive()
		a.shown = nil
	}
	a.dirty = true
	return tea.Batch(revived, details, a.closePanes(gone), a.show(), a.tick())
}

// refreshDetails brings open pages up to date; what led to a new state is asked for.
func (a *App) refreshDetails() tea.Cmd {
	var cmds []tea.Cmd
	a.overlay.Each(func(d dialog.Dialog) {
		page, ok := d.(*dialog.Details)
		if !ok {
			return
		}
		if s, there := a.sessions[page.About()]; there && page.SetSession(s) {
			cmds = append(cmds, a.events(page))
		}
	})
	return tea.Batch(cmds...)
}

// reveal selects a session or task, and shows everything when it is hidden.
func (a *App) reveal(id sessions.ID) {
	if !a.list.Select(id) {
		a.list.ShowAll()
		a.list.Select(id)
	}
}

// revives reports whether s, as just told, lives again after the end that its pane has seen. The pane's stream may have
// told of the end before the watch did, so a row that is merely older than the end must not count.
func (a *App) revives(s sessions.Session) bool {
	p := a.panes.get(s.ID)
	if p == nil || p.Status().Link.State != sessions.LinkEnded {
		return false
	}
	if !s.State.Live() || s.State == sessions.Starting || s.State == sessions.Stopping {
		return false
	}
	was, known := a.sessions[s.ID]
	return !known || was.State.Ended() || was.State == sessions.Starting || s.UpdatedAt.After(was.UpdatedAt)
}

// learn takes a session as an answer to a request told it, unless the watch has told something newer already.
func (a *App) learn(s sessions.Session) tea.Cmd {
	if known, ok := a.sessions[s.ID]; ok && known.UpdatedAt.After(s.UpdatedAt) {
		return nil
	}
	return a.watched(watchedMsg{changes: []sessions.Change{{Type: sessions.ChangeSession, Session: &s}}})
}

func (a *App) created(m createdMsg) tea.Cmd {
	open := a.overlay.Remove(m.form)
	a.dirty = true
	switch {
	case m.err != nil && open:
		m.form.Failed(explain("create the session", m.err))
		a.overlay.Open(m.form)
		return nil
	case m.err != nil:
		return a.complain("create the session", m.err)
	}
	cmd := a.learn(m.session)
	if !open { // the user has turned to something else meanwhile
		return cmd
	}
	a.reveal(m.session.ID)
	return tea.Batch(cmd, a.show())
}

func (a *App) renamed(m renamedMsg) tea.Cmd {
	open := a.overlay.Remove(m.form)
	a.dirty = true
	switch {
	case m.err != nil && open:
		m.form.Failed(explain("rename the session", m.err))
		a.overlay.Open(m.form)
		return nil
	case m.err != nil:
		return a.complain("rename the session", m.err)
	}
	return a.learn(m.session)
}

// finished takes the end of an operation.
func (a *App) finished(m doneMsg) tea.Cmd {
	if m.op == opRemove && sessions.CodeOf(m.err) == sessions.CodeNotFound {
		m.err = nil // somebody else was faster
	}
	if m.err != nil && a.chooseConversation(m) {
		return nil
	}
	if m.err != nil {
		return tea.Batch(a.bringBack(m.id), a.complain(m.op, m.err))
	}
	title := sessions.CleanTitle(a.sessions[m.id].Title)
	var cmd tea.Cmd
	switch m.op {
	case opStop, opClose, opRestart:
		cmd = a.learn(m.session)
	case opRemove:
		return a.watched(watchedMsg{changes: []sessions.Change{{Type: sessions.ChangeRemoved, ID: m.id}}})
	case opStart:
		a.wake()
	}
	return tea.Batch(cmd, a.say(m.op.done(title), false))
}
