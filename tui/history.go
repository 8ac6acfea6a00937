package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/scrollback"
)

// history is what the dashboard knows of looking back. The view is the shown pane's.
type history struct {
	reading bool // the view has the keyboard
	sizing  bool // a sizedMsg is on its way
}

// Answers about the past of a session; each names the view that it is for.
type (
	foundMsg struct {
		view  *scrollback.View
		found scrollback.Found
	}
	// measureMsg is the clock that gathers output before anybody is asked how much it was.
	measureMsg struct{ view *scrollback.View }
	sizedMsg   struct {
		view *scrollback.View
		rows int // of history; 0 when not known
	}
)

// view returns what looks back, nil while the live screen is shown.
func (a *App) view() *scrollback.View {
	if a.shown == nil {
		return nil
	}
	return a.shown.View()
}

// lookBack shows what the session has printed, and asks for it the first time.
func (a *App) lookBack() *scrollback.View {
	if v := a.view(); v != nil {
		return v
	}
	v := a.shown.LookBack(a.keys, a.layout.pane.W, a.layout.pane.H)
	v.Ask(a.replay)
	a.dirty = true
	return v
}

// readBack gives the keyboard to the history of the shown session.
func (a *App) readBack() *scrollback.View {
	if a.shown == nil {
		return nil
	}
	a.leave()
	v := a.lookBack()
	a.history.reading = true
	a.list.SetFocus(false)
	a.dirty = true
	return v
}

// stopReadingBack gives the keyboard back to the dashboard; the view stays as it is.
func (a *App) stopReadingBack() {
	if a.history.reading {
		a.history.reading = false
		a.list.SetFocus(true)
		a.dirty = true
	}
}

// showLive ends the looking back.
func (a *App) showLive() {
	a.stopReadingBack()
	if a.view() != nil {
		a.shown.ShowLive()
		a.dirty = true
	}
}

// historyKey takes a key while the history has the keyboard: some are the dashboard's even so.
func (a *App) historyKey(k tea.KeyMsg) tea.Cmd {
	a.dirty = true
	v := a.view()
	if v == nil { // its session is gone
		a.stopReadingBack()
		return nil
	}
	if !v.Asking() {
		action := a.keys.Lookup(keys.History, k.String())
		if action == keys.None {
			action = a.keys.Lookup(keys.Dashboard, k.String())
		}
		switch action {
		case keys.Zoom:
			a.toggleZoom()
			return nil
		case keys.Help, keys.Redraw, keys.Suspend:
			return a.command(action)
		default:
		}
	}
	switch v.HandleKey(k) {
	case scrollback.Leaves:
		a.showLive()
		return nil
	case scrollback.Enters:
		a.showLive()
		return a.command(keys.Enter)
	case scrollback.Stays:
	}
	return a.errands()
}

// errands does what the view wants done.
func (a *App) errands() tea.Cmd {
	v := a.view()
	if v == nil {
		return nil
	}
	a.dirty = true
	e := v.Errand()
	var cmds []tea.Cmd
	if e.Lines > 0 && !a.shown.Replay(e.Lines) {
		v.Unavailable("not connected; this is the last screen")
	}
	if e.Copy != "" {
		cmds = append(cmds, a.copy([]byte(e.Copy)))
	}
	if e.Search != nil {
		cmds = append(cmds, a.work.do(0, func(context.Context) tea.Msg {
			return foundMsg{view: v, found: e.Search.Run()}
		}))
	}
	return tea.Batch(cmds...)
}

func (a *App) found(m foundMsg) {
	m.view.Found(m.found)
	a.dirty = a.dirty || m.view == a.view()
}

// catchUp brings the view up to date, and has somebody say how much was printed.
func (a *App) catchUp() tea.Cmd {
	v := a.view()
	if v == nil {
		return nil
	}
	a.dirty = true
	printed := a.shown.CatchUp()
	if a.view() == nil { // something was typed
		a.stopReadingBack()
		return nil
	}
	cmd := a.errands()
	if !printed || a.history.sizing {
		return cmd
	}
	a.history.sizing = true
	return tea.Batch(cmd, a.work.after(measureEvery, measureMsg{view: v}))
}

// measureEvery is how long output is gathered before the runtime is asked how much longer the history is: the dashboard
// sees a screen, on which lines may fly by unseen.
const measureEvery = 300 * time.Millisecond

func (a *App) measure(m measureMsg) tea.Cmd {
	if a.view() != m.view {
		a.history.sizing = false
		return nil
	}
	id := a.shown.ID()
	return a.work.do(requestDeadline, func(ctx context.Context) tea.Msg {
		h, err := a.backend.History(ctx, id, 1, 0)
		if err != nil {
			h = sessions.History{}
		}
		return sizedMsg{view: m.view, rows: h.Total}
	})
}

func (a *App) sized(m sizedMsg) {
	a.history.sizing = false
	if a.view() == m.view && !m.view.Waiting() && m.rows > m.view.Rows() {
		m.view.Printed(m.rows - m.view.Rows())
		a.dirty = true
	}
}
