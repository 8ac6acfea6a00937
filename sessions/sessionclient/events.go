package sessionclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"corral/sessions"
)

// EventsFollow calls event for every event after the given id, of one session or, with id "", of all, each once and in
// order. With follow it goes on until ctx ends or event returns an error; a server or a database that goes away is waited
// for, once it was there. Without, it returns after those that exist.
func (c *Client) EventsFollow(ctx context.Context, id sessions.ID, after int64, follow bool, event func(sessions.Event) error) error {
	f := follower{c: c, id: id, after: after, follow: follow, event: event}
	known := false // the server was there
	for attempt := 1; ; attempt++ {
		answered, err := f.once(ctx)
		if answered {
			attempt, known = 1, true
		}
		if f.failed || !follow || !known || ctx.Err() != nil || !away(err) {
			return err
		}
		c.cfg.Log.Debug("events cut", "error", err, "attempt", attempt)
		timer := time.NewTimer(c.timing.pause(attempt))
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}

// away reports that what failed may be back soon.
func away(err error) bool {
	code := sessions.CodeOf(err)
	return code == sessions.CodeUnreachable || code == sessions.CodeDatabaseUnavailable || code == sessions.CodeDeadline
}

// follower is where a follow is.
type follower struct {
	c      *Client
	id     sessions.ID
	after  int64
	follow bool
	event  func(sessions.Event) error
	failed bool // event returned an error
}

// once follows one connection to its end.
func (f *follower) once(ctx context.Context) (answered bool, err error) {
	q := url.Values{"after": {strconv.FormatInt(f.after, 10)}, "follow": {strconv.FormatBool(f.follow)}}
	if f.id != "" {
		q.Set("session", string(f.id))
	}
	path := "/v1/events?" + q.Encode()
	resp, err := f.c.open(ctx, http.MethodGet, path, nil)
	if notListening(err) && f.follow && f.c.cfg.EnsureServer != nil {
		if err := f.c.ensureServer(ctx); err != nil {
			return false, err
		}
		resp, err = f.c.open(ctx, http.MethodGet, path, nil)
	}
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	for {
		var e sessions.Event
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF) && !f.follow:
			return true, nil
		case err != nil:
			return true, f.c.transportError(ctx, err)
		}
		f.after = e.ID
		if err := f.event(e); err != nil {
			f.failed = true
			return true, err
		}
	}
}
