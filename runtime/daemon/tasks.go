package daemon

import (
	"context"
	"errors"
	"fmt"

	"corral/runtime/internal/tmux"
	"corral/runtime/rtapi"
)

// taskSessions gives tasks their tmux sessions.
type taskSessions struct {
	tmux      *tmux.Server
	inventory *inventory
}

// Server implements task.Tmux.
func (t taskSessions) Server() (rtapi.Incarnation, bool) {
	st := t.tmux.Status()
	return st.Server, st.Up
}

// Start implements task.Tmux. The listing that follows makes sure that no older one is taken for a newer.
func (t taskSessions) Start(ctx context.Context, server rtapi.Incarnation, session string, argv []string) (refused bool, err error) {
	_, err = t.tmux.RunOn(ctx, server, append(tmux.Command{"new-session", "-d", "-s", session, "-x", "80", "-y", "24", "-c", "/", "--"}, argv...))
	var no *tmux.Error
	if errors.As(err, &no) {
		return true, fmt.Errorf("start %s: %w", session, err)
	}
	return false, errors.Join(err, t.inventory.refresh(ctx))
}

// End implements task.Tmux.
func (t taskSessions) End(ctx context.Context, server rtapi.Incarnation, session string) error {
	_, err := t.tmux.RunOn(ctx, server, tmux.Command{"kill-session", "-t", "=" + session})
	return err
}

// SetTasks implements task.Listener.
func (inv *inventory) SetTasks(all []rtapi.Task) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	inv.tasks = make(map[string]rtapi.Task, len(all))
	for _, t := range all {
		inv.tasks[t.ID] = t
	}
	if !inv.ended {
		inv.publishLocked(inv.tasksEventLocked())
	}
}

// SetTask implements task.Listener.
func (inv *inventory) SetTask(t rtapi.Task) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.tasks == nil || inv.ended {
		return // all are told at once, or nothing is any more
	}
	inv.tasks[t.ID] = t
	inv.publishLocked(rtapi.Event{Type: rtapi.EventTask, Task: &t})
}

// DropTask implements task.Listener.
func (inv *inventory) DropTask(id string) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.tasks == nil || inv.ended {
		return
	}
	delete(inv.tasks, id)
	inv.publishLocked(rtapi.Event{Type: rtapi.EventTaskGone, ID: id})
}

func (inv *inventory) tasksEventLocked() rtapi.Event {
	all := make([]rtapi.Task, 0, len(inv.tasks))
	for _, t := range inv.tasks {
		all = append(all, t)
	}
	return rtapi.Event{Type: rtapi.EventTasks, Tasks: all}
}
