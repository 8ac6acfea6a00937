package sessionclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"corral/sessions"
)

func sessionPath(id sessions.ID, rest string) string {
	return "/v1/sessions/" + url.PathEscape(string(id)) + rest
}

func (c *Client) session(ctx context.Context, method, path string, in any) (sessions.Session, error) {
	var s sessions.Session
	err := c.call(ctx, method, path, in, &s)
	return s, err
}

// Create makes a session and starts its program.
func (c *Client) Create(ctx context.Context, r sessions.CreateRequest) (sessions.Session, error) {
	return c.session(ctx, http.MethodPost, "/v1/sessions", r)
}

// Restart starts an ended session again.
func (c *Client) Restart(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	return c.session(ctx, http.MethodPost, sessionPath(id, "/reconnect"), sessions.ReconnectRequest{Restart: true})
}

// RestartIn starts an ended agent again, in the conversation that choice names.
func (c *Client) RestartIn(ctx context.Context, id sessions.ID, choice sessions.ConversationChoice) (sessions.Session, error) {
	return c.session(ctx, http.MethodPost, sessionPath(id, "/reconnect"), sessions.ReconnectRequest{Restart: true, Conversation: choice})
}

// Recovery returns what a restart of each lost session would do, of one project or, with "", of all.
func (c *Client) Recovery(ctx context.Context, project string) ([]sessions.Recovery, error) {
	var plan []sessions.Recovery
	err := c.call(ctx, http.MethodGet, "/v1/recovery?"+url.Values{"project": {project}}.Encode(), nil, &plan)
	return plan, err
}

// Prompt gives a live agent its next prompt; the answer is the session when the agent has begun with it.
func (c *Client) Prompt(ctx context.Context, id sessions.ID, r sessions.PromptRequest) (sessions.Session, error) {
	return c.session(ctx, http.MethodPost, sessionPath(id, "/prompt"), r)
}

// Stop asks a live session's program to end; the answer is the session in STOPPING.
func (c *Client) Stop(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	return c.session(ctx, http.MethodPost, sessionPath(id, "/stop"), nil)
}

// Close gives up a RECOVERABLE session: it becomes STOPPED and nothing is started.
func (c *Client) Close(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	return c.session(ctx, http.MethodPost, sessionPath(id, "/close"), nil)
}

// Update changes title or project.
func (c *Client) Update(ctx context.Context, id sessions.ID, r sessions.UpdateRequest) (sessions.Session, error) {
	return c.session(ctx, http.MethodPatch, sessionPath(id, ""), r)
}

// Remove deletes an ended session; with force also a live one, whose program is killed.
func (c *Client) Remove(ctx context.Context, id sessions.ID, force bool) error {
	return c.call(ctx, http.MethodDelete, sessionPath(id, "?force="+strconv.FormatBool(force)), nil, nil)
}

// Get returns one session.
func (c *Client) Get(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	return c.session(ctx, http.MethodGet, sessionPath(id, ""), nil)
}

// List returns all sessions, oldest first.
func (c *Client) List(ctx context.Context) ([]sessions.Session, error) {
	var list []sessions.Session
	err := c.call(ctx, http.MethodGet, "/v1/sessions", nil, &list)
	return list, err
}

// Events returns the events of a session in rising order.
func (c *Client) Events(ctx context.Context, id sessions.ID) ([]sessions.Event, error) {
	var events []sessions.Event
	err := c.call(ctx, http.MethodGet, sessionPath(id, "/events"), nil, &events)
	return events, err
}

// Directories completes a directory on the node; at most 50 are returned.
func (c *Client) Directories(ctx context.Context, prefix string) ([]string, error) {
	var found []string
	err := c.call(ctx, http.MethodGet, "/v1/directories?"+url.Values{"prefix": {prefix}}.Encode(), nil, &found)
	return found, err
}

// Screen returns what the session shows now, or showed last.
func (c *Client) Screen(ctx context.Context, id sessions.ID) (sessions.Screen, error) {
	var s sessions.Screen
	err := c.call(ctx, http.MethodGet, sessionPath(id, "/screen"), nil, &s)
	return s, err
}

// History returns lines of scrollback that end before lines above the newest; lines 0 means as many as there are.
func (c *Client) History(ctx context.Context, id sessions.ID, lines, before int) (sessions.History, error) {
	q := url.Values{"lines": {strconv.Itoa(lines)}, "before": {strconv.Itoa(before)}}
	var h sessions.History
	err := c.call(ctx, http.MethodGet, sessionPath(id, "/history?"+q.Encode()), nil, &h)
	return h, err
}

// Input types into a session.
func (c *Client) Input(ctx context.Context, id sessions.ID, r sessions.InputRequest) error {
	return c.call(ctx, http.MethodPost, sessionPath(id, "/input"), r, nil)
}

// Status returns the state of every role. The server's own line is UP when this succeeds.
func (c *Client) Status(ctx context.Context) (sessions.Status, error) {
	var s sessions.Status
	err := c.call(ctx, http.MethodGet, "/v1/status", nil, &s)
	return s, err
}

// Shutdown stops the server and what r names with it. It returns when the server has taken the order; the socket
// vanishes when it is done.
func (c *Client) Shutdown(ctx context.Context, r ShutdownRequest) error {
	return c.call(ctx, http.MethodPost, "/v1/shutdown", r, nil)
}

// Wait returns the session as soon as it is in one of the states; ErrDeadline when the timeout (0: none) passes first.
// It waits through restarts of the server.
func (c *Client) Wait(ctx context.Context, id sessions.ID, r sessions.WaitRequest) (sessions.Session, error) {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	now, err := c.Get(ctx, id)
	if err != nil || slices.Contains(r.States, now.State) {
		return now, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var gone, found bool
	look := func(s sessions.Session) {
		if s.ID == id && !found {
			now = s
			found = slices.Contains(r.States, s.State)
		}
	}
	c.Watch(watching, func(change sessions.Change) {
		switch change.Type {
		case sessions.ChangeSnapshot:
			for _, s := range change.Sessions {
				look(s)
			}
		case sessions.ChangeSession:
			look(*change.Session)
		case sessions.ChangeRemoved:
			gone = change.ID == id
		case sessions.ChangeNode, sessions.ChangeDatabase, sessions.ChangeAlive:
		}
		if found || gone {
			stop()
		}
	}, func(sessions.Link) {})
	switch {
	case found:
		return now, nil
	case gone:
		return now, &sessions.Error{
			Code: sessions.CodeNotFound, Message: fmt.Sprintf("%s was removed while waiting for it", id.Short()), Hint: "see corral ls",
		}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return now, &sessions.Error{
			Code: sessions.CodeDeadline, Message: fmt.Sprintf("%s is still %s", id.Short(), now.State), Hint: "wait longer, or see corral show " + id.Short(),
		}
	}
	return now, ctx.Err()
}
