package server_test

import (
	"context"
	"errors"
	"testing"

	"corral/migrations/pgtest"
	"corral/sessions"
)

// Whoever follows the events gets each once, also when the server is restarted and the database cuts its connections.
func TestEventsAreFollowedThroughRestarts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.serveRuntime()
	r.cfg.Database.URL = pgtest.EmptyURL(t)
	stop := r.run()
	r.await("database up", databaseUp)
	r.await("node up", nodeUp)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	came := make(chan sessions.Event, 16)
	ended := make(chan error, 1)
	go func() {
		ended <- r.client.EventsFollow(ctx, "", 0, true, func(e sessions.Event) error {
			came <- e
			return nil
		})
	}()
	last := int64(0)
	for _, title := range []string{"before", "after"} {
		made, err := r.client.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp", Title: title})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []sessions.State{sessions.Starting, sessions.Detached} {
			select {
			case e := <-came:
				if e.SessionID != made.ID || e.To != want || e.ID <= last {
					t.Errorf("%s: want %s, got %+v", title, want, e)
				}
				last = e.ID
			case <-ctx.Done():
				t.Fatalf("%s: no event of %s", title, want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		stop = r.run()
		r.await("database up", databaseUp)
		r.await("node up", nodeUp)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}
