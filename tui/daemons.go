package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/style"
)

// DaemonLog is the log of one of Corral's own daemons.
type DaemonLog struct {
	Name string // as `corral logs` calls it
	Open func() TaskLog
}

// showDaemon shows the log of the first daemon, or of the next one, and gives it the keyboard.
func (a *App) showDaemon() tea.Cmd {
	next := 0
	for i, l := range a.daemonLogs {
		if l.Name == a.tasks.daemon {
			next = (i + 1) % len(a.daemonLogs)
		}
	}
	log := a.daemonLogs[next]
	cmd := a.hide()
	a.openLog(daemonID(log.Name), log.Open())
	a.tasks.daemon = log.Name
	a.read()
	return cmd
}

// daemonID is an id that no session and no task can have.
func daemonID(name string) sessions.ID { return sessions.ID("log of " + name) }

// drawDaemonHeader draws the line over the log of a daemon.
func (a *App) drawDaemonHeader(c *canvas.Canvas) {
	r := a.layout.header
	c.DrawLine(r.X, r.Y, r.W, a.theme.Tone(style.Strong).Render(" log of the "+a.tasks.daemon))
}
