package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"corral/sessions"
	"corral/sessions/internal/service"
)

const (
	// requestTimeout is the deadline of every request that is not a stream.
	requestTimeout = 10 * time.Second
	// createTimeout is that of a create, which waits while the server is still starting: a first start makes a database
	// cluster.
	createTimeout = 50 * time.Second
	// recoveryTimeout is that of a plan of recovery, which looks for the transcripts of hundreds of sessions.
	recoveryTimeout = 30 * time.Second
	// maxBody bounds a request's body: arguments and environment of a creation, escaped.
	maxBody = 4 << 20
	// aliveEvery is how often a quiet watch says that it is alive.
	aliveEvery = 15 * time.Second
	// writeTimeout is how long a watcher may leave a line unread.
	writeTimeout = 10 * time.Second
)

// Config is what the API is made of.
type Config struct {
	Service *service.Service
	Board   *service.Board
	// DialStream opens a viewer's stream at the runtime.
	DialStream func(ctx context.Context, id, rawQuery string) (*websocket.Conn, error)
	// Journal opens the records of a session at the runtime, a line of JSON each; RemoveJournal removes them.
	Journal       func(ctx context.Context, id, rawQuery string) (io.ReadCloser, error)
	RemoveJournal func(ctx context.Context, id string) error
	// TaskLog asks the runtime for bytes of a task's log.
	TaskLog func(ctx context.Context, id, rawQuery string) (*http.Response, error)
	// Shutdown stops the server after the answer; it returns at once.
	Shutdown func(sessions.ShutdownRequest)
	// Home is what a leading ~ in a directory means.
	Home string
	// ReplayLines is how much history a stream asks for whose viewer named no number.
	ReplayLines int
	Log         *slog.Logger
}

// API is the http.Handler.
type API struct {
	cfg  Config
	stop context.Context //nolint:containedctx // the life of the API, longer than any request
	mux  *http.ServeMux

	work         context.Context //nolint:containedctx // of every change, which outlives its client but not the server
	giveUp       context.CancelFunc
	serving      sync.WaitGroup // streams, and requests that are answered
	stallTimeout time.Duration  // stallTimeout, but for tests
}

const (
	createPattern     = "POST /v1/sessions"
	createTaskPattern = "POST /v1/tasks"
	recoveryPattern   = "GET /v1/recovery"
)

// New returns the API. When stop ends, open watches and streams are closed as the server going away.
func New(stop context.Context, cfg Config) *API {
	a := &API{cfg: cfg, stop: stop, mux: http.NewServeMux(), stallTimeout: stallTimeout}
	a.work, a.giveUp = context.WithCancel(context.WithoutCancel(stop))
	for pattern, h := range map[string]handler{
		"GET /v1/sessions":                 a.list,
		createPattern:                      a.create,
		"GET /v1/sessions/{id}":            a.get,
		"PATCH /v1/sessions/{id}":          a.update,
		"DELETE /v1/sessions/{id}":         a.remove,
		"POST /v1/sessions/{id}/reconnect": a.reconnect,
		"POST /v1/sessions/{id}/stop":      a.stopSession,
		"POST /v1/sessions/{id}/close":     a.closeSession,
		"POST /v1/sessions/{id}/input":     a.input,
		"POST /v1/sessions/{id}/prompt":    a.prompt,
		recoveryPattern:                    a.recovery,
		"GET /v1/sessions/{id}/screen":     a.screen,
		"GET /v1/sessions/{id}/history":    a.history,
		"GET /v1/sessions/{id}/events":     a.sessionEvents,
		"GET /v1/status":                   a.status,
		"GET /v1/directories":              a.directories,
		"POST /v1/shutdown":                a.shutdown,
		"GET /v1/tasks":                    a.tasks,
		createTaskPattern:                  a.createTask,
		"GET /v1/tasks/usage":              a.taskUsage,
		"GET /v1/tasks/{id}":               a.task,
		"DELETE /v1/tasks/{id}":            a.removeTask,
		"POST /v1/tasks/{id}/cancel":       a.cancelTask,
		"GET /v1/tasks/{id}/log/marks":     a.logMarks,
	} {
		timeout := requestTimeout
		switch pattern {
		case createPattern, createTaskPattern:
			timeout = createTimeout
		case recoveryPattern:
			timeout = recoveryTimeout
		}
		a.mux.Handle(pattern, a.answer(timeout, h))
	}
	a.mux.HandleFunc("GET /v1/watch", a.watch)
	a.mux.HandleFunc("GET /v1/backup", a.backup)
	a.mux.HandleFunc("POST /v1/restore", a.restore)
	a.mux.HandleFunc("GET /v1/tasks/{id}/log", a.taskLog)
	a.mux.HandleFunc("GET /v1/events", a.events)
	a.mux.HandleFunc("GET /v1/sessions/{id}/stream", a.stream)
	a.mux.HandleFunc("GET /v1/sessions/{id}/journal", a.journal)
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.fail(w, r, &sessions.Error{
			Code:    sessions.CodeNotFound,
			Message: fmt.Sprintf("the API has no %s %s", sessions.CleanLine(r.Method, 20), sessions.CleanLine(r.URL.Path, 200)),
			Hint:    "client and server may be of different versions; see corral version",
		})
	})
	return a
}

// Wait gives up the changes that are still being made and returns when everything has ended. The context of New must
// have ended, and the time for what was in flight be over.
func (a *API) Wait() {
	a.giveUp()
	a.serving.Wait()
}

// ServeHTTP checks the version, keeps panics in, and routes.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
			panic(p)
		}
		a.cfg.Log.Error("request panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
		a.fail(w, r, &sessions.Error{
			Code: sessions.CodeInternal, Message: "the server made a mistake", Hint: "its log has the details",
		})
	}()
	w.Header().Set(sessions.VersionHeader, sessions.APIVersion)
	if theirs := r.Header.Get(sessions.VersionHeader); theirs != "" && major(theirs) != major(sessions.APIVersion) {
		a.fail(w, r, &sessions.Error{
			Code: sessions.CodeInvalid,
			Message: fmt.Sprintf("this server speaks version %s of the API and the client %s",
				sessions.APIVersion, sessions.CleanLine(theirs, 20)),
			Hint: "use the same corral on both sides; corral down and up replaces the server",
		})
		return
	}
	a.mux.ServeHTTP(w, r)
}

func major(version string) string {
	m, _, _ := strings.Cut(version, ".")
	return m
}

// handler answers a request with a value to send as JSON (nil: nothing), its status, or an error.
type handler func(ctx context.Context, r *http.Request) (status int, answer any, err error)

// answer runs a handler under its deadline. A read ends when its client leaves; a change does not.
func (a *API) answer(timeout time.Duration, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.serving.Add(1)
		defer a.serving.Done()
		parent := r.Context()
		if r.Method != http.MethodGet {
			parent = a.work
		}
		ctx, cancel := context.WithTimeout(parent, timeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		status, answer, err := h(ctx, r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		a.write(w, r, status, answer)
	})
}

func (a *API) write(w http.ResponseWriter, r *http.Request, status int, answer any) {
	if answer == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		a.cfg.Log.Debug("answer not sent", "path", r.URL.Path, "error", err)
	}
}

// fail sends err. What is no *sessions.Error is a mistake of ours or the end of a context: its text stays in the log.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	var e *sessions.Error
	if !errors.As(err, &e) {
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			e = &sessions.Error{Code: sessions.CodeDeadline, Message: "the server could not finish in time", Hint: "try again"}
		case errors.Is(err, context.Canceled):
			e = &sessions.Error{Code: sessions.CodeDeadline, Message: "the request was given up", Hint: "try again"}
		default:
			e = &sessions.Error{Code: sessions.CodeInternal, Message: "the server met an unexpected error", Hint: "its log has the details"}
		}
	}
	level := slog.LevelDebug
	if e.Code == sessions.CodeInternal {
		level = slog.LevelError
	}
	a.cfg.Log.Log(r.Context(), level, "request failed", "method", r.Method, "path", r.URL.Path, "code", e.Code, "error", err)
	a.write(w, r, e.Code.HTTPStatus(), sessions.ErrorBody{Error: e})
}
