package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/keys"
	"corral/tui/logview"
	"corral/tui/status"
	"corral/tui/style"
)

// drawTaskHeader draws the line over a log: which task, in what state, and what it uses.
func (a *App) drawTaskHeader(c *canvas.Canvas, t sessions.Task) {
	r := a.layout.header
	badge := status.TaskBadge(t, a.now())
	state := " " + badge.Mark + " " + status.TaskState(t, a.now()) + " "
	title := sessions.CleanTitle(t.Title)
	if title == "" {
		title = t.ID.Short()
	}
	title = ansi.Truncate(" "+title+" ", max(r.W-ansi.StringWidth(state), 4), "…")
	left := a.theme.Tone(style.Strong).Render(title) + a.theme.Tone(badge.Tone).Render(state)
	right := a.usageOf(t)
	if gap := r.W - ansi.StringWidth(left) - ansi.StringWidth(right); right != "" && gap >= 0 {
		left += strings.Repeat(" ", gap) + a.theme.Tone(style.Muted).Render(right)
	}
	c.DrawLine(r.X, r.Y, r.W, left)
}

// usageOf spells what a task uses, or used.
func (a *App) usageOf(t sessions.Task) string {
	usage := t.Usage
	if usage == nil && t.State == sessions.TaskRunning {
		if now, ok := a.tasks.usage[t.ID]; ok {
			usage = &now
		}
	}
	if usage == nil {
		return ""
	}
	return fmt.Sprintf("cpu %.1f s  %s ", usage.UserSeconds+usage.SystemSeconds, status.Memory(usage.MemoryBytes))
}

// drawLog draws the log of the selected task.
func (a *App) drawLog(c *canvas.Canvas) {
	note, alarm := status.TaskNote(a.tasks.all[a.tasks.viewer.ID()])
	a.tasks.viewer.Draw(c, a.layout.pane, a.theme, logview.DrawOptions{
		Focused: a.tasks.reading && a.overlay.Top() == nil, Note: note, Alarm: alarm,
	})
}

// logHints are the keys that are told while a log has the keyboard.
var logHints = []keys.Action{ //nolint:gochecknoglobals // a table
	keys.Leave, keys.Help, keys.Search, keys.Next, keys.Filter, keys.Wrap, keys.Goto, keys.Bottom,
}

// hintsOf are the keys of some actions.
func hintsOf(m *keys.Map, c keys.Context, actions ...keys.Action) []status.Hint {
	var hints []status.Hint
	for _, action := range actions {
		if b, ok := m.Binding(c, action); ok {
			hints = append(hints, status.Hint{Key: keys.Name(b.Keys[0]), Does: b.Short})
		}
	}
	return hints
}
