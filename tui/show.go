package tui

import (
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/termpane"
	"corral/vt"
)

// coldEvery is the least time between two panes that are connected because the selection passed over them. The runtime
// spends 15 to 20 ms of a core on each; a key held down must not make it attach to every session on the way.
const coldEvery = 80 * time.Millisecond

// show makes the pane follow the selection.
func (a *App) show() tea.Cmd {
	if t, ok := a.list.SelectedTask(); ok {
		return a.showTask(t)
	}
	s, ok := a.list.Selected()
	if !ok {
		return a.hide()
	}
	a.saw(s.ID)
	if a.shown != nil && a.shown.ID() == s.ID {
		return a.openSoon(a.shown)
	}
	closing := a.hide()
	pane := a.panes.get(s.ID)
	if pane == nil {
		pane = a.newPane(s.ID)
	}
	evicted := a.panes.use(pane)
	pane.SetVisible(true)
	a.shown = pane
	a.dirty = true
	a.resizePanes()
	return tea.Batch(closing, a.closePanes(evicted), a.openSoon(pane), a.countdown())
}

// hide takes away whatever the pane shows.
func (a *App) hide() tea.Cmd {
	a.leave()
	if a.shown != nil {
		a.showLive()
		a.drag = drag{}
		a.shown.SetVisible(false)
		a.shown = nil
		a.dirty = true
	}
	return a.hideLog()
}

func (a *App) newPane(id sessions.ID) *termpane.Pane {
	return termpane.New(termpane.Config{
		ID: id,
		Attach: func(id sessions.ID, o sessions.StreamOptions, h sessions.StreamHandler) termpane.Stream {
			o.Foreground, o.Background = a.foreground, a.background // Open is called from the loop
			return a.backend.Attach(id, o, h)
		},
		Options: sessions.StreamOptions{Mode: sessions.ModePreview, Client: a.client},
		Changed: a.pump.paneChanged,
		Fault: func(id sessions.ID, fault any, stack []byte) {
			a.log.Error("pane drawn anew after a fault", "session", id, "fault", fmt.Sprint(fault), "stack", string(stack))
		},
		Told: a.pump.told,
	}, max(a.layout.pane.W, 1), max(a.layout.pane.H, 1))
}

// openSoon connects a pane that was never connected: at once, or when the selection has come to rest.
func (a *App) openSoon(p *termpane.Pane) tea.Cmd {
	if p.Status().Open || a.sessions[p.ID()].State == sessions.Starting {
		return nil
	}
	if wait := coldEvery - a.now().Sub(a.openedAt); wait > 0 {
		return a.work.after(wait, openPaneMsg{id: p.ID()})
	}
	return a.open(p)
}

// open connects a pane, unless it is connected or its session is not there yet.
func (a *App) open(p *termpane.Pane) tea.Cmd {
	st := p.Status()
	if st.Open && st.Link.State != sessions.LinkEnded || a.sessions[p.ID()].State == sessions.Starting {
		return nil
	}
	a.openedAt = a.now()
	a.dirty = true
	return a.closeStream(p.Open())
}

// paneChanged takes note that a pane looks different.
func (a *App) paneChanged(id sessions.ID) tea.Cmd {
	if v := a.tasks.viewer; v != nil && v.ID() == id {
		a.paneDirty = true
		return nil
	}
	if a.shown == nil || a.shown.ID() != id {
		return nil
	}
	a.paneDirty = true
	cmd := a.catchUp()
	a.dirty = a.dirty || a.headerMark() != a.mark || !a.shown.Status().At.Equal(a.past)
	if a.focused {
		if st := a.shown.Status(); st.Ended || st.Link.State == sessions.LinkEnded {
			a.leave()
		} else {
			a.follow(a.shown.Frame().Modes)
		}
	}
	return tea.Batch(cmd, a.countdown())
}

// enter gives the keyboard to the shown pane, whose program gets the given bytes before all that is typed.
func (a *App) enter(first []byte) tea.Cmd {
	p := a.shown
	if p == nil || a.focused {
		return nil
	}
	cmd := a.open(p)
	a.showLive()
	a.resizePanes() // before the keyboard: whoever takes it may own the size
	p.Focus()
	if len(first) > 0 {
		p.Input(first) // before Divert, which passes on what was typed behind the key that led here
	}
	a.focused = true
	a.list.SetFocus(false)
	a.follow(p.Frame().Modes) // before Divert too: they say whether the program gets the mouse and the focus
	a.display.Divert(p, a.layout.pane)
	a.dirty = true
	return cmd
}

// leave gives the keyboard back to the dashboard.
func (a *App) leave() {
	if !a.focused {
		return
	}
	a.focused = false
	a.display.Undivert()
	a.follow(vt.Modes{})
	a.shown.Blur()
	a.list.SetFocus(true)
	a.dirty = true
}

// follow makes the user's terminal report what the program in the pane asked for.
func (a *App) follow(m vt.Modes) {
	if m != a.modes {
		a.modes = m
		a.display.SetModes(m)
	}
}

// countdown keeps a tick coming while the seconds to a reconnect are on the screen.
func (a *App) countdown() tea.Cmd {
	waiting := a.watch.State == sessions.LinkReconnecting
	if a.shown != nil && a.shown.Status().Link.State == sessions.LinkReconnecting {
		waiting = true
	}
	if !waiting || a.counting {
		return nil
	}
	a.counting = true
	return a.work.after(time.Second, countdownMsg{})
}
