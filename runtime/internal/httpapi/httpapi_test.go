package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"corral/runtime/rtapi"
)

// work is everything behind the API, with answers made up by the test.
type work struct {
	err    error
	events chan rtapi.Event
	asked  []string
}

func (w *work) Create(_ context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	if req.Meta.ID == "panic" {
		panic("on purpose")
	}
	return rtapi.Terminal{Meta: req.Meta}, w.err
}

func (w *work) Respawn(_ context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	return rtapi.Terminal{Meta: req.Meta}, w.err
}

func (w *work) Signal(ctx context.Context, _ string, _ rtapi.SignalRequest) error {
	if errors.Is(w.err, context.DeadlineExceeded) {
		return fmt.Errorf("signal: %w", context.DeadlineExceeded)
	}
	return w.err
}
func (w *work) Remove(context.Context, string) error                    { return w.err }
func (w *work) SetMeta(context.Context, string, rtapi.Meta) error       { return w.err }
func (w *work) Input(context.Context, string, rtapi.InputRequest) error { return w.err }
func (w *work) Screen(context.Context, string) (rtapi.Screen, error)    { return rtapi.Screen{}, w.err }

func (w *work) Variables(context.Context, string, []string, bool) (map[string]string, error) {
	return nil, w.err
}

func (w *work) History(_ context.Context, id string, lines, before int, ansi bool) (rtapi.History, error) {
	w.asked = append(w.asked, fmt.Sprint(id, lines, before, ansi))
	return rtapi.History{Lines: []string{"x"}, Total: 1}, w.err
}
func (w *work) Get(context.Context) (rtapi.Inventory, error) { return rtapi.Inventory{}, w.err }
func (w *work) Subscribe(context.Context) (<-chan rtapi.Event, func(), error) {
	return w.events, func() {}, w.err
}

func handler(w *work) http.Handler {
	return New(Config{
		Terminals: w, Reader: w, Inventory: w, Log: slog.New(slog.DiscardHandler),
		Status: func() rtapi.Status { return rtapi.Status{PID: 7} }, Shutdown: func() { w.asked = append(w.asked, "shutdown") },
	})
}

// ask returns the status and the error code of an answer.
func ask(t *testing.T, w *work, method, path, body string, header ...string) (int, rtapi.Error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if len(header) == 2 {
		r.Header.Set(header[0], header[1])
	}
	rec := httptest.NewRecorder()
	handler(w).ServeHTTP(rec, r)
	var e rtapi.Error
	if rec.Code >= 400 {
		if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil || e.Message == "" {
			t.Errorf("%s %s: an error without words: %q", method, path, rec.Body)
		}
	}
	return rec.Code, e
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path, body string
		status             int
		code, says         string
	}{
		{"GET", "/v1/nothing", "", 404, "not_found", "/v1/nothing"},
		{"PUT", "/v1/status", "", 404, "not_found", ""},
		{"POST", "/v1/terminals", "", 400, "invalid", "no body"},
		{"POST", "/v1/terminals", "{", 400, "invalid", "no JSON"},
		{"POST", "/v1/terminals", `{"cols":"wide"}`, 400, "invalid", `"cols"`},
		{"POST", "/v1/terminals", `{"argv":["` + strings.Repeat("x", maxBody) + `"]}`, 413, "too_large", ""},
		{"POST", "/v1/terminals/a/respawn", `{"meta":{"id":"b"}}`, 400, "invalid", "another terminal"},
		{"GET", "/v1/terminals/a/history?lines=-1", "", 400, "invalid", "lines"},
		{"GET", "/v1/terminals/a/history?before=x", "", 400, "invalid", "before"},
		{"POST", "/v1/terminals", `{"meta":{"id":"panic"}}`, 500, "internal", ""},
	} {
		status, e := ask(t, &work{}, c.method, c.path, c.body)
		if status != c.status || e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s %s: %d %+v", c.method, c.path, status, e)
		}
	}
}

func TestErrorsKeepTheirCodesAndSecrets(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"not_found": 404, "conflict": 409, "invalid": 400, "runtime_unreachable": 503, "internal": 500} {
		err := fmt.Errorf("inner: %w", &rtapi.Error{Code: code, Message: "words", Hint: "hint"})
		status, e := ask(t, &work{err: err}, "DELETE", "/v1/terminals/a", "")
		if status != want || e.Code != code || e.Message != "words" || e.Hint != "hint" {
			t.Errorf("%s: %d %+v", code, status, e)
		}
	}
	if status, e := ask(t, &work{err: errors.New("secret")}, "GET", "/v1/inventory", ""); status != 500 || strings.Contains(e.Message, "secret") {
		t.Errorf("%d %+v", status, e)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	if status, e := ask(t, &work{}, "GET", "/v1/status", "", rtapi.VersionHeader, "99.0"); status != 400 || !strings.Contains(e.Message, "99.0") {
		t.Errorf("%d %+v", status, e)
	}
	if status, _ := ask(t, &work{}, "GET", "/v1/status", "", rtapi.VersionHeader, major(rtapi.Version)+".99"); status != 200 {
		t.Errorf("a newer minor version got %d", status)
	}
}

func TestQueriesAndShutdown(t *testing.T) {
	t.Parallel()
	w := &work{}
	for _, path := range []string{"/v1/terminals/a/history", "/v1/terminals/a/history?lines=5&before=2&ansi=true"} {
		if status, _ := ask(t, w, "GET", path, ""); status != 200 {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := ask(t, w, "POST", "/v1/shutdown", ""); status != 204 {
		t.Errorf("shutdown: %d", status)
	}
	if got := strings.Join(w.asked, ","); got != "a0 0 false,a5 2 true,shutdown" {
		t.Errorf("asked %q", got)
	}
}

func TestEventsAreLinesAndACutIsACut(t *testing.T) {
	t.Parallel()
	w := &work{events: make(chan rtapi.Event, 10)}
	srv := httptest.NewServer(handler(w))
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.events <- rtapi.Event{Type: rtapi.EventInventory, Inventory: &rtapi.Inventory{Complete: true}}
	w.events <- rtapi.Event{Type: rtapi.EventViewers, ID: "a", Attached: 1}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // a test
	lines := bufio.NewReader(answer.Body)
	for _, want := range []rtapi.EventType{rtapi.EventInventory, rtapi.EventViewers} {
		text, err := lines.ReadBytes('\n')
		var e rtapi.Event
		if err != nil || json.Unmarshal(text, &e) != nil || e.Type != want {
			t.Fatalf("got %q, %v", text, err)
		}
	}
	close(w.events) // the subscriber lagged
	if _, err := lines.ReadBytes('\n'); err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut reads as the end: %v", err)
	}
}
