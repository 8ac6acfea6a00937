// Package httpapi serves the runtime's API on its unix socket: it reads requests, checks their form, asks whoever does
// the work and writes answers. Who may connect is decided by the listener. It owns no goroutine; every handler ends
// when its request's context does.
package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"corral/internal/ws"
	"corral/runtime/rtapi"
)

// Limits of a request.
const (
	maxBody        = 4 << 20 // an environment and argv of 128 KiB each, or a text to type of 1 MiB, with room for JSON's escapes
	requestTimeout = 15 * time.Second
	aliveEvery     = 5 * time.Second // as rtapi.EventAlive promises
)

// Terminals does what is asked of terminals. Errors that are no *rtapi.Error are internal ones.
type Terminals interface {
	Create(ctx context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error)
	Respawn(ctx context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error)
	Signal(ctx context.Context, id string, req rtapi.SignalRequest) error
	Remove(ctx context.Context, id string) error
	SetMeta(ctx context.Context, id string, meta rtapi.Meta) error
	Input(ctx context.Context, id string, req rtapi.InputRequest) error
	// Variables returns those of the named variables that the program of a session has at its start.
	Variables(ctx context.Context, id string, names []string, login bool) (map[string]string, error)
}

// Reader reads what terminals show.
type Reader interface {
	Screen(ctx context.Context, id string) (rtapi.Screen, error)
	// History reads the lines rows that precede the before newest ones; all of them when lines is 0.
	History(ctx context.Context, id string, lines, before int, ansi bool) (rtapi.History, error)
}

// Inventory knows everything and says when it changes.
type Inventory interface {
	Get(ctx context.Context) (rtapi.Inventory, error)
	// Subscribe returns the events from the inventory of this moment on. The channel is closed when the subscriber
	// lags behind or the runtime ends; cancel gives it up.
	Subscribe(ctx context.Context) (events <-chan rtapi.Event, cancel func(), err error)
}

// Streams serves viewers.
type Streams interface {
	// Serve owns conn until it returns.
	Serve(ctx context.Context, conn *ws.Conn, id string, q url.Values) error
}

// Config is what the handlers need.
type Config struct {
	Terminals Terminals
	Reader    Reader
	Inventory Inventory
	Streams   Streams
	Journals  Journals
	Tasks     Tasks
	Hooks     Hooks
	Status    func() rtapi.Status
	Shutdown  func() // asks the runtime to end, without waiting for it
	Log       *slog.Logger
}

type api struct{ Config }

// New returns the API's handler.
func New(cfg Config) http.Handler {
	a := api{cfg}
	mux := http.NewServeMux()
	for pattern, h := range map[string]func(*http.Request) (any, error){
		"GET /v1/status":                    a.status,
		"GET /v1/inventory":                 a.inventory,
		"POST /v1/terminals":                a.create,
		"POST /v1/terminals/{id}/respawn":   a.respawn,
		"POST /v1/terminals/{id}/signal":    a.signal,
		"POST /v1/terminals/{id}/input":     a.input,
		"GET /v1/terminals/{id}/variables":  a.variables,
		"PATCH /v1/terminals/{id}":          a.setMeta,
		"DELETE /v1/terminals/{id}":         a.remove,
		"GET /v1/terminals/{id}/screen":     a.screen,
		"GET /v1/terminals/{id}/history":    a.history,
		"POST /v1/shutdown":                 a.shutdown,
		"POST /v1/hooks":                    a.hook,
		"GET /v1/tasks":                     a.tasks,
		"POST /v1/tasks":                    a.createTask,
		"GET /v1/tasks/usage":               a.taskUsage,
		"GET /v1/tasks/{id}":                a.task,
		"DELETE /v1/tasks/{id}":             a.removeTask,
		"POST /v1/tasks/{id}/cancel":        a.cancelTask,
		"GET /v1/tasks/{id}/log/marks":      a.logMarks,
		"DELETE /v1/terminals/{id}/journal": a.removeJournal,
	} {
		mux.HandleFunc(pattern, a.answer(h))
	}
	mux.HandleFunc("GET /v1/events", a.events)
	mux.HandleFunc("GET /v1/tasks/{id}/log", a.log)
	mux.HandleFunc("GET /v1/terminals/{id}/stream", a.stream)
	mux.HandleFunc("GET /v1/terminals/{id}/journal", a.journal)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.refuse(w, r, &rtapi.Error{Code: "not_found", Message: "the runtime knows no " + r.Method + " " + r.URL.Path})
	})
	return a.guard(mux)
}

// guard refuses clients of another version and keeps a panic from being silent.
func (a api) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler { //nolint:errorlint // the documented way to compare a panic
					panic(p)
				}
				a.Log.Error("request panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(p))
				a.refuse(w, r, errors.New("panic"))
			}
		}()
		w.Header().Set(rtapi.VersionHeader, rtapi.Version)
		if v := r.Header.Get(rtapi.VersionHeader); v != "" && major(v) != major(rtapi.Version) {
			a.refuse(w, r, &rtapi.Error{
				Code:    "invalid",
				Message: fmt.Sprintf("the runtime speaks version %s and was asked in %s", rtapi.Version, v),
				Hint:    "run corral down and corral up, so that all of Corral is of one version",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func major(v string) string {
	m, _, _ := strings.Cut(v, ".")
	return m
}

// answer makes a handler of a function that returns what to send.
func (a api) answer(h func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeoutCause(r.Context(), requestTimeout,
			&rtapi.Error{Code: "deadline", Message: "the runtime took too long", Hint: "try again"})
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		out, err := h(r.WithContext(ctx))
		if err != nil {
			a.refuse(w, r.WithContext(ctx), err)
			return
		}
		if out == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		a.write(w, http.StatusOK, out)
	}
}

func (a api) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		a.Log.Debug("answer not sent", "err", err)
	}
}

// refuse sends err. What is no *rtapi.Error is told to the log, not to the client.
func (a api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var e *rtapi.Error
	if !errors.As(err, &e) && !errors.As(context.Cause(r.Context()), &e) {
		a.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
		e = &rtapi.Error{Code: "internal", Message: "something went wrong in the runtime", Hint: "see its log"}
	}
	a.write(w, statusOf(e.Code), e)
}

func statusOf(code string) int {
	switch code {
	case "not_found":
		return http.StatusNotFound
	case "conflict":
		return http.StatusConflict
	case "invalid":
		return http.StatusBadRequest
	case "unauthenticated":
		return http.StatusUnauthorized
	case "forbidden":
		return http.StatusForbidden
	case "too_large":
		return http.StatusRequestEntityTooLarge
	case "runtime_unreachable":
		return http.StatusServiceUnavailable
	case "deadline":
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// read reads a JSON body into v.
func read(r *http.Request, v any) error {
	err := json.NewDecoder(r.Body).Decode(v)
	var large *http.MaxBytesError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return &rtapi.Error{Code: "too_large", Message: fmt.Sprintf("the request is larger than %d bytes", large.Limit)}
	case errors.As(err, &kind):
		return &rtapi.Error{Code: "invalid", Message: fmt.Sprintf("the field %q cannot be a %s", kind.Field, kind.Value)}
	case errors.Is(err, io.EOF):
		return &rtapi.Error{Code: "invalid", Message: "the request has no body"}
	}
	return &rtapi.Error{Code: "invalid", Message: "the request is no JSON: " + err.Error()}
}

// number reads a count from the query.
func number(q url.Values, name string) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<30 {
		return 0, &rtapi.Error{Code: "invalid", Message: fmt.Sprintf("%s must be a count, not %q", name, text)}
	}
	return n, nil
}
