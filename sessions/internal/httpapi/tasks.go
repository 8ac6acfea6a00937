package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"corral/sessions"
	"corral/sessions/internal/service"
)

func (a *API) tasks(ctx context.Context, _ *http.Request) (int, any, error) {
	all, err := a.cfg.Service.ListTasks(ctx)
	return http.StatusOK, all, err
}

func (a *API) createTask(ctx context.Context, r *http.Request) (int, any, error) {
	var req sessions.CreateTaskRequest
	if err := decode(r, &req); err != nil {
		return 0, nil, err
	}
	t, err := a.cfg.Service.RunTask(ctx, req)
	return http.StatusCreated, t, err
}

func (a *API) task(ctx context.Context, r *http.Request) (int, any, error) {
	t, err := a.cfg.Service.GetTask(ctx, id(r))
	return http.StatusOK, t, err
}

func (a *API) removeTask(ctx context.Context, r *http.Request) (int, any, error) {
	return http.StatusNoContent, nil, a.cfg.Service.RemoveTask(ctx, id(r))
}

func (a *API) cancelTask(ctx context.Context, r *http.Request) (int, any, error) {
	t, err := a.cfg.Service.CancelTask(ctx, id(r), r.Header.Get("User-Agent"))
	return http.StatusOK, t, err
}

func (a *API) seeTask(ctx context.Context, r *http.Request) (int, any, error) {
	t, err := a.cfg.Service.SeeTask(ctx, id(r))
	return http.StatusOK, t, err
}

func (a *API) taskUsage(ctx context.Context, _ *http.Request) (int, any, error) {
	all, err := a.cfg.Service.TaskUsage(ctx)
	return http.StatusOK, all, err
}

func (a *API) logMarks(ctx context.Context, r *http.Request) (int, any, error) {
	from, err := number(r.URL.Query(), "from")
	if err != nil {
		return 0, nil, err
	}
	marks, err := a.cfg.Service.LogMarks(ctx, id(r), from)
	return http.StatusOK, marks, err
}

func (a *API) findInLog(ctx context.Context, r *http.Request) (int, any, error) {
	place, err := a.cfg.Service.FindInLog(ctx, id(r), r.URL.RawQuery)
	return http.StatusOK, place, err
}

// copySize is how much of a log is copied at a time: what a unix socket takes at once (net.core.wmem_default).
const copySize = 208 << 10

// taskLog passes the runtime's answer on. A reader may wait in it for output, so it ends with the server's life too.
func (a *API) taskLog(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.stop, cancel)()
	answer, err := a.cfg.TaskLog(ctx, string(id(r)), r.URL.RawQuery)
	if err != nil {
		a.fail(w, r, service.RuntimeError(err))
		return
	}
	defer answer.Body.Close()
	for _, name := range []string{
		"Content-Type", "Content-Length", sessions.LogSizeHeader, sessions.LogEndedHeader, sessions.LogCutHeader,
	} {
		if v := answer.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(http.StatusOK)
	if answer.ContentLength == 0 {
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTimeout)) // it can on a socket
	// Not io.Copy: net/http would copy in pieces of 32 KiB, of which each costs two system calls.
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, answer.Body, make([]byte, copySize)); err != nil {
		a.cfg.Log.Debug("log not sent", "error", err)
	}
}
