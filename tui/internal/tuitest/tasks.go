package tuitest

import (
	"context"

	"corral/sessions"
	"corral/tui"
)

var errNoTasks = &sessions.Error{Code: sessions.CodeNotFound, Message: "this backend has no tasks"}

// RunTask implements tui.TaskService.
func (b *Backend) RunTask(context.Context, sessions.CreateTaskRequest) (sessions.Task, error) {
	return sessions.Task{}, errNoTasks
}

// CancelTask implements tui.TaskService.
func (b *Backend) CancelTask(context.Context, sessions.ID) (sessions.Task, error) {
	return sessions.Task{}, errNoTasks
}

// RemoveTask implements tui.TaskService.
func (b *Backend) RemoveTask(context.Context, sessions.ID) error { return errNoTasks }

// TaskUsage implements tui.TaskService.
func (b *Backend) TaskUsage(context.Context) (map[sessions.ID]sessions.Usage, error) { return nil, nil }

// OpenLog implements tui.TaskService.
func (b *Backend) OpenLog(sessions.ID) tui.TaskLog { return nil }
