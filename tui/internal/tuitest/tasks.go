package tuitest

import (
	"context"
	"sync"

	"corral/sessions"
	"corral/tui"
)

// Tasks answers for tui.TaskService; a nil function answers with zero values.
type Tasks struct {
	OnRun    func(sessions.CreateTaskRequest) (sessions.Task, error)
	OnCancel func(sessions.ID) (sessions.Task, error)
	OnRemove func(sessions.ID) error
	OnSee    func() error
	OnUsage  func() map[sessions.ID]sessions.Usage
	// Logs are what the tasks have printed; one that is not there is empty.
	Logs map[sessions.ID]*Log
}

// RunTask implements tui.TaskService.
func (b *Backend) RunTask(_ context.Context, r sessions.CreateTaskRequest) (sessions.Task, error) {
	b.count("run task")
	if b.Tasks.OnRun == nil {
		return sessions.Task{}, nil
	}
	return b.Tasks.OnRun(r)
}

// CancelTask implements tui.TaskService.
func (b *Backend) CancelTask(_ context.Context, id sessions.ID) (sessions.Task, error) {
	b.count("cancel task")
	if b.Tasks.OnCancel == nil {
		return sessions.Task{ID: id}, nil
	}
	return b.Tasks.OnCancel(id)
}

// RemoveTask implements tui.TaskService.
func (b *Backend) RemoveTask(_ context.Context, id sessions.ID) error {
	b.count("remove task")
	if b.Tasks.OnRemove == nil {
		return nil
	}
	return b.Tasks.OnRemove(id)
}

// SeeTask implements tui.TaskService.
func (b *Backend) SeeTask(context.Context, sessions.ID) error {
	b.count("see task")
	if b.Tasks.OnSee == nil {
		return nil
	}
	return b.Tasks.OnSee()
}

// TaskUsage implements tui.TaskService.
func (b *Backend) TaskUsage(context.Context) (map[sessions.ID]sessions.Usage, error) {
	b.count("task usage")
	if b.Tasks.OnUsage == nil {
		return nil, nil
	}
	return b.Tasks.OnUsage(), nil
}

// OpenLog implements tui.TaskService.
func (b *Backend) OpenLog(id sessions.ID) tui.TaskLog {
	if l := b.Tasks.Logs[id]; l != nil {
		return l
	}
	return NewLog("")
}

// Log is a tui.TaskLog in memory.
type Log struct {
	mu   sync.Mutex
	data []byte        // guarded by mu
	grew chan struct{} // guarded by mu; closed when the log grows
}

var _ tui.TaskLog = (*Log)(nil)

// NewLog returns a log that has text in it.
func NewLog(text string) *Log { return &Log{data: []byte(text), grew: make(chan struct{})} }

// Append adds to the log.
func (l *Log) Append(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, text...)
	close(l.grew)
	l.grew = make(chan struct{})
}

// ReadAt implements tui.TaskLog.
func (l *Log) ReadAt(_ context.Context, p []byte, off int64) (int, sessions.LogInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	if off < int64(len(l.data)) {
		n = copy(p, l.data[off:])
	}
	return n, sessions.LogInfo{Size: int64(len(l.data))}, nil
}

// Wait implements tui.TaskLog.
func (l *Log) Wait(ctx context.Context, size int64) (sessions.LogInfo, error) {
	for {
		l.mu.Lock()
		now, grew := int64(len(l.data)), l.grew
		l.mu.Unlock()
		if now > size {
			return sessions.LogInfo{Size: now}, nil
		}
		select {
		case <-grew:
		case <-ctx.Done():
			return sessions.LogInfo{}, ctx.Err()
		}
	}
}

// Marks implements tui.TaskLog.
func (l *Log) Marks(context.Context, int64) ([]sessions.LogMark, error) { return nil, nil }
