package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/dialog"
	"corral/tui/keys"
	"corral/tui/logview"
	"corral/tui/sessionlist"
	"corral/tui/status"
)

// tasks is what the dashboard knows of tasks.
type tasks struct {
	all   map[sessions.ID]sessions.Task
	seen  map[sessions.ID]bool // looked at here, which the runtime is being told
	late  map[sessions.ID]bool // of these, those that it could not be told
	usage map[sessions.ID]sessions.Usage
	loads map[sessions.ID]sessionlist.Load

	viewer  *logview.Pane          // the log of the selected task, or of a daemon; nil when none is
	reading bool                   // viewer has the keyboard
	daemon  string                 // whose log is read; "" for that of a task
	stopped map[*logview.Pane]bool // those before, until they have ended

	ticking  bool // a taskTickMsg is on its way
	sampling bool // a usageMsg is on its way
}

func newTasks() tasks {
	return tasks{all: make(map[sessions.ID]sessions.Task), seen: make(map[sessions.ID]bool), late: make(map[sessions.ID]bool), stopped: make(map[*logview.Pane]bool)}
}

// taskChanged takes what the watch told of tasks.
func (a *App) taskChanged(c sessions.Change) {
	switch c.Type {
	case sessions.ChangeSnapshot, sessions.ChangeTasks:
		fresh := make(map[sessions.ID]sessions.Task, len(c.Tasks))
		for _, t := range c.Tasks {
			fresh[t.ID] = t
		}
		a.tasks.all = fresh
	case sessions.ChangeTask:
		if c.Task != nil {
			a.tasks.all[c.Task.ID] = *c.Task
		}
	case sessions.ChangeTaskGone:
		delete(a.tasks.all, c.ID)
		a.forget(c.ID)
	default: // of sessions
	}
}

// relistTasks brings list and pages up to date with the tasks.
func (a *App) relistTasks() {
	for id := range a.tasks.seen {
		if _, there := a.tasks.all[id]; !there {
			delete(a.tasks.seen, id)
			delete(a.tasks.late, id)
		}
	}
	var shown []sessions.Task
	unseen := make(map[sessions.ID]bool)
	for id, t := range a.tasks.all {
		if a.removed(id) >= 0 {
			continue
		}
		shown = append(shown, t)
		if a.unseen(t) {
			unseen[id] = true
		}
	}
	a.list.SetTasks(shown, unseen)
	a.overlay.Each(func(d dialog.Dialog) {
		if page, ok := d.(*dialog.TaskDetails); ok {
			if t, there := a.tasks.all[page.About()]; there {
				page.SetTask(t, a.now())
			}
		}
	})
}

// unseen reports whether a task has ended and nobody has looked at it since.
func (a *App) unseen(t sessions.Task) bool { return t.State.Ended() && !t.Seen && !a.tasks.seen[t.ID] }

// see notes that a task was looked at, here and for later dashboards.
func (a *App) see(t sessions.Task) tea.Cmd {
	if !a.unseen(t) {
		return nil
	}
	a.tasks.seen[t.ID] = true
	a.relistTasks()
	a.dirty = true
	return a.tellSeen(t.ID)
}

func (a *App) tellSeen(id sessions.ID) tea.Cmd {
	return a.work.do(requestDeadline, func(ctx context.Context) tea.Msg {
		if err := a.backend.SeeTask(ctx, id); err != nil {
			a.log.Warn("operation did not succeed", "op", "note that a task was seen", "error", err)
			return unseenMsg{id}
		}
		return nil
	})
}

// tellLate tells the runtime, now that the server speaks, which tasks were seen while it could not be told.
func (a *App) tellLate() tea.Cmd {
	var cmds []tea.Cmd
	for id := range a.tasks.late {
		delete(a.tasks.late, id)
		cmds = append(cmds, a.tellSeen(id))
	}
	return tea.Batch(cmds...)
}

// showTask shows the log of a task.
func (a *App) showTask(t sessions.Task) tea.Cmd {
	seen := a.see(t)
	if v := a.tasks.viewer; v != nil && v.ID() == t.ID {
		return tea.Batch(seen, a.tick())
	}
	cmd := tea.Batch(seen, a.hide())
	a.openLog(t.ID, a.backend.OpenLog(t.ID))
	return tea.Batch(cmd, a.tick())
}

// openLog shows a log.
func (a *App) openLog(id sessions.ID, source TaskLog) {
	a.tasks.viewer = logview.New(logview.Config{
		ID: id, Source: source, Keys: a.keys, Copy: a.pump.copied, Changed: a.pump.paneChanged,
	}, a.layout.pane.W, a.layout.pane.H)
	a.tasks.viewer.SetVisible(true)
	a.tasks.viewer.Open()
	a.dirty = true
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
	a.list.Edit(false)
	a.dirty = true
}

// stopReading gives it back. What is selected is to be shown again.
func (a *App) stopReading() {
	if !a.tasks.reading {
		return
	}
	a.tasks.reading, a.tasks.daemon = false, ""
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
		case keys.Zoom, keys.Help, keys.Redraw, keys.Suspend, keys.Daemons:
			return a.command(action)
		default:
		}
	}
	if v.HandleKey(k) || k.String() == a.prefix.String() {
		a.stopReading()
		return a.show()
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
		a.overlay.Open(dialog.NewCancelQuestion(a.keys, t))
	case keys.Remove:
		return a.remove(t.ID, t.Title, true), true
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
	a.reveal(m.task.ID)
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
	if m.op == opRemoveTask && sessions.CodeOf(m.err) == sessions.CodeNotFound {
		m.err = nil // somebody else was faster
	}
	switch {
	case m.err != nil:
		return tea.Batch(a.bringBack(m.id), a.complain(m.op, m.err))
	case m.op == opRemoveTask:
		return a.watched(watchedMsg{changes: []sessions.Change{{Type: sessions.ChangeTaskGone, ID: m.id}}})
	}
	title := sessions.CleanTitle(a.tasks.all[m.id].Title)
	return tea.Batch(a.learnTask(m.task), a.say(m.op.done(title), false))
}

// sampleEvery is how often the usage of running tasks is looked up while it is shown of one of them.
const sampleEvery = 2 * time.Second

// tick keeps the run times of running tasks true, and looks what those use of which that is shown. Nothing ticks while no
// task runs.
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
	t, ok := a.list.SelectedTask()
	shown := ok && t.State == sessions.TaskRunning || a.list.ShowsLoads()
	if shown && !a.layout.tooSmall && !a.layout.zoomed && !a.tasks.sampling {
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
	a.tasks.loads = loads(a.tasks.usage, m.usage)
	a.tasks.usage = m.usage
	a.list.SetLoads(a.tasks.loads)
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

// loads concludes from two looks what the tasks use between them; of one that was not there before, since its begin.
func loads(before, now map[sessions.ID]sessions.Usage) map[sessions.ID]sessionlist.Load {
	all := make(map[sessions.ID]sessionlist.Load, len(now))
	for id, u := range now {
		was := before[id]
		l := sessionlist.Load{CPU: -1, Memory: u.MemoryBytes}
		cpu := u.UserSeconds + u.SystemSeconds - was.UserSeconds - was.SystemSeconds
		if wall := u.WallSeconds - was.WallSeconds; wall > 0 {
			l.CPU = max(cpu, 0) / wall
		}
		all[id] = l
	}
	return all
}
