package service

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// Tasks is what the use cases of tasks need from the node. None of them needs the store.
type Tasks interface {
	CreateTask(ctx context.Context, req rtapi.TaskRequest) (rtapi.Task, error)
	Tasks(ctx context.Context) ([]rtapi.Task, error)
	Task(ctx context.Context, id string) (rtapi.Task, error)
	CancelTask(ctx context.Context, id string, req rtapi.CancelRequest) (rtapi.Task, error)
	SeeTask(ctx context.Context, id string) (rtapi.Task, error)
	RemoveTask(ctx context.Context, id string) error
	TaskUsage(ctx context.Context) (map[string]rtapi.Usage, error)
	LogMarks(ctx context.Context, id string, from int64) ([]rtapi.LogMark, error)
	FindInLog(ctx context.Context, id, rawQuery string) (rtapi.LogPlace, error)
}

// maxTaskTime bounds timeout and grace; a year.
const maxTaskTime = 366 * 24 * time.Hour

// maxGroupLimit bounds how many tasks of a group may run at once.
const maxGroupLimit = 10000

// RunTask makes a task. While the server is still starting it waits for the runtime.
func (s *Service) RunTask(ctx context.Context, r sessions.CreateTaskRequest) (sessions.Task, error) {
	req, err := taskRequest(r)
	if err != nil {
		return sessions.Task{}, err
	}
	s.awaitStartup(ctx, runtimeMissing)
	t, err := s.Runtime.CreateTask(ctx, req)
	if err != nil {
		return sessions.Task{}, runtimeError(err)
	}
	return taskOf(t, s.Node), nil
}

// taskRequest checks a request and fills in what it leaves out.
func taskRequest(r sessions.CreateTaskRequest) (rtapi.TaskRequest, error) {
	none := rtapi.TaskRequest{}
	if len(r.Command) == 0 || strings.TrimSpace(r.Command[0]) == "" {
		return none, invalid("command", "a task needs a command", "give the program and its arguments")
	}
	if r.Shell && len(r.Command) != 1 {
		return none, invalid("command", "a shell line is one text", "put it into quotes")
	}
	like := sessions.CreateRequest{Args: r.Command, CWD: r.CWD, Env: r.Env, Cols: r.Cols, Rows: r.Rows}
	for _, check := range []func(*sessions.CreateRequest) error{checkArgs, checkCWD, checkEnv, checkSize} {
		if err := check(&like); err != nil {
			return none, err
		}
	}
	switch {
	case r.Timeout < 0 || r.Timeout > maxTaskTime:
		return none, invalid("timeout", "a task's timeout must be between 0 and a year", "leave it out for none")
	case r.Grace < 0 || r.Grace > maxTaskTime:
		return none, invalid("grace", "a task's grace must be between 0 and a year", "leave it out for 10 s")
	case r.GroupLimit < 0 || r.GroupLimit > maxGroupLimit:
		return none, invalid("groupLimit", fmt.Sprintf("a group's limit must be between 1 and %d", maxGroupLimit), "leave it out for 1")
	case r.GroupLimit > 0 && r.Group == "":
		return none, invalid("groupLimit", "a limit needs a group", "name one")
	case r.LogLimit < -1:
		return none, invalid("logLimit", "a log's limit cannot be negative", "use -1 for none")
	}
	if r.Grace == 0 {
		r.Grace = sessions.DefaultTaskGrace
	}
	if r.LogLimit == 0 {
		r.LogLimit = sessions.DefaultLogLimit
	}
	group := sessions.CleanLine(r.Group, sessions.MaxGroup)
	if group != r.Group {
		return none, invalid("group", fmt.Sprintf("a group's name is one line of at most %d bytes", sessions.MaxGroup), "choose a plain name")
	}
	if group != "" && r.GroupLimit == 0 {
		r.GroupLimit = 1
	}
	title := sessions.CleanTitle(r.Title)
	if title == "" && r.Shell {
		title = sessions.CleanTitle(r.Command[0])
	}
	if title == "" {
		title = sessions.CleanTitle(strings.Join(append([]string{filepath.Base(r.Command[0])}, r.Command[1:]...), " "))
	}
	return rtapi.TaskRequest{
		ID: uuid.NewString(), Title: title, CWD: like.CWD, Command: r.Command, Shell: r.Shell, TTY: r.TTY,
		Cols: like.Cols, Rows: like.Rows, Env: r.Env, Timeout: r.Timeout, Grace: r.Grace, LogLimit: r.LogLimit,
		After: string(r.After), Group: group, GroupLimit: r.GroupLimit,
	}, nil
}

// ListTasks returns all tasks, oldest first; with the runtime away those that it told last.
func (s *Service) ListTasks(ctx context.Context) ([]sessions.Task, error) {
	all, err := s.Runtime.Tasks(ctx)
	if err != nil {
		if known := s.Board.Tasks(); known != nil {
			return known, nil
		}
		return nil, runtimeError(err)
	}
	list := make([]sessions.Task, len(all))
	for i, t := range all {
		list[i] = taskOf(t, s.Node)
	}
	return list, nil
}

// GetTask returns one task, as ListTasks does.
func (s *Service) GetTask(ctx context.Context, id sessions.ID) (sessions.Task, error) {
	t, err := s.Runtime.Task(ctx, string(id))
	if err == nil {
		return taskOf(t, s.Node), nil
	}
	if _, answered := refusal(err); !answered {
		for _, known := range s.Board.Tasks() {
			if known.ID == id {
				return known, nil
			}
		}
	}
	return sessions.Task{}, runtimeError(err)
}

// CancelTask asks for a task's end. By is who asks.
func (s *Service) CancelTask(ctx context.Context, id sessions.ID, by string) (sessions.Task, error) {
	t, err := s.Runtime.CancelTask(ctx, string(id), rtapi.CancelRequest{By: sessions.CleanLine(by, maxReason)})
	if err != nil {
		return sessions.Task{}, runtimeError(err)
	}
	return taskOf(t, s.Node), nil
}

// SeeTask notes that somebody has looked at an ended task.
func (s *Service) SeeTask(ctx context.Context, id sessions.ID) (sessions.Task, error) {
	t, err := s.Runtime.SeeTask(ctx, string(id))
	if err != nil {
		return sessions.Task{}, runtimeError(err)
	}
	return taskOf(t, s.Node), nil
}

// RemoveTask deletes an ended task with its log.
func (s *Service) RemoveTask(ctx context.Context, id sessions.ID) error {
	if err := s.Runtime.RemoveTask(ctx, string(id)); err != nil {
		return runtimeError(err)
	}
	return nil
}

// TaskUsage looks what the running tasks use now.
func (s *Service) TaskUsage(ctx context.Context) (map[sessions.ID]sessions.Usage, error) {
	all, err := s.Runtime.TaskUsage(ctx)
	if err != nil {
		return nil, runtimeError(err)
	}
	out := make(map[sessions.ID]sessions.Usage, len(all))
	for id, u := range all {
		out[sessions.ID(id)] = usageOf(u)
	}
	return out, nil
}

// LogMarks returns when the bytes of a task's log came.
func (s *Service) LogMarks(ctx context.Context, id sessions.ID, from int64) ([]sessions.LogMark, error) {
	all, err := s.Runtime.LogMarks(ctx, string(id), from)
	if err != nil {
		return nil, runtimeError(err)
	}
	out := make([]sessions.LogMark, len(all))
	for i, m := range all {
		out[i] = sessions.LogMark(m)
	}
	return out, nil
}

// FindInLog looks for text in a task's log; the runtime reads the query.
func (s *Service) FindInLog(ctx context.Context, id sessions.ID, rawQuery string) (sessions.LogPlace, error) {
	place, err := s.Runtime.FindInLog(ctx, string(id), rawQuery)
	if err != nil {
		return sessions.LogPlace{}, runtimeError(err)
	}
	return sessions.LogPlace(place), nil
}

// RuntimeError makes an error of the runtime, met outside of the use cases, one for people.
func RuntimeError(err error) error { return runtimeError(err) }
