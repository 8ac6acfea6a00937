package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"corral/sessions"
	"corral/sessions/internal/store"
)

// lines sends newline-delimited JSON, each line at once.
type lines struct {
	enc *json.Encoder
	rc  *http.ResponseController
	w   http.ResponseWriter
}

func newLines(w http.ResponseWriter) *lines {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return &lines{enc: json.NewEncoder(w), rc: http.NewResponseController(w), w: w}
}

// send writes one line, or an empty one for nil. A reader that leaves it unread for writeTimeout is given up.
func (l *lines) send(v any) error {
	if err := l.rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	var err error
	if v == nil {
		_, err = l.w.Write([]byte("\n"))
	} else {
		err = l.enc.Encode(v)
	}
	if err != nil {
		return err
	}
	return l.rc.Flush()
}

// watch sends the whole list and then every change, without a gap, until the client leaves, lags or the server stops.
func (a *API) watch(w http.ResponseWriter, r *http.Request) {
	sub := a.cfg.Board.Subscribe()
	defer a.cfg.Board.Unsubscribe(sub)
	out := newLines(w)
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	next := sub.Snapshot
	for {
		if err := out.send(next); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-a.stop.Done():
			return
		case c, ok := <-sub.Changes:
			if !ok {
				a.cfg.Log.Info("watcher lagged", "client", r.Header.Get("User-Agent"))
				return
			}
			next = c
		case <-alive.C:
			next = sessions.Change{Type: sessions.ChangeAlive}
		}
	}
}

// events sends events after an id, one per line; with follow=true it goes on with those to come.
func (a *API) events(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	after, err := number(q, "after")
	if err != nil {
		a.fail(w, r, err)
		return
	}
	follow, err := flag(q, "follow")
	if err != nil {
		a.fail(w, r, err)
		return
	}
	query := store.EventQuery{Session: sessions.ID(q.Get("session")), After: after, Limit: eventBatch}
	// The first batch is read before anything is sent, so that its failure still has a status.
	batch, err := a.batch(r.Context(), query)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	out := newLines(w)
	sub := a.cfg.Board.Subscribe()
	defer func() { a.cfg.Board.Unsubscribe(sub) }()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		for _, e := range batch {
			if err := out.send(e); err != nil {
				return
			}
			query.After = e.ID
		}
		if len(batch) < eventBatch {
			if !follow {
				return
			}
			if err := out.send(nil); err != nil { // also opens the answer when there was no event yet
				return
			}
			select {
			case <-r.Context().Done():
				return
			case <-a.stop.Done():
				return
			case <-alive.C:
			case _, ok := <-sub.Changes:
				if !ok || !drain(sub.Changes) { // nothing is lost: what is sent comes from the store
					sub = a.cfg.Board.Subscribe()
				}
			}
		}
		if batch, err = a.batch(r.Context(), query); err != nil {
			a.cfg.Log.Debug("events not read", "error", err)
			batch = nil // the database comes back, or the client leaves
		}
	}
}

// drain takes what is queued and reports whether the queue is still open.
func drain(changes <-chan sessions.Change) bool {
	for {
		select {
		case _, ok := <-changes:
			if !ok {
				return false
			}
		default:
			return true
		}
	}
}

// eventBatch is how many events are read at once.
const eventBatch = 500

func (a *API) batch(ctx context.Context, q store.EventQuery) ([]sessions.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return a.cfg.Service.Events(ctx, q)
}
