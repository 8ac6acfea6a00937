package tui

import (
	"context"
	"maps"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/dialog"
	"corral/tui/keys"
	"corral/tui/logview"
	"corral/tui/status"
)

// tasks is what the dashboard knows of tasks.
type tasks struct {
	all    map[sessions.ID]sessions.Task
	unseen map[sessions.ID]bool // ended, and not looked at since
	usage  map[sessions.ID]sessions.Usage

	viewer  *logview.Pane          // the log of the selected task, nil when none is
	reading bool                   // viewer has the keyboard
	stopped map[*logview.Pane]bool // those before, until they have ended

	ticking  bool // a taskTickMsg is on its way
	sampling bool // a usageMsg is on its way
}

func newTasks() tasks {
	return tasks{all: make(map[sessions.ID]sessions.Task), unseen: make(map[sessions.ID]bool), stopped: make(map[*logview.Pane]bool)}
}

// taskChanged takes what the watch told of tasks.
func (a *App) taskChanged(c sessions.Change) {
	switch c.Type {
	case sessions.ChangeSnapshot, sessions.ChangeTasks:
		fresh := make(map[sessions.ID]sessions.Task, len(c.Tasks))
		for _, t := range c.Tasks {
			fresh[t.ID] = t
			a.noticeEnd(t)
		}
		a.tasks.all = fresh
	case sessions.ChangeTask:
		if c.Task != nil {
			a.noticeEnd(*c.Task)
			a.tasks.all[c.Task.ID] = *c.Task
		}
	case sessions.ChangeTaskGone:
		delete(a.tasks.all, c.ID)
	default: // of sessions
	}
}

// noticeEnd marks a task that has ended while nobody looked.
func (a *App) noticeEnd(t sessions.Task) {
	was, known := a.tasks.all[t.ID]
	if known && !was.State.Ended() && t.State.Ended() && (a.tasks.viewer == nil || a.tasks.viewer.ID() != t.ID) {
		a.tasks.unseen[t.ID] = true
	}
}

// relistTasks brings list and pages up to date with the tasks.
func (a *App) relistTasks() {
	for id := range a.tasks.unseen {
		if _, there := a.tasks.all[id]; !there {
			delete(a.tasks.unseen, id)
		}
	}
	a.list.SetTasks(slices.Collect(maps.Values(a.tasks.all)), a.tasks.unseen)
	a.overlay.Each(func(d dialog.Dialog) {
		if page, ok := d.(*dialog.TaskDetails); ok {
			if t, there := a.tasks.all[page.About()]; there {
				page.SetTask(t, a.now())
			}
		}
	})
}

// showTask shows the log of a task.
func (a *App) showTask(t sessions.Task) tea.Cmd {
	if a.tasks.unseen[t.ID] {
		delete(a.tasks.unseen, t.ID)
		a.dirty = true
	}
	if v := a.tasks.viewer; v != nil && v.ID() == t.ID {
		return a.tick()
	}
	cmd := a.hide()
	v := logview.New(logview.Config{
		ID: t.ID, Source: a.backend.OpenLog(t.ID), Keys: a.keys, Copy: a.pump.copied,
		Changed: a.pump.paneChanged,
	}, a.layout.pane.W, a.layout.pane.H)
	v.SetVisible(true)
	v.Open()
	a.tasks.viewer = v
	a.dirty = true
	return tea.Batch(cmd, a.tick())
}

// hideLog ends the reading of the log that is shown.
func (a *App) hideLog() tea.Cmd {
	v := a.tasks.viewer
	if v == nil {
		return nil
	}
	a.stopReading()
	a.tasks.viewer = nil
	a.dirty = true
	v.Stop()
	a.tasks.stopped[v] = true
	return a.work.do(0, func(context.Context) tea.Msg {
		v.Close()
		return logClosedMsg{viewer: v}
	})
}

// read gives the keyboard to the log.
func (a *App) read() {
	if a.tasks.viewer == nil {
		return
	}
	a.tasks.reading = true
	a.list.SetFocus(false)
	a.dirty = true
}

// stopReading gives it back.
func (a *App) stopReading() {
	if !a.tasks.reading {
		return
	}
	a.tasks.reading = false
	a.list.SetFocus(true)
	a.dirty = true
}

// readingKey takes a key while the log has the keyboard: some are the dashboard's even so.
func (a *App) readingKey(k tea.KeyMsg) tea.Cmd {
	v := a.tasks.viewer
	a.dirty = true
	if !v.Asking() {
		action := a.keys.Lookup(keys.Log, k.String())
		if action == keys.None {
			action = a.keys.Lookup(keys.Dashboard, k.String())
		}
		switch action {
		case keys.Zoom, keys.Help, keys.Redraw, keys.Suspend:
			return a.command(action)
		default:
		}
	}
	if v.HandleKey(k) || k.String() == a.prefix.String() {
		a.stopReading()
	}
	return nil
}

// taskCommand does what a key of the dashboard asks for while a task is selected, and reports whether that was for it.
func (a *App) taskCommand(action keys.Action, t sessions.Task) (tea.Cmd, bool) {
	switch action {
	case keys.Enter, keys.ShowLog:
		a.read()
	case keys.Restart:
		a.overlay.Open(dialog.NewTaskAgain(a.keys, t))
	case keys.Stop:
		a.overlay.Open(dialog.NewTaskQuestion(a.keys, dialog.OpCancelTask, t))
	case keys.Remove:
		a.overlay.Open(dialog.NewTaskQuestion(a.keys, dialog.OpRemoveTask, t))
	case keys.Details:
		page := dialog.NewTaskDetails(a.keys, t, a.now())
		if u, ok := a.tasks.usage[t.ID]; ok && t.State == sessions.TaskRunning {
			page.SetUsage(u)
		}
		a.overlay.Open(page)
	default:
		return nil, false
	}
	return nil, true
}

func (a *App) runTask(form *dialog.NewTask, r sessions.CreateTaskRequest) tea.Cmd {
	return a.work.do(startDeadline, func(ctx context.Context) tea.Msg {
		t, err := a.backend.RunTask(ctx, r)
		return taskRunMsg{form: form, task: t, err: err}
	})
}

// taskRun takes the answer to a wish for a task.
func (a *App) taskRun(m taskRunMsg) tea.Cmd {
	open := a.overlay.Remove(m.form)
	a.dirty = true
	switch {
	case m.err != nil && open:
		m.form.Failed(explain("run the task", m.err))
		a.overlay.Open(m.form)
		return nil
	case m.err != nil:
		return a.complain("run the task", m.err)
	}
	cmd := a.learnTask(m.task)
	if !open { // the user has turned to something else meanwhile
		return cmd
	}
	a.list.Select(m.task.ID)
	return tea.Batch(cmd, a.show())
}

// learnTask takes a task as an answer to a request told it, unless the watch has told of its end already.
func (a *App) learnTask(t sessions.Task) tea.Cmd {
	if known, ok := a.tasks.all[t.ID]; ok && (known.State.Ended() || known.State == sessions.TaskRunning && t.State == sessions.TaskQueued) {
		return nil
	}
	return a.watched(watchedMsg{changes: []sessions.Change{{Type: sessions.ChangeTask, Task: &t}}})
}

// operateTask does something to a task.
func (a *App) operateTask(op operation, id sessions.ID) tea.Cmd {
	return a.work.do(requestDeadline, func(ctx context.Context) tea.Msg {
		m := taskDoneMsg{op: op, id: id}
		if op == opCancelTask {
			m.task, m.err = a.backend.CancelTask(ctx, id)
		} else {
			m.err = a.backend.RemoveTask(ctx, id)
		}
		return m
	})
}

// taskFinished takes the end of an operation on a task.
func (a *App) taskFinished(m taskDoneMsg) tea.Cmd {
	if m.err != nil {
		return a.complain(m.op, m.err)
	}
	title := sessions.CleanTitle(a.tasks.all[m.id].Title)
	var cmd tea.Cmd
	if m.op == opCancelTask {
		cmd = a.learnTask(m.task)
	} else {
		cmd = a.watched(watchedMsg{changes: []sessions.Change{{Type: sessions.ChangeTaskGone, ID: m.id}}})
	}
	return tea.Batch(cmd, a.say(m.op.done(title), false))
}

// sampleEvery is how often the usage of running tasks is looked up while one of them is shown.
const sampleEvery = 2 * time.Second

// tick keeps the run times of running tasks true, and looks what the shown one uses. Nothing ticks while no task runs.
func (a *App) tick() tea.Cmd {
	var next time.Duration
	for _, t := range a.tasks.all {
		if t.State == sessions.TaskRunning {
			if d := status.NextRunTime(t, a.now()); next == 0 || d < next {
				next = d
			}
		}
	}
	var cmds []tea.Cmd
	if next > 0 && !a.tasks.ticking {
		a.tasks.ticking = true
		cmds = append(cmds, a.work.after(next, taskTickMsg{}))
	}
	if t, ok := a.list.SelectedTask(); ok && t.State == sessions.TaskRunning && !a.tasks.sampling {
		a.tasks.sampling = true
		cmds = append(cmds, a.sample())
	}
	return tea.Batch(cmds...)
}

// sample asks what the running tasks use, and takes its time.
func (a *App) sample() tea.Cmd {
	return a.work.do(requestDeadline, func(ctx context.Context) tea.Msg {
		usage, err := a.backend.TaskUsage(ctx)
		if err != nil {
			usage = nil
		}
		return usageMsg{usage: usage}
	})
}

// sampled takes an answer; the next one is asked for a little later, if somebody still looks.
func (a *App) sampled(m usageMsg) tea.Cmd {
	a.tasks.usage = m.usage
	a.dirty = true
	a.overlay.Each(func(d dialog.Dialog) {
		if page, ok := d.(*dialog.TaskDetails); ok {
			if u, there := m.usage[page.About()]; there {
				page.SetUsage(u)
			}
		}
	})
	return a.work.after(sampleEvery, sampleDueMsg{})
}
