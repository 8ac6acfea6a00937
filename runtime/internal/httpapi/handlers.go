package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"corral/internal/ws"
	"corral/runtime/rtapi"
)

func (a api) status(*http.Request) (any, error) { return a.Status(), nil }

func (a api) inventory(r *http.Request) (any, error) { return a.Inventory.Get(r.Context()) }

func (a api) shutdown(*http.Request) (any, error) {
	a.Shutdown()
	return nil, nil
}

func (a api) create(r *http.Request) (any, error) {
	var req rtapi.LaunchRequest
	if err := read(r, &req); err != nil {
		return nil, err
	}
	return a.Terminals.Create(r.Context(), req)
}

func (a api) respawn(r *http.Request) (any, error) {
	var req rtapi.LaunchRequest
	if err := read(r, &req); err != nil {
		return nil, err
	}
	if req.Meta.ID != r.PathValue("id") {
		return nil, &rtapi.Error{Code: "invalid", Message: "the request is for another terminal than its path"}
	}
	return a.Terminals.Respawn(r.Context(), req)
}

func (a api) signal(r *http.Request) (any, error) {
	var req rtapi.SignalRequest
	if err := read(r, &req); err != nil {
		return nil, err
	}
	return nil, a.Terminals.Signal(r.Context(), r.PathValue("id"), req)
}

func (a api) input(r *http.Request) (any, error) {
	var req rtapi.InputRequest
	if err := read(r, &req); err != nil {
		return nil, err
	}
	return nil, a.Terminals.Input(r.Context(), r.PathValue("id"), req)
}

func (a api) variables(r *http.Request) (any, error) {
	q := r.URL.Query()
	return a.Terminals.Variables(r.Context(), r.PathValue("id"), q["name"], q.Get("login") == "true")
}

func (a api) setMeta(r *http.Request) (any, error) {
	var meta rtapi.Meta
	if err := read(r, &meta); err != nil {
		return nil, err
	}
	return nil, a.Terminals.SetMeta(r.Context(), r.PathValue("id"), meta)
}

func (a api) remove(r *http.Request) (any, error) {
	return nil, a.Terminals.Remove(r.Context(), r.PathValue("id"))
}

func (a api) screen(r *http.Request) (any, error) {
	return a.Reader.Screen(r.Context(), r.PathValue("id"))
}

func (a api) history(r *http.Request) (any, error) {
	q := r.URL.Query()
	lines, err := number(q, "lines")
	if err != nil {
		return nil, err
	}
	before, err := number(q, "before")
	if err != nil {
		return nil, err
	}
	return a.Reader.History(r.Context(), r.PathValue("id"), lines, before, q.Get("ansi") == "true")
}

// events writes one line of JSON per event, and one to say that it is alive after each silence of aliveEvery.
func (a api) events(w http.ResponseWriter, r *http.Request) {
	events, cancel, err := a.Inventory.Subscribe(r.Context())
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	defer cancel()
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	lines := json.NewEncoder(w)
	alive := time.NewTimer(aliveEvery)
	defer alive.Stop()
	for {
		e := rtapi.Event{Type: rtapi.EventAlive}
		select {
		case <-r.Context().Done():
			return
		case next, ok := <-events:
			if !ok {
				// The subscriber lagged or the runtime ends: a cut, so that the client asks anew.
				panic(http.ErrAbortHandler)
			}
			e = next
		case <-alive.C:
		}
		// A client that reads nothing is cut, not waited for; its socket's buffer holds many events.
		if err := out.SetWriteDeadline(time.Now().Add(aliveEvery)); err != nil {
			return
		}
		if lines.Encode(e) != nil || out.Flush() != nil {
			return
		}
		alive.Reset(aliveEvery)
	}
}

// stream hands a viewer over.
func (a api) stream(w http.ResponseWriter, r *http.Request) {
	conn, err := ws.Accept(w, r)
	if err != nil {
		a.Log.Debug("stream not accepted", "err", err) // Accept has answered
		return
	}
	id := r.PathValue("id")
	if err := a.Streams.Serve(r.Context(), conn, id, r.URL.Query()); err != nil && !errors.Is(err, r.Context().Err()) {
		a.Log.Warn("stream ended", "id", id, "err", err)
	}
}
