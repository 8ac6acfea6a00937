package sessionclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"corral/sessions"
)

func taskPath(id sessions.ID, rest string) string {
	return "/v1/tasks/" + url.PathEscape(string(id)) + rest
}

// RunTask makes a task; it starts at once unless it has to wait for another or for room in its group.
func (c *Client) RunTask(ctx context.Context, r sessions.CreateTaskRequest) (sessions.Task, error) {
	var t sessions.Task
	err := c.call(ctx, http.MethodPost, "/v1/tasks", r, &t)
	return t, err
}

// Tasks returns all tasks, oldest first.
func (c *Client) Tasks(ctx context.Context) ([]sessions.Task, error) {
	var list []sessions.Task
	err := c.call(ctx, http.MethodGet, "/v1/tasks", nil, &list)
	return list, err
}

// Task returns one task.
func (c *Client) Task(ctx context.Context, id sessions.ID) (sessions.Task, error) {
	var t sessions.Task
	err := c.call(ctx, http.MethodGet, taskPath(id, ""), nil, &t)
	return t, err
}

// CancelTask asks for the task's end and returns before it has come. That of an ended task is a conflict.
func (c *Client) CancelTask(ctx context.Context, id sessions.ID) (sessions.Task, error) {
	var t sessions.Task
	err := c.call(ctx, http.MethodPost, taskPath(id, "/cancel"), nil, &t)
	return t, err
}

// SeeTask notes that somebody has looked at an ended task.
func (c *Client) SeeTask(ctx context.Context, id sessions.ID) error {
	return c.call(ctx, http.MethodPost, taskPath(id, "/seen"), nil, nil)
}

// RemoveTask deletes an ended task with its log.
func (c *Client) RemoveTask(ctx context.Context, id sessions.ID) error {
	return c.call(ctx, http.MethodDelete, taskPath(id, ""), nil, nil)
}

// TaskUsage looks what the running tasks use now.
func (c *Client) TaskUsage(ctx context.Context) (map[sessions.ID]sessions.Usage, error) {
	var all map[sessions.ID]sessions.Usage
	err := c.call(ctx, http.MethodGet, "/v1/tasks/usage", nil, &all)
	return all, err
}

// WaitTask returns the task as soon as it has ended. It waits through restarts of the server.
func (c *Client) WaitTask(ctx context.Context, id sessions.ID) (sessions.Task, error) {
	now, err := c.Task(ctx, id)
	if err != nil || now.State.Ended() {
		return now, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var ended, gone bool
	look := func(t sessions.Task) {
		if t.ID == id && !ended {
			now, ended = t, t.State.Ended()
		}
	}
	c.Watch(watching, func(ch sessions.Change) {
		switch ch.Type {
		case sessions.ChangeTask:
			look(*ch.Task)
		case sessions.ChangeTasks, sessions.ChangeSnapshot:
			for _, t := range ch.Tasks {
				look(t)
			}
		case sessions.ChangeTaskGone:
			gone = gone || ch.ID == id
		}
		if ended || gone {
			stop()
		}
	}, func(sessions.Link) {})
	switch {
	case ended:
		return now, nil
	case gone:
		return now, &sessions.Error{Code: sessions.CodeNotFound, Message: fmt.Sprintf("task %s was removed", id.Short())}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return now, &sessions.Error{
			Code: sessions.CodeDeadline, Message: fmt.Sprintf("task %s is still %s", id.Short(), now.State), Cause: ctx.Err(),
		}
	}
	return now, ctx.Err()
}

// FollowLog copies the log of a task from offset on to w. With follow it goes on until the task has ended. What the
// log's limit cut out is passed over; cut, if set, is told of it. A server that goes away ends it with an error, after
// which next is where to go on.
func (c *Client) FollowLog(ctx context.Context, id sessions.ID, offset int64, follow bool, w io.Writer, cut func(from, to int64)) (next int64, err error) {
	for {
		resp, err := c.logRequest(ctx, id, offset, sessions.MaxLogRead, follow)
		if err != nil {
			return offset, err
		}
		info := logInfo(resp.Header)
		n, err := io.Copy(w, resp.Body)
		_ = resp.Body.Close() // nothing was written
		offset += n
		switch {
		case err != nil:
			return offset, c.transportError(ctx, err)
		case n > 0:
		case offset >= info.CutFrom && offset < info.CutTo:
			if cut != nil {
				cut(info.CutFrom, info.CutTo)
			}
			offset = info.CutTo
		case offset >= info.Size && (!follow || info.Ended):
			return offset, nil
		}
	}
}

func (c *Client) logRequest(ctx context.Context, id sessions.ID, offset int64, limit int, wait bool) (*http.Response, error) {
	q := url.Values{
		"offset": {strconv.FormatInt(offset, 10)}, "limit": {strconv.Itoa(limit)}, "wait": {strconv.FormatBool(wait)},
	}
	return c.open(ctx, http.MethodGet, taskPath(id, "/log?"+q.Encode()), nil)
}

// logInfo reads what the headers of an answer say of the log; what they leave out is zero.
func logInfo(h http.Header) sessions.LogInfo {
	var info sessions.LogInfo
	info.Size, _ = strconv.ParseInt(h.Get(sessions.LogSizeHeader), 10, 64)
	info.Ended = h.Get(sessions.LogEndedHeader) == "true"
	if from, to, ok := strings.Cut(h.Get(sessions.LogCutHeader), "-"); ok {
		info.CutFrom, _ = strconv.ParseInt(from, 10, 64)
		info.CutTo, _ = strconv.ParseInt(to, 10, 64)
	}
	return info
}

// TaskLog reads one task's log. It keeps no connection.
type TaskLog struct {
	client *Client
	id     sessions.ID
}

// TaskLog returns the log of a task; nobody is asked yet.
func (c *Client) TaskLog(id sessions.ID) *TaskLog { return &TaskLog{client: c, id: id} }

// ReadAt fills p from off on as far as the log reaches, up to sessions.MaxLogRead.
func (l *TaskLog) ReadAt(ctx context.Context, p []byte, off int64) (int, sessions.LogInfo, error) {
	p = p[:min(len(p), sessions.MaxLogRead)]
	resp, err := l.client.logRequest(ctx, l.id, off, len(p), false)
	if err != nil {
		return 0, sessions.LogInfo{}, err
	}
	defer resp.Body.Close()
	n, err := io.ReadFull(resp.Body, p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, logInfo(resp.Header), l.client.transportError(ctx, err)
	}
	return n, logInfo(resp.Header), nil
}

// Wait returns when the log is longer than size or will not grow any more.
func (l *TaskLog) Wait(ctx context.Context, size int64) (sessions.LogInfo, error) {
	for {
		resp, err := l.client.logRequest(ctx, l.id, size, 0, true)
		if err != nil {
			return sessions.LogInfo{}, err
		}
		_ = resp.Body.Close() // it is empty
		if info := logInfo(resp.Header); info.Size > size || info.Ended {
			return info, nil
		}
	}
}

// Find returns where text begins first among the bytes from one offset up to another, negative for nowhere. They are
// searched where they lie.
func (l *TaskLog) Find(ctx context.Context, text []byte, from, to int64) (int64, error) {
	if len(text) == 0 || len(text) > sessions.MaxLogFindText || to-from > sessions.MaxLogFind {
		return 0, &sessions.Error{Code: sessions.CodeInvalid, Message: "too much is looked for in a log at once"}
	}
	q := url.Values{"text": {string(text)}, "from": {strconv.FormatInt(from, 10)}, "to": {strconv.FormatInt(to, 10)}}
	var place sessions.LogPlace
	err := l.client.call(ctx, http.MethodGet, taskPath(l.id, "/log/find?"+q.Encode()), nil, &place)
	return place.At, err
}

// Marks returns when the bytes came, of those marks that lie at or after from.
func (l *TaskLog) Marks(ctx context.Context, from int64) ([]sessions.LogMark, error) {
	var marks []sessions.LogMark
	err := l.client.call(ctx, http.MethodGet, taskPath(l.id, "/log/marks?from="+strconv.FormatInt(from, 10)), nil, &marks)
	return marks, err
}
