package service

import (
	"reflect"
	"sort"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// Tasks are no rows: the node concludes what they are from its disk, and the board shows what the runtime told last.

// SetTasks notes all tasks of a runtime that has just been reached.
func (b *Board) SetTasks(all []rtapi.Task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := make(map[sessions.ID]sessions.Task, len(all))
	for _, t := range all {
		next[sessions.ID(t.ID)] = taskOf(t, b.node.Name)
	}
	if b.tasks != nil && reflect.DeepEqual(b.tasks, next) {
		return
	}
	b.tasks = next
	b.publishLocked(sessions.Change{Type: sessions.ChangeTasks, Tasks: b.tasksLocked()})
}

// SetTask notes a task that is new or has changed.
func (b *Board) SetTask(t rtapi.Task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tasks == nil {
		return // all of them come at once
	}
	next := taskOf(t, b.node.Name)
	b.tasks[next.ID] = next
	b.publishLocked(sessions.Change{Type: sessions.ChangeTask, Task: &next})
}

// DropTask notes that a task was removed.
func (b *Board) DropTask(id sessions.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.tasks[id]; !ok {
		return
	}
	delete(b.tasks, id)
	b.publishLocked(sessions.Change{Type: sessions.ChangeTaskGone, ID: id})
}

// Tasks returns the tasks as they were known last, oldest first; nil when no runtime has told any.
func (b *Board) Tasks() []sessions.Task {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tasksLocked()
}

func (b *Board) tasksLocked() []sessions.Task {
	if b.tasks == nil {
		return nil
	}
	list := make([]sessions.Task, 0, len(b.tasks))
	for _, t := range b.tasks {
		list = append(list, t)
	}
	sort.Slice(list, func(i, j int) bool {
		if !list[i].CreatedAt.Equal(list[j].CreatedAt) {
			return list[i].CreatedAt.Before(list[j].CreatedAt)
		}
		return list[i].ID < list[j].ID
	})
	return list
}

// taskOf makes the runtime's task one of the API, its texts cleaned: they come from files that anything may have written.
func taskOf(t rtapi.Task, node string) sessions.Task {
	out := sessions.Task{
		ID: sessions.ID(t.ID), Title: sessions.CleanTitle(t.Title), CWD: t.CWD, Command: t.Command, Shell: t.Shell, TTY: t.TTY,
		State: sessions.TaskState(t.State), Reason: sessions.CleanLine(t.Reason, maxReason), ExitCode: t.ExitCode, Signal: t.Signal,
		CreatedAt: t.CreatedAt, StartedAt: t.StartedAt, EndedAt: t.EndedAt,
		After: sessions.ID(t.After), Group: sessions.CleanLine(t.Group, sessions.MaxGroup), GroupLimit: t.GroupLimit,
		CancelledBy: sessions.CleanLine(t.CancelledBy, maxReason), Strays: t.Strays, Seen: t.Seen, Node: node,
	}
	if out.Command == nil {
		out.Command = []string{} // [], not null
	}
	if t.Usage != nil {
		u := usageOf(*t.Usage)
		out.Usage = &u
	}
	return out
}

func usageOf(u rtapi.Usage) sessions.Usage {
	out := sessions.Usage{
		WallSeconds: u.WallSeconds, UserSeconds: u.UserSeconds, SystemSeconds: u.SystemSeconds,
		MemoryBytes: u.MemoryBytes, ReadBytes: u.ReadBytes, WrittenBytes: u.WrittenBytes,
	}
	if u.Agent != nil {
		agent := sessions.AgentUsage(*u.Agent)
		out.Agent = &agent
	}
	return out
}
