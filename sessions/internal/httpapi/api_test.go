package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"corral/sessions"
	"corral/sessions/internal/servicetest"
)

func TestRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, c := t.Context(), r.client
	list, err := c.List(ctx)
	if err != nil || list == nil || len(list) != 0 {
		t.Fatalf("list of nothing: %v, %v", list, err)
	}
	made, err := c.Create(ctx, sessions.CreateRequest{CWD: "/tmp", Title: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(ctx, made.ID); err != nil || got.Title != "one" || got.State != sessions.Detached {
		t.Errorf("get: %+v, %v", got, err)
	}
	if got, err := c.Update(ctx, made.ID, sessions.UpdateRequest{Title: new("two")}); err != nil || got.Title != "two" {
		t.Errorf("update: %+v, %v", got, err)
	}
	if _, err := c.Update(ctx, made.ID, sessions.UpdateRequest{Title: new("\x1b")}); !errors.Is(err, sessions.ErrInvalid) {
		t.Errorf("an empty title: %v", err)
	}
	if list, err := c.List(ctx); err != nil || len(list) != 1 || list[0].Title != "two" {
		t.Errorf("list: %+v, %v", list, err)
	}
	if _, err := c.Restart(ctx, made.ID); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("restart of a live session: %v", err)
	}
	if err := c.Input(ctx, made.ID, sessions.InputRequest{Text: "ls", Enter: true}); err != nil {
		t.Error(err)
	}
	if s, err := c.Screen(ctx, made.ID); err != nil || s.Text != "$ " {
		t.Errorf("screen: %+v, %v", s, err)
	}
	if h, err := c.History(ctx, made.ID, 2, 0); err != nil || !slices.Equal(h.Lines, []string{"two", "three"}) {
		t.Errorf("history: %+v, %v", h, err)
	}
	if _, err := c.History(ctx, made.ID, -1, 0); !errors.Is(err, sessions.ErrInvalid) {
		t.Errorf("negative history: %v", err)
	}
	if s, err := c.Stop(ctx, made.ID); err != nil || s.State != sessions.Stopping {
		t.Errorf("stop: %+v, %v", s, err)
	}
	if s, err := c.Wait(ctx, made.ID, sessions.WaitRequest{States: []sessions.State{sessions.Stopped}, Timeout: servicetest.Patience}); err != nil || s.State != sessions.Stopped {
		t.Errorf("wait: %+v, %v", s, err)
	}
	if _, err := c.Wait(ctx, made.ID, sessions.WaitRequest{States: []sessions.State{sessions.Running}, Timeout: 50 * time.Millisecond}); !errors.Is(err, sessions.ErrDeadline) {
		t.Errorf("wait for what does not come: %v", err)
	}
	events, err := c.Events(ctx, made.ID)
	if err != nil || len(events) != 4 || events[0].From != "" || events[3].To != sessions.Stopped {
		t.Errorf("events: %+v, %v", events, err)
	}
	if s, err := c.Restart(ctx, made.ID); err != nil || s.State != sessions.Detached {
		t.Errorf("restart: %+v, %v", s, err)
	}
	if _, err := c.Close(ctx, made.ID); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("close of a live session: %v", err)
	}
	if dirs, err := c.Directories(ctx, "/tm"); err != nil || !slices.Contains(dirs, "/tmp") {
		t.Errorf("directories: %v, %v", dirs, err)
	}
	if dirs, err := c.Directories(ctx, "/nothing/there"); err != nil || len(dirs) != 0 {
		t.Errorf("directories of nothing: %v, %v", dirs, err)
	}
	status, err := c.Status(ctx)
	if err != nil || status.Server.PID != 42 || status.Tmux.State != sessions.Up || status.Recorder.State != sessions.Up ||
		status.Sessions[sessions.Detached] != 1 || status.Nodes[0].Name != servicetest.Node {
		t.Errorf("status: %+v, %v", status, err)
	}
	if err := c.Remove(ctx, made.ID, false); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("remove of a live session: %v", err)
	}
	if err := c.Remove(ctx, made.ID, true); err != nil {
		t.Error(err)
	}
	if _, err := c.Get(ctx, made.ID); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("get of a removed session: %v", err)
	}
	if err := c.Shutdown(ctx, sessions.ShutdownRequest{Runtime: true}); err != nil {
		t.Error(err)
	}
	if o := <-r.orders; !o.Runtime || o.Database {
		t.Errorf("shutdown order %+v", o)
	}
}

// raw sends a request without the client's care and returns the status and the error.
func (r *rig) raw(method, path, body string, header map[string]string) (int, *sessions.Error) {
	r.t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", r.socket)
		},
		DisableKeepAlives: true,
	}}
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get(sessions.VersionHeader) != sessions.APIVersion {
		r.t.Errorf("%s %s answers without a version", method, path)
	}
	b, _ := io.ReadAll(resp.Body)
	var e sessions.ErrorBody
	_ = json.Unmarshal(b, &e)
	return resp.StatusCode, e.Error
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const unknown = "/v1/sessions/0b7c7bb3-7a4f-4e52-9f0a-0a6f6d1c2e31"
	tests := []struct {
		method, path, body string
		status             int
		part               string // of the message
	}{
		{"POST", "/v1/sessions", `{"cwd":7}`, 400, "cwd"},
		{"POST", "/v1/sessions", `{"cwd":"/tmp","args":"x"}`, 400, "args"},
		{"POST", "/v1/sessions", `[]`, 400, "object"},
		{"POST", "/v1/sessions", `{"cwd":`, 400, "JSON"},
		{"POST", "/v1/sessions", `{"cwd":"/tmp"} x`, 400, "after"},
		{"POST", "/v1/sessions", `{"title":"` + strings.Repeat("x", 5<<20) + `"}`, 413, "larger"},
		{"POST", "/v1/sessions", ``, 400, "directory"},
		{"GET", unknown, ``, 404, "no session"},
		{"GET", "/v1/sessions/..%2f..%2fetc", ``, 404, "no session"},
		{"GET", unknown + "/screen", ``, 404, "no session"},
		{"GET", unknown + "/history?lines=x", ``, 400, "lines"},
		{"POST", unknown + "/reconnect", `{"restart":true}`, 404, "no session"},
		{"POST", unknown + "/reconnect", `{"restart":"yes"}`, 400, "restart"},
		{"DELETE", unknown + "?force=perhaps", ``, 400, "force"},
		{"GET", "/v1/events?after=-1", ``, 400, "after"},
		{"GET", "/v2/sessions", ``, 404, "no GET /v2/sessions"},
		{"PUT", "/v1/sessions", ``, 404, "no PUT"},
	}
	for _, test := range tests {
		status, e := r.raw(test.method, test.path, test.body, nil)
		if status != test.status || e == nil || !strings.Contains(e.Message, test.part) {
			t.Errorf("%s %s %.40s: %d %+v", test.method, test.path, test.body, status, e)
		}
	}
	status, e := r.raw("GET", "/v1/sessions", "", map[string]string{sessions.VersionHeader: "2.0"})
	if status != 400 || e == nil || !strings.Contains(e.Message, "2.0") {
		t.Errorf("another version: %d %+v", status, e)
	}
	for _, version := range []string{"", "1.7"} {
		if status, _ := r.raw("GET", "/v1/sessions", "", map[string]string{sessions.VersionHeader: version}); status != 200 {
			t.Errorf("version %q: %d", version, status)
		}
	}
	if status, _ := r.raw("POST", "/v1/sessions", `{"cwd":"/tmp","fromTheFuture":{"a":[1]}}`, nil); status != 201 {
		t.Errorf("an unknown field: %d", status)
	}
}

func TestReconnectOnlyToTheLiving(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.Shell(t)
	path := "/v1/sessions/" + string(made.ID) + "/reconnect"
	if status, _ := r.raw("POST", path, `{"restart":false}`, nil); status != 200 {
		t.Errorf("live: %d", status)
	}
	r.Runtime.Exit(string(made.ID), 0)
	r.Await(t, made.ID, sessions.Stopped)
	if status, e := r.raw("POST", path, `{}`, nil); status != 409 || e.Hint != "restart it" {
		t.Errorf("ended: %d %+v", status, e)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.Shell(t)
	ctx, cancel := context.WithCancel(t.Context())
	changes, links := make(chan sessions.Change, 100), make(chan sessions.Link, 100)
	var done sync.WaitGroup
	done.Go(func() {
		r.client.Watch(ctx, func(c sessions.Change) { changes <- c }, func(l sessions.Link) { links <- l })
	})
	defer done.Wait()
	defer cancel()
	snapshot := receive(t, changes)
	if snapshot.Type != sessions.ChangeSnapshot || len(snapshot.Sessions) != 1 || snapshot.Sessions[0].ID != first.ID ||
		snapshot.Database == nil || len(snapshot.Nodes) != 1 {
		t.Fatalf("first came %+v", snapshot)
	}
	second := r.Shell(t)
	for _, want := range []sessions.State{sessions.Starting, sessions.Detached} {
		if c := receive(t, changes); c.Type != sessions.ChangeSession || c.Session.ID != second.ID || c.Session.State != want {
			t.Errorf("then came %+v", c)
		}
	}
	if err := r.client.Remove(t.Context(), second.ID, true); err != nil {
		t.Fatal(err)
	}
	for {
		if c := receive(t, changes); c.Type == sessions.ChangeRemoved {
			if c.ID != second.ID {
				t.Errorf("removed %s", c.ID)
			}
			break
		}
	}
	r.stopAPI()
	var states []sessions.LinkState
	for range 3 {
		states = append(states, receive(t, links).State)
	}
	if !slices.Equal(states, []sessions.LinkState{sessions.LinkConnecting, sessions.LinkLive, sessions.LinkReconnecting}) {
		t.Errorf("links %v", states)
	}
	r.startAPI()
	for {
		if c := receive(t, changes); c.Type == sessions.ChangeSnapshot {
			if len(c.Sessions) != 1 {
				t.Errorf("the new snapshot has %d sessions", len(c.Sessions))
			}
			break
		}
	}
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(servicetest.Patience):
		t.Fatal("nothing came")
		panic("not reached")
	}
}

func TestEventsFollow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made, other := r.Shell(t), r.Shell(t)
	ctx, cancel := context.WithCancel(t.Context())
	came := make(chan sessions.Event, 100)
	var done sync.WaitGroup
	done.Go(func() {
		err := r.client.EventsFollow(ctx, made.ID, 0, true, func(e sessions.Event) error {
			came <- e
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("followed until %v", err)
		}
	})
	defer done.Wait()
	defer cancel()
	for _, want := range []sessions.State{sessions.Starting, sessions.Detached} {
		if e := receive(t, came); e.To != want {
			t.Errorf("event %+v", e)
		}
	}
	r.Runtime.Exit(string(other.ID), 0)
	r.Runtime.Exit(string(made.ID), 3)
	if e := receive(t, came); e.SessionID != made.ID || e.To != sessions.Failed || *e.ExitCode != 3 {
		t.Errorf("event %+v", e)
	}
	n := 0
	if err := r.client.EventsFollow(t.Context(), "", 0, false, func(sessions.Event) error { n++; return nil }); err != nil || n < 5 {
		t.Errorf("%d events in all, %v", n, err)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.Shell(t)
	r.stopAPI()
	_, err := r.client.List(t.Context())
	if !errors.Is(err, sessions.ErrUnreachable) || !strings.Contains(err.Error(), r.socket) || !strings.Contains(err.Error(), "corral up") {
		t.Errorf("no server: %v", err)
	}
	if _, err := r.client.Wait(t.Context(), made.ID, sessions.WaitRequest{}); !errors.Is(err, sessions.ErrUnreachable) {
		t.Errorf("wait without a server: %v", err)
	}
}
