package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
)

// zoom gives the whole terminal to what is shown: to a live session itself, without an emulator in between, else to the
// pane. Whoever reads a log or a history zooms the pane.
func (a *App) zoom() tea.Cmd {
	reading := a.tasks.reading || a.history.reading
	if p := a.shown; p == nil || reading || a.zoomed || a.raw == nil || !a.sessions[p.ID()].State.Live() ||
		p.Status().Link.State != sessions.LinkLive {
		a.toggleZoom()
		return nil
	}
	p := a.shown
	a.showLive()
	return a.work.do(0, func(ctx context.Context) tea.Msg {
		p.Close() // one viewer is enough: the counts that others see, and the size, are those of the terminal
		return unzoomedMsg{pane: p, err: a.display.Lend(func() error { return a.raw(ctx, p.ID()) })}
	})
}

func (a *App) toggleZoom() {
	a.zoomed = !a.zoomed
	a.arrange()
	a.resizePanes()
}

// unzoomed takes the terminal back.
func (a *App) unzoomed(m unzoomedMsg) tea.Cmd {
	a.dirty = true
	a.display.Invalidate()
	var cmds []tea.Cmd
	if a.panes.get(m.pane.ID()) == m.pane {
		m.pane.SetVisible(m.pane == a.shown)
		cmds = append(cmds, a.closeStream(m.pane.Open()))
	}
	if m.err != nil {
		cmds = append(cmds, a.complain("zoom", m.err))
	}
	return tea.Batch(cmds...)
}
