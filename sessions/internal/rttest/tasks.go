package rttest

import (
	"context"
	"fmt"
	"time"

	"corral/runtime/rtapi"
)

// CreateTask makes a task that runs until it is cancelled.
func (r *Runtime) CreateTask(_ context.Context, req rtapi.TaskRequest) (rtapi.Task, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return rtapi.Task{}, ErrAway
	}
	now := time.Now().UTC()
	t := rtapi.Task{
		ID: req.ID, Title: req.Title, CWD: req.CWD, Command: req.Command, Shell: req.Shell, TTY: req.TTY,
		State: rtapi.TaskRunning, CreatedAt: now, StartedAt: &now,
		After: req.After, Group: req.Group, GroupLimit: req.GroupLimit,
	}
	r.tasks = append(r.tasks, t)
	return t, nil
}

// Tasks returns all tasks.
func (r *Runtime) Tasks(context.Context) ([]rtapi.Task, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return nil, ErrAway
	}
	return append([]rtapi.Task{}, r.tasks...), nil
}

// Task returns one task.
func (r *Runtime) Task(_ context.Context, id string) (rtapi.Task, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, err := r.taskLocked(id)
	if err != nil {
		return rtapi.Task{}, err
	}
	return r.tasks[i], nil
}

// CancelTask ends a task at once.
func (r *Runtime) CancelTask(_ context.Context, id string, req rtapi.CancelRequest) (rtapi.Task, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, err := r.taskLocked(id)
	if err != nil {
		return rtapi.Task{}, err
	}
	now := time.Now().UTC()
	r.tasks[i].State, r.tasks[i].CancelledBy, r.tasks[i].EndedAt = rtapi.TaskCancelled, req.By, &now
	return r.tasks[i], nil
}

// SeeTask notes that a task was looked at.
func (r *Runtime) SeeTask(_ context.Context, id string) (rtapi.Task, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, err := r.taskLocked(id)
	if err != nil {
		return rtapi.Task{}, err
	}
	r.tasks[i].Seen = true
	return r.tasks[i], nil
}

// RemoveTask forgets a task.
func (r *Runtime) RemoveTask(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, err := r.taskLocked(id)
	if err != nil {
		return err
	}
	r.tasks = append(r.tasks[:i:i], r.tasks[i+1:]...)
	return nil
}

// TaskUsage says nothing.
func (r *Runtime) TaskUsage(context.Context) (map[string]rtapi.Usage, error) {
	return map[string]rtapi.Usage{}, nil
}

// LogMarks says nothing.
func (r *Runtime) LogMarks(context.Context, string, int64) ([]rtapi.LogMark, error) { return nil, nil }

// FindInLog finds nothing.
func (r *Runtime) FindInLog(context.Context, string, string) (rtapi.LogPlace, error) {
	return rtapi.LogPlace{At: -1}, nil
}

func (r *Runtime) taskLocked(id string) (int, error) {
	if r.away {
		return 0, ErrAway
	}
	for i, t := range r.tasks {
		if t.ID == id {
			return i, nil
		}
	}
	return 0, &rtapi.Error{Code: "not_found", Message: fmt.Sprintf("no task has the id %q", id)}
}
