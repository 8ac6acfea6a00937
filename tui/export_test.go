package tui

import (
	"context"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/style"
	"corral/tui/terminal"
)

// Rig is an App without Bubble Tea and without a terminal.
type Rig struct {
	App  *App
	pump *pump
}

// NewRig returns an App that paints on d.
func NewRig(cfg Config, d display, cols, rows int, now func() time.Time) *Rig {
	p := newPump()
	app := newApp(cfg, d, newWork(context.Background()), p, style.Full, cols, rows)
	app.now = now
	return &Rig{App: app, pump: p}
}

// Start runs what Run runs beside the program. The channel is closed when, after the end of ctx, everything has ended.
func (r *Rig) Start(ctx context.Context, send func(tea.Msg)) <-chan struct{} {
	ended := make(chan struct{})
	var background sync.WaitGroup
	background.Go(func() { r.pump.run(ctx, send) })
	background.Go(func() { r.pump.watch(ctx, r.App.backend, send) })
	go func() {
		defer close(ended)
		<-ctx.Done()
		r.App.work.stop()
		background.Wait()
		r.App.close()
	}()
	return ended
}

// Listed reports whether the first snapshot was taken.
func (a *App) Listed() bool { return a.listed }

// Sessions returns the sessions in the order of the list.
func (a *App) Sessions() []sessions.Session { return a.list.Sessions() }

// TerminalMsg returns the message that brings e.
func TerminalMsg(e terminal.Event) tea.Msg { return terminalMsg{event: e} }

// WatchedMsg returns the message that brings changes of the list.
func WatchedMsg(c ...sessions.Change) tea.Msg { return watchedMsg{changes: c} }

// PaneChangedMsg returns the message that a pane looks different.
func PaneChangedMsg(id sessions.ID) tea.Msg { return paneChangedMsg{id: id} }

// RemovalDueMsg returns the message that the time to take a removal back may be over.
func RemovalDueMsg(id sessions.ID) tea.Msg { return removalDueMsg{id: id} }

// FinishRemovals does what Run does at its end.
func (a *App) FinishRemovals(ctx context.Context) (done, failed int) { return a.finishRemovals(ctx) }
