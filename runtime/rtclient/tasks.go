package rtclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"corral/runtime/rtapi"
)

// CreateTask makes a task. Asking again with the same id answers the one that is there.
func (c *Client) CreateTask(ctx context.Context, req rtapi.TaskRequest) (rtapi.Task, error) {
	var t rtapi.Task
	return t, c.call(ctx, http.MethodPost, "/v1/tasks", req, &t)
}

// Tasks returns all tasks, oldest first.
func (c *Client) Tasks(ctx context.Context) ([]rtapi.Task, error) {
	var all []rtapi.Task
	return all, c.call(ctx, http.MethodGet, "/v1/tasks", nil, &all)
}

// Task returns one task.
func (c *Client) Task(ctx context.Context, id string) (rtapi.Task, error) {
	var t rtapi.Task
	return t, c.call(ctx, http.MethodGet, task(id, ""), nil, &t)
}

// CancelTask asks for a task's end.
func (c *Client) CancelTask(ctx context.Context, id string, req rtapi.CancelRequest) (rtapi.Task, error) {
	var t rtapi.Task
	return t, c.call(ctx, http.MethodPost, task(id, "/cancel"), req, &t)
}

// SeeTask notes that somebody has looked at an ended task.
func (c *Client) SeeTask(ctx context.Context, id string) (rtapi.Task, error) {
	var t rtapi.Task
	return t, c.call(ctx, http.MethodPost, task(id, "/seen"), nil, &t)
}

// RemoveTask deletes an ended task.
func (c *Client) RemoveTask(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, task(id, ""), nil, nil)
}

// TaskUsage looks what the running tasks use now.
func (c *Client) TaskUsage(ctx context.Context) (map[string]rtapi.Usage, error) {
	var all map[string]rtapi.Usage
	return all, c.call(ctx, http.MethodGet, "/v1/tasks/usage", nil, &all)
}

// LogMarks returns when the bytes of a task's log came.
func (c *Client) LogMarks(ctx context.Context, id string, from int64) ([]rtapi.LogMark, error) {
	var marks []rtapi.LogMark
	return marks, c.call(ctx, http.MethodGet, task(id, "/log/marks?from=")+strconv.FormatInt(from, 10), nil, &marks)
}

// FindInLog looks for text in a task's log, with the query of the sessions API.
func (c *Client) FindInLog(ctx context.Context, id, rawQuery string) (rtapi.LogPlace, error) {
	var place rtapi.LogPlace
	return place, c.call(ctx, http.MethodGet, task(id, "/log/find?")+rawQuery, nil, &place)
}

// TaskLog asks for bytes of a task's log, with the query of the sessions API. The answer is for the caller to pass on and
// to close.
func (c *Client) TaskLog(ctx context.Context, id, rawQuery string) (*http.Response, error) {
	return c.send(ctx, http.MethodGet, task(id, "/log?")+rawQuery, nil)
}

func task(id, rest string) string { return "/v1/tasks/" + url.PathEscape(id) + rest }
