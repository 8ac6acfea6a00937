package sessionclient

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"corral/sessions"
)

// Watch calls change for a snapshot and then every change, and link whenever the connection's state changes, until ctx
// ends. It reconnects by itself; a new snapshot follows each reconnect. Both are called from the caller's goroutine.
func (c *Client) Watch(ctx context.Context, change func(sessions.Change), link func(sessions.Link)) {
	link(sessions.Link{State: sessions.LinkConnecting})
	for attempt := 1; ; attempt++ {
		wasLive, err := c.watchOnce(ctx, change, link)
		if ctx.Err() != nil {
			return
		}
		if wasLive {
			attempt = 1
		}
		c.cfg.Log.Debug("watch cut", "error", err, "attempt", attempt)
		pause := c.timing.pause(attempt)
		link(sessions.Link{State: sessions.LinkReconnecting, Attempt: attempt, RetryAt: time.Now().Add(pause), Err: err})
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

var errSilent = errors.New("the server has been silent for too long")

// watchOnce follows one connection to its end.
func (c *Client) watchOnce(ctx context.Context, change func(sessions.Change), link func(sessions.Link)) (wasLive bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(c.timing.watchSilence, func() { cancel(errSilent) })
	defer silence.Stop()
	resp, err := c.open(ctx, http.MethodGet, "/v1/watch", nil)
	if notListening(err) && c.cfg.EnsureServer != nil {
		if err := c.ensureServer(ctx); err != nil {
			return false, err
		}
		silence.Reset(c.timing.watchSilence)
		resp, err = c.open(ctx, http.MethodGet, "/v1/watch", nil)
	}
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	for {
		var ch sessions.Change
		if err := dec.Decode(&ch); err != nil {
			return wasLive, c.transportError(ctx, err)
		}
		silence.Reset(c.timing.watchSilence)
		if !wasLive {
			wasLive = true
			link(sessions.Link{State: sessions.LinkLive})
		}
		if ch.Type == sessions.ChangeSession && ch.Session == nil {
			continue // says nothing
		}
		change(ch)
		if ctx.Err() != nil {
			return wasLive, ctx.Err()
		}
	}
}

// pause is how long to wait before the attempt'th reconnect: doubling, with half of it left to chance so that many
// clients of a restarted server do not come in step.
func (t timing) pause(attempt int) time.Duration {
	d := t.retryMax
	if attempt < 10 { // 2^10 times the shortest is beyond any longest
		d = min(2*t.retryMin<<(attempt-1), t.retryMax)
	}
	return d/2 + rand.N(d/2+1)
}
