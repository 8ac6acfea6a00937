package tui

import (
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/dialog"
	"corral/tui/keys"
)

// prefixTwice is how soon the prefix key must follow itself to go to the program. Later it means what it says: back to
// the dashboard, where we are already. Without a limit, a press to make sure would send the program a SIGQUIT.
const prefixTwice = time.Second

// typed routes a key press: to the dialog on top, else to the dashboard. While the pane has the keyboard only the prefix
// key comes here.
func (a *App) typed(k tea.KeyMsg) tea.Cmd {
	if k.Type == tea.KeyRunes && len(k.Runes) > 1 && !k.Paste {
		cmds := make([]tea.Cmd, 0, len(k.Runes))
		for _, r := range k.Runes {
			cmds = append(cmds, a.typed(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: k.Alt}))
		}
		return tea.Batch(cmds...)
	}
	left := a.leftAt
	a.leftAt = time.Time{}
	if top := a.overlay.Top(); top != nil {
		a.dirty = true
		return a.perform(top, top.HandleKey(k))
	}
	if a.tasks.reading {
		return a.readingKey(k)
	}
	if a.history.reading {
		return a.historyKey(k)
	}
	if k.String() == a.prefix.String() {
		return a.prefixed(left)
	}
	if a.focused || k.Paste {
		return nil // a paste is text, never a row of commands
	}
	return a.command(a.keys.Lookup(keys.Dashboard, k.String()))
}

// prefixed takes the prefix key: the keyboard comes back, or, when it just did, the key goes to the program.
func (a *App) prefixed(left time.Time) tea.Cmd {
	switch {
	case a.focused:
		a.leave()
		a.leftAt = a.now()
	case !left.IsZero() && a.now().Sub(left) < prefixTwice && a.shown != nil:
		if reason := keys.Reason(keys.Enter, a.situation()); reason != "" {
			return a.say(reason, false)
		}
		a.dirty = true
		return a.enter(a.prefix.Bytes())
	}
	return nil
}

// command does what a key of the dashboard asks for, or says why it cannot be done.
func (a *App) command(action keys.Action) tea.Cmd {
	if action == keys.None {
		return nil
	}
	s, _ := a.list.Selected()
	if reason := keys.Reason(action, a.situation()); reason != "" {
		return a.say(reason, false)
	}
	a.dirty = true
	if t, ok := a.list.SelectedTask(); ok {
		if cmd, done := a.taskCommand(action, t); done {
			return cmd
		}
	}
	switch action {
	case keys.Enter:
		return a.enter(nil)
	case keys.Create:
		a.overlay.Open(dialog.NewNewSession(a.keys, a.defaults(s)))
	case keys.Run:
		a.overlay.Open(dialog.NewNewTask(a.keys, a.defaults(s).CWD))
	case keys.Down:
		return a.move(1)
	case keys.Up:
		return a.move(-1)
	case keys.Top:
		return a.move(-len(a.sessions) - len(a.tasks.all))
	case keys.Bottom:
		return a.move(len(a.sessions) + len(a.tasks.all))
	case keys.Restart:
		return a.operate(opRestart, s.ID)
	case keys.Stop:
		op := dialog.OpStop
		if s.State == sessions.Recoverable {
			op = dialog.OpClose
		}
		a.overlay.Open(dialog.NewQuestion(a.keys, op, s))
	case keys.Remove:
		a.overlay.Open(dialog.NewQuestion(a.keys, dialog.OpRemove, s))
	case keys.Rename:
		a.overlay.Open(dialog.NewRename(a.keys, s))
	case keys.Details:
		page := dialog.NewDetails(a.keys, s)
		a.overlay.Open(page)
		return a.events(page)
	case keys.ShowLog:
		a.readBack()
		return a.errands()
	case keys.PageUp:
		if v := a.readBack(); v != nil {
			v.Scroll(-a.layout.pane.H + 2)
		}
		return a.errands()
	case keys.PanLeft:
		return a.pan(-1, 0)
	case keys.PanRight:
		return a.pan(1, 0)
	case keys.PanUp:
		return a.pan(0, -1)
	case keys.PanDown:
		return a.pan(0, 1)
	case keys.Zoom:
		return a.zoom()
	case keys.Help:
		a.overlay.Open(dialog.NewHelp(a.keys, a.version))
	case keys.Redraw:
		a.display.Invalidate()
	case keys.Attend:
		return a.attend()
	case keys.Recover:
		return a.recoverKey()
	case keys.StartUp:
		return tea.Batch(a.startServer(), a.say("starting the server...", false))
	case keys.Suspend:
		return a.suspend()
	case keys.Quit:
		return tea.Quit
	default: // the actions of other contexts
	}
	return nil
}

func (a *App) move(delta int) tea.Cmd {
	a.list.Move(delta)
	return a.show()
}

// situation is what decides which actions are possible.
func (a *App) situation() keys.Situation {
	s, ok := a.list.Selected()
	t, task := a.list.SelectedTask()
	down := errors.Is(a.watch.Err, ErrDown)
	return keys.Situation{
		Task:        task,
		TaskEnded:   t.State.Ended(),
		Selected:    ok,
		Live:        s.State.Live(),
		Ended:       s.State.Ended(),
		Recoverable: s.State == sessions.Recoverable,
		Waiting:     len(a.waiting()) > 0,
		Lost:        a.lost() > 0 || a.recovering.page != nil,
		Starting:    s.State == sessions.Starting,
		Stopping:    s.State == sessions.Stopping,
		Down:        down,
		CanStart:    a.start != nil,
		Unreachable: !down && (a.watch.State == sessions.LinkReconnecting || a.watch.State == sessions.LinkEnded),
	}
}

// defaults is what the form for a new session offers: the place of the selected one.
func (a *App) defaults(s sessions.Session) dialog.Defaults {
	d := dialog.Defaults{CWD: a.cwd, Cols: a.layout.pane.W, Rows: a.layout.pane.H}
	if s.ID != "" {
		d.Project = s.Project
		if s.CWD != "" {
			d.CWD = s.CWD
		}
	} else if t, ok := a.list.SelectedTask(); ok && t.CWD != "" {
		d.CWD = t.CWD
	}
	return d
}

// perform does what a dialog asks for.
func (a *App) perform(d dialog.Dialog, action dialog.Action) tea.Cmd {
	switch m := action.(type) {
	case dialog.Closed:
		a.overlay.Close()
	case dialog.Confirmed:
		a.overlay.Close()
		switch m.Op {
		case dialog.OpStop:
			return a.operate(opStop, m.ID)
		case dialog.OpClose:
			return a.operate(opClose, m.ID)
		case dialog.OpRemove:
			return a.operate(opRemove, m.ID)
		case dialog.OpCancelTask:
			return a.operateTask(opCancelTask, m.ID)
		case dialog.OpRemoveTask:
			return a.operateTask(opRemoveTask, m.ID)
		}
	case dialog.ConversationChosen:
		a.overlay.Close()
		return a.restartIn(m.ID, m.Conversation)
	case dialog.RecoverWanted:
		if page, ok := d.(*dialog.Recover); ok {
			return a.beginRecovery(page)
		}
	case dialog.RecoverStopped:
		a.stopRecovery()
	case dialog.TaskWanted:
		if form, ok := d.(*dialog.NewTask); ok {
			return a.runTask(form, m.Request)
		}
	case dialog.CreateWanted:
		if form, ok := d.(*dialog.NewSession); ok {
			return a.create(form, m.Request)
		}
	case dialog.RenameWanted:
		if form, ok := d.(*dialog.Rename); ok {
			return a.rename(form, m.ID, m.Title)
		}
	case dialog.DirectoriesWanted:
		if form, ok := d.(dialog.Completer); ok {
			return a.directories(form, m.Prefix)
		}
	}
	return nil
}

// wheelRows is how far one notch of the wheel scrolls a log.
const wheelRows = 3

// mouse takes what the mouse does outside a pane that has the keyboard.
func (a *App) mouse(m tea.MouseMsg) tea.Cmd {
	if a.overlay.Top() != nil || a.layout.tooSmall {
		return nil
	}
	inList := a.layout.list.Contains(m.X, m.Y)
	switch {
	case inList && m.Button == tea.MouseButtonWheelDown:
		return a.pick(1)
	case inList && m.Button == tea.MouseButtonWheelUp:
		return a.pick(-1)
	case a.tasks.viewer != nil && a.layout.pane.Contains(m.X, m.Y) && m.Button == tea.MouseButtonWheelDown:
		a.tasks.viewer.Scroll(wheelRows)
	case a.tasks.viewer != nil && a.layout.pane.Contains(m.X, m.Y) && m.Button == tea.MouseButtonWheelUp:
		a.tasks.viewer.Scroll(-wheelRows)
	case a.shown != nil && (a.layout.pane.Contains(m.X, m.Y) || a.drag.down || a.view() != nil && m.Action != tea.MouseActionPress):
		return a.paneMouse(m)
	case m.Button != tea.MouseButtonLeft || m.Action != tea.MouseActionPress:
		return nil
	case inList:
		if id, ok := a.list.At(m.Y - a.layout.list.Y); ok {
			a.leave()
			a.stopReading()
			a.stopReadingBack()
			a.list.Select(id)
			a.dirty = true
			return a.show()
		}
	case a.layout.pane.Contains(m.X, m.Y) && !a.focused && !a.tasks.reading:
		return a.command(keys.Enter)
	}
	return nil
}

// pick moves the selection with the wheel, which takes the keyboard from a pane.
func (a *App) pick(delta int) tea.Cmd {
	a.leave()
	a.stopReading()
	a.stopReadingBack()
	a.dirty = true
	return a.move(delta)
}
