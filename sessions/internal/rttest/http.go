package rttest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"corral/runtime/rtapi"
)

// Handler serves the runtime on HTTP, as the real one does on its socket. While it is away it drops connections without
// an answer.
func (r *Runtime) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]func(req *http.Request) (any, error){
		"GET /v1/status":    func(req *http.Request) (any, error) { return r.Status(req.Context()) },
		"GET /v1/inventory": func(req *http.Request) (any, error) { return r.Inventory(req.Context()) },
		"POST /v1/terminals": func(req *http.Request) (any, error) {
			return with(req, func(l rtapi.LaunchRequest) (any, error) { return r.Create(req.Context(), l) })
		},
		"POST /v1/terminals/{id}/respawn": func(req *http.Request) (any, error) {
			return with(req, func(l rtapi.LaunchRequest) (any, error) { return r.Respawn(req.Context(), l) })
		},
		"POST /v1/terminals/{id}/signal": func(req *http.Request) (any, error) {
			return with(req, func(s rtapi.SignalRequest) (any, error) { return nil, r.Signal(req.Context(), req.PathValue("id"), s) })
		},
		"POST /v1/terminals/{id}/input": func(req *http.Request) (any, error) {
			return with(req, func(i rtapi.InputRequest) (any, error) { return nil, r.Input(req.Context(), req.PathValue("id"), i) })
		},
		"PATCH /v1/terminals/{id}": func(req *http.Request) (any, error) {
			return with(req, func(m rtapi.Meta) (any, error) { return nil, r.SetMeta(req.Context(), req.PathValue("id"), m) })
		},
		"DELETE /v1/terminals/{id}": func(req *http.Request) (any, error) { return nil, r.Remove(req.Context(), req.PathValue("id")) },
		"GET /v1/terminals/{id}/screen": func(req *http.Request) (any, error) {
			return r.Screen(req.Context(), req.PathValue("id"))
		},
		"GET /v1/terminals/{id}/history": func(req *http.Request) (any, error) {
			lines, _ := strconv.Atoi(req.URL.Query().Get("lines"))
			before, _ := strconv.Atoi(req.URL.Query().Get("before"))
			return r.History(req.Context(), req.PathValue("id"), lines, before)
		},
		"POST /v1/shutdown": func(*http.Request) (any, error) {
			r.SetAway(true)
			return nil, nil
		},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) { answer(w, req, h) })
	}
	mux.HandleFunc("GET /v1/events", r.serveEvents)
	mux.HandleFunc("GET /v1/terminals/{id}/stream", func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		away := r.away
		r.mu.Unlock()
		if away {
			panic(http.ErrAbortHandler)
		}
		r.serveStream(w, req, req.PathValue("id"))
	})
	return mux
}

func with[T any](req *http.Request, do func(T) (any, error)) (any, error) {
	var in T
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
		return nil, &rtapi.Error{Code: "invalid", Message: err.Error()}
	}
	return do(in)
}

func answer(w http.ResponseWriter, req *http.Request, h func(*http.Request) (any, error)) {
	out, err := h(req)
	var refused *rtapi.Error
	switch {
	case errors.As(err, &refused):
		w.WriteHeader(http.StatusBadRequest)
		out = refused
	case err != nil:
		panic(http.ErrAbortHandler)
	case out == nil:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (r *Runtime) serveEvents(w http.ResponseWriter, req *http.Request) {
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	enc, rc := json.NewEncoder(w), http.NewResponseController(w)
	err := r.Events(ctx, func(e rtapi.Event) {
		_ = rc.SetWriteDeadline(time.Now().Add(time.Second))
		if enc.Encode(e) != nil || rc.Flush() != nil {
			cancel()
		}
	})
	if errors.Is(err, ErrAway) {
		panic(http.ErrAbortHandler)
	}
}
