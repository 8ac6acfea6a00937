package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/dialog"
	"corral/tui/termpane"
)

// operation names what a command does, for the words about its end.
type operation string

const (
	opStop    operation = "stop"
	opClose   operation = "close"
	opRemove  operation = "remove"
	opRestart operation = "restart"
	opStart   operation = "start the server"
	opCopy    operation = "copy to the clipboard"

	opCancelTask operation = "cancel the task"
	opRemoveTask operation = "remove the task"
)

// done is what a toast says when the operation went well.
func (o operation) done(title string) string {
	switch o {
	case opStop:
		return "stopping " + title
	case opClose:
		return "closed " + title
	case opRemove, opRemoveTask:
		return "removed " + title
	case opCancelTask:
		return "cancelling " + title
	case opRestart:
		return "restarted " + title
	case opStart:
		return "the server is starting"
	}
	return string(o) + " " + title
}

// Deadlines of requests. The server answers or gives up within 10 s; these are for when it does neither.
const (
	requestDeadline    = 15 * time.Second
	completionDeadline = 3 * time.Second
	recoveryDeadline   = 35 * time.Second // it looks for the transcripts of all lost sessions
	startDeadline      = 60 * time.Second // a first start makes a database cluster
)

func (a *App) create(form *dialog.NewSession, r sessions.CreateRequest) tea.Cmd {
	r = a.asAgent(r)
	return a.work.do(startDeadline, func(ctx context.Context) tea.Msg {
		s, err := a.backend.Create(ctx, r)
		return createdMsg{form: form, session: s, err: err}
	})
}

func (a *App) rename(form *dialog.Rename, id sessions.ID, title string) tea.Cmd {
	return a.work.do(requestDeadline, func(ctx context.Context) tea.Msg {
		s, err := a.backend.Update(ctx, id, sessions.UpdateRequest{Title: &title})
		return renamedMsg{form: form, session: s, err: err}
	})
}

func (a *App) directories(form dialog.Completer, prefix string) tea.Cmd {
	return a.work.do(completionDeadline, func(ctx context.Context) tea.Msg {
		found, err := a.backend.Directories(ctx, prefix)
		return directoriesMsg{form: form, prefix: prefix, found: found, err: err}
	})
}

func (a *App) events(page *dialog.Details) tea.Cmd {
	id := page.About()
	return a.work.do(requestDeadline, func(ctx context.Context) tea.Msg {
		events, err := a.backend.Events(ctx, id)
		return eventsMsg{page: page, events: events, err: err}
	})
}

// operate does something to a session that has no dialog waiting for the answer.
func (a *App) operate(op operation, id sessions.ID) tea.Cmd {
	return a.work.do(requestDeadline, func(ctx context.Context) tea.Msg {
		m := doneMsg{op: op, id: id}
		switch op {
		case opStop:
			m.session, m.err = a.backend.Stop(ctx, id)
		case opClose:
			m.session, m.err = a.backend.Close(ctx, id)
		case opRestart:
			m.session, m.err = a.backend.Restart(ctx, id)
		case opRemove:
			m.err = a.backend.Remove(ctx, id, false)
		case opStart:
		}
		return m
	})
}

func (a *App) startServer() tea.Cmd {
	return a.work.do(startDeadline, func(ctx context.Context) tea.Msg {
		return doneMsg{op: opStart, err: a.start(ctx)}
	})
}

// closePanes ends the streams of panes that nobody shows any more.
func (a *App) closePanes(gone []*termpane.Pane) tea.Cmd {
	if len(gone) == 0 {
		return nil
	}
	return a.work.do(0, func(context.Context) tea.Msg {
		for _, p := range gone {
			p.Close()
		}
		return nil
	})
}

func (a *App) closeStream(s termpane.Stream) tea.Cmd {
	if s == nil {
		return nil
	}
	return a.work.do(0, func(context.Context) tea.Msg {
		s.Close()
		return nil
	})
}

// suspend stops the process until somebody continues it.
func (a *App) suspend() tea.Cmd {
	return a.work.do(0, func(context.Context) tea.Msg {
		if err := a.display.StopProcess(); err != nil {
			return doneMsg{op: "suspend", err: err}
		}
		return nil
	})
}
