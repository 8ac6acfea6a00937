package tui

import (
	"errors"
	"fmt"
	"slices"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/keys"
	"corral/tui/status"
	"corral/tui/style"
	"corral/tui/termpane"
)

// compose draws everything onto the canvas. What surrounds the pane is drawn anew only when it may have changed: a program
// that prints changes the pane alone, hundreds of times a second.
func (a *App) compose() {
	if a.dirty {
		a.drawChrome(a.chrome)
	}
	c := a.canvas
	c.CopyFrom(a.chrome)
	if a.layout.tooSmall {
		return
	}
	a.drawPane(c)
	if x, y, ok := a.list.Cursor(); ok && !a.layout.zoomed {
		c.SetCursor(a.layout.list.X+x, a.layout.list.Y+y, 0)
	}
	if a.layout.zoomed {
		if bar := a.bar(); !bar.Quiet() {
			a.drawBar(c, bar)
		}
	}
	a.drawDialog(c)
}

func (a *App) drawChrome(c *canvas.Canvas) {
	c.Resize(a.cols, a.rows)
	switch {
	case a.layout.tooSmall:
		text := fmt.Sprintf("corral needs %dx%d; this is %dx%d", minCols, minRows, a.cols, a.rows)
		area := center(canvas.Rect{W: a.cols, H: a.rows}, ansi.StringWidth(text), 1)
		c.DrawLine(area.X, area.Y, area.W, text)
	case !a.layout.zoomed:
		a.drawList(c)
		a.drawHeader(c)
		a.drawBar(c, a.bar())
	}
}

func (a *App) drawBar(c *canvas.Canvas, bar status.Bar) {
	r := a.layout.status
	c.DrawLine(r.X, r.Y, r.W, bar.View(a.theme, r.W))
}

func (a *App) drawList(c *canvas.Canvas) {
	a.list.SetNow(a.now())
	for i, line := range a.list.View() {
		c.DrawLine(a.layout.list.X, a.layout.list.Y+i, a.layout.list.W, line)
	}
	edge := a.theme.Border
	if a.focused || a.tasks.reading || a.history.reading {
		edge = a.theme.Focus
	}
	bar := edge.Render("│")
	for y := range a.layout.divider.H {
		c.DrawLine(a.layout.divider.X, a.layout.divider.Y+y, 1, bar)
	}
}

func (a *App) drawPane(c *canvas.Canvas) {
	if a.tasks.viewer != nil {
		a.drawLog(c)
		return
	}
	if a.shown == nil {
		a.drawEmpty(c)
		return
	}
	a.shown.Draw(c, a.layout.pane, a.theme, a.paneOptions())
}

// paneOptions says how the shown pane looks: alive, cut off or ended.
func (a *App) paneOptions() termpane.DrawOptions {
	s := a.sessions[a.shown.ID()]
	st := a.shown.Status()
	o := termpane.DrawOptions{
		Focused: a.focused && a.overlay.Top() == nil,
		Reading: a.history.reading && a.overlay.Top() == nil,
	}
	if st.Ended && st.State.Ended() && s.State.Live() { // the stream heard of the end before the watch
		s.State, s.ExitCode, s.Signal, s.StateReason = st.State, st.ExitCode, nil, ""
	}
	switch {
	case s.State == sessions.Starting:
		o.Note = "starting..."
	case s.State.Ended():
		o.Dim, o.Note, o.Alarm = true, status.EndLine(s), true
	case st.Link.State == sessions.LinkEnded:
		o.Dim, o.Note, o.Alarm = true, endedLink(st.Link), true
	case !st.Open || st.Link.State == sessions.LinkConnecting && !st.Restored:
		o.Note = status.StreamLine(sessions.Link{State: sessions.LinkConnecting}, st.Dropped, a.now())
	case st.Link.State == sessions.LinkReconnecting:
		o.Dim, o.Alarm = true, true
		o.Note = status.StreamLine(st.Link, st.Dropped, a.now())
	case st.Dropped > 0:
		o.Alarm = true
		o.Note = status.StreamLine(st.Link, st.Dropped, a.now())
	}
	return o
}

// endedLink says why a stream ended for good although its session did not.
func endedLink(l sessions.Link) string {
	switch l.Code {
	case sessions.CloseAuthExpired:
		return "your login has expired; log in again, then press enter"
	case sessions.CloseNotFound:
		return "the server knows no such session"
	case sessions.CloseEnded:
		return "the session has ended"
	default:
	}
	if l.Err != nil {
		return "the stream ended: " + sessions.CleanLine(l.Err.Error(), 200) + "; enter tries again"
	}
	return "the stream ended; enter tries again"
}

// drawEmpty explains an empty list.
func (a *App) drawEmpty(c *canvas.Canvas) {
	lines := []string{
		a.theme.Tone(style.Strong).Render("No sessions yet."),
		"Press " + a.theme.Tone(style.Accent).Render("n") + " for a shell that outlives your connection,",
		"or " + a.theme.Tone(style.Accent).Render("?") + " for every key.",
	}
	if a.list.Narrowed() && len(a.sessions)+len(a.tasks.all) > 0 {
		lines = []string{
			a.theme.Tone(style.Strong).Render("Nothing matches."),
			a.theme.Tone(style.Accent).Render("esc") + " shows everything again.",
		}
	}
	if !a.listed {
		lines = []string{a.theme.Tone(style.Muted).Render("Looking for sessions...")}
	}
	w := 0
	for _, l := range lines {
		w = max(w, ansi.StringWidth(l))
	}
	area := center(a.layout.pane, w, len(lines))
	for i, l := range lines[:area.H] {
		c.DrawLine(area.X, area.Y+i, area.W, l)
	}
}

func (a *App) drawDialog(c *canvas.Canvas) {
	top := a.overlay.Top()
	if top == nil {
		return
	}
	area := canvas.Rect{W: a.cols, H: a.rows - 1}
	block := top.View(a.theme, area.W, area.H)
	c.HideCursor()
	c.DrawBlock(center(area, lipgloss.Width(block), lipgloss.Height(block)), block)
}

// bar is the status line as it is now.
func (a *App) bar() status.Bar {
	return status.Bar{Banner: a.banner(), Toast: a.toast, Note: a.removalNote(), Hints: a.hints()}
}

// banner says what is wrong with the way to the sessions, the worst first.
func (a *App) banner() string {
	if errors.Is(a.watch.Err, ErrDown) {
		if a.start == nil {
			return "stopped by corral down; `corral up` starts it"
		}
		return "stopped by corral down, press u"
	}
	// The first moments need no words: the list says that it is being looked for.
	if a.listed || a.watch.State != sessions.LinkConnecting {
		if b := status.WatchBanner(a.watch, a.now()); b != "" {
			return b
		}
	}
	if d := a.database; d != nil && d.State == sessions.Down {
		if why := sessions.CleanLine(d.Message, 120); why != "" {
			return why
		}
		return "the database is starting; changes have to wait"
	}
	for _, n := range a.nodes {
		if n.State == sessions.Offline {
			if why := sessions.CleanLine(n.Message, 120); why != "" {
				return fmt.Sprintf("%s is offline: %s", sessions.CleanLine(n.Name, 60), why)
			}
			return fmt.Sprintf("%s is offline; states are as last known", sessions.CleanLine(n.Name, 60))
		}
		if n.Warning != "" {
			return sessions.CleanLine(n.Warning, 120)
		}
	}
	return ""
}

// hints are the keys that make sense now.
func (a *App) hints() []status.Hint {
	switch {
	case a.overlay.Top() != nil: // dialogs tell their own
		return nil
	case a.focused:
		return []status.Hint{{Key: a.prefix.String(), Does: "gives the keyboard back"}}
	case a.list.Editing():
		return hintsOf(a.keys, keys.Prompt, keys.Accept, keys.Cancel, keys.Down, keys.Up, keys.EraseAll)
	}
	situation := a.situation()
	if a.tasks.reading {
		return hintsOf(a.keys, keys.Log, append(slices.Clone(logHints), keys.Zoom)...)
	}
	if v := a.view(); a.history.reading && v.Selecting() {
		return hintsOf(a.keys, keys.History, keys.Copy, keys.Select, keys.SelectLines, keys.OtherEnd, keys.Leave, keys.Help)
	} else if a.history.reading {
		return hintsOf(a.keys, keys.History, keys.Leave, keys.Search, keys.Next, keys.Select, keys.Copy, keys.Bottom, keys.Zoom, keys.Help)
	}
	var hints, last []status.Hint
	for _, action := range []keys.Action{
		keys.StartUp, keys.Attend, keys.Enter, keys.ShowLog, keys.Create, keys.Run, keys.Restart, keys.Recover, keys.Stop, keys.Remove,
		keys.ShowAll, keys.Details, keys.Zoom, keys.Help, keys.Quit, keys.Narrow, keys.Which, keys.Sort, keys.Rename, keys.Daemons,
	} {
		if keys.Reason(action, situation) != "" || action == keys.ShowAll && !a.list.Narrowed() {
			continue
		}
		if b, ok := a.keys.Binding(keys.Dashboard, action); ok {
			does := b.Short
			switch {
			case action == keys.Stop && situation.Recoverable:
				does = "close"
			case action == keys.Stop && situation.Task:
				does = "cancel"
			case action == keys.Restart && situation.Task:
				does = "again"
			case action == keys.ShowLog && situation.Task:
				does = "log"
			case action == keys.ShowLog: // where there is room
				last = append(last, status.Hint{Key: keys.Name(b.Keys[0]), Does: does})
				continue
			case action == keys.Enter && situation.Task: // l says it better
				continue
			}
			hints = append(hints, status.Hint{Key: keys.Name(b.Keys[0]), Does: does})
		}
	}
	return append(hints, last...)
}
