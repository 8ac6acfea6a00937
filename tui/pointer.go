package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"corral/tui/keys"
	"corral/tui/scrollback"
)

// drag is the mouse's button held down over the live screen of a pane.
type drag struct {
	down  bool
	x, y  int              // where it went down, in the pane
	froze *scrollback.View // stops the screen while something is selected on it
}

// paneMouse takes what the mouse does over a session, unless the program in it asked for it: the wheel looks back, and a
// drag selects. Neither moves the keyboard; a press does.
func (a *App) paneMouse(m tea.MouseMsg) tea.Cmd {
	x, y := m.X-a.layout.pane.X, m.Y-a.layout.pane.Y
	v := a.view()
	switch {
	case m.Button == tea.MouseButtonWheelUp:
		a.lookBack().Scroll(-wheelRows)
	case m.Button == tea.MouseButtonWheelDown:
		if v != nil && v.Scroll(wheelRows) && !v.Waiting() && !a.history.reading {
			a.showLive() // there is nothing further down than now
		}
	case m.Action == tea.MouseActionPress && m.Button == tea.MouseButtonLeft:
		if v != nil {
			v.Press(x, y)
			break
		}
		a.drag = drag{down: true, x: x, y: y}
		if !a.focused {
			return a.command(keys.Enter)
		}
	case m.Action == tea.MouseActionMotion && (a.drag.down || v != nil):
		if v == nil {
			v = a.shown.LookBack(a.keys, a.layout.pane.W, a.layout.pane.H)
			v.CoverAll()
			v.Press(a.drag.x, a.drag.y)
			a.drag.froze = v
		}
		v.Drag(x, y)
	case m.Action == tea.MouseActionRelease && v != nil:
		return a.dropped(v)
	default:
		return nil
	}
	return a.errands()
}

// dropped takes the release of the button: what is selected is copied, and a screen that was stopped for it goes on.
func (a *App) dropped(v *scrollback.View) tea.Cmd {
	v.Release()
	cmd, said := a.errands(), v.Notice()
	if v == a.drag.froze {
		a.showLive()
		if said != "" {
			cmd = tea.Batch(cmd, a.say(said, false))
		}
	}
	a.drag = drag{}
	return cmd
}

// panColumns and panRows are how far one key press moves what is shown of a larger window.
const (
	panColumns = 10
	panRows    = 5
)

// pan moves what is shown of a larger window.
func (a *App) pan(cols, rows int) tea.Cmd {
	if a.shown == nil || a.view() != nil || a.cropMark() == "" {
		return a.say("all of the session's window is shown", false)
	}
	a.shown.Pan(cols*panColumns, rows*panRows)
	return nil
}
