package httpapi

import (
	"context"
	"math"
	"net/http"

	"corral/sessions"
	"corral/sessions/internal/service"
	"corral/sessions/internal/store"
)

func id(r *http.Request) sessions.ID { return sessions.ID(r.PathValue("id")) }

func (a *API) list(context.Context, *http.Request) (int, any, error) {
	return http.StatusOK, a.cfg.Service.List(), nil
}

func (a *API) create(ctx context.Context, r *http.Request) (int, any, error) {
	var req sessions.CreateRequest
	if err := decode(r, &req); err != nil {
		return 0, nil, err
	}
	s, err := a.cfg.Service.Create(ctx, req)
	return http.StatusCreated, s, err
}

func (a *API) get(ctx context.Context, r *http.Request) (int, any, error) {
	s, err := a.cfg.Service.Get(ctx, id(r))
	return http.StatusOK, s, err
}

func (a *API) update(ctx context.Context, r *http.Request) (int, any, error) {
	var req sessions.UpdateRequest
	if err := decode(r, &req); err != nil {
		return 0, nil, err
	}
	s, err := a.cfg.Service.Update(ctx, id(r), req)
	return http.StatusOK, s, err
}

func (a *API) remove(ctx context.Context, r *http.Request) (int, any, error) {
	force, err := flag(r.URL.Query(), "force")
	if err != nil {
		return 0, nil, err
	}
	keep, err := flag(r.URL.Query(), "keepJournal")
	if err != nil {
		return 0, nil, err
	}
	if err := a.cfg.Service.Remove(ctx, id(r), force); err != nil {
		return 0, nil, err
	}
	if !keep && a.cfg.RemoveJournal != nil {
		if err := a.cfg.RemoveJournal(ctx, string(id(r))); err != nil {
			a.cfg.Log.Warn("journal not removed", "session", id(r), "error", err) // retention takes it
		}
	}
	return http.StatusNoContent, nil, nil
}

func (a *API) reconnect(ctx context.Context, r *http.Request) (int, any, error) {
	var req sessions.ReconnectRequest
	if err := decode(r, &req); err != nil {
		return 0, nil, err
	}
	if !req.Restart {
		s, err := a.cfg.Service.Reconnect(ctx, id(r))
		return http.StatusOK, s, err
	}
	s, err := a.cfg.Service.RestartIn(ctx, id(r), req.Conversation)
	return http.StatusOK, s, err
}

func (a *API) recovery(ctx context.Context, r *http.Request) (int, any, error) {
	plan, err := a.cfg.Service.Recovery(ctx, r.URL.Query().Get("project"))
	return http.StatusOK, plan, err
}

func (a *API) prompt(ctx context.Context, r *http.Request) (int, any, error) {
	var req sessions.PromptRequest
	if err := decode(r, &req); err != nil {
		return 0, nil, err
	}
	s, err := a.cfg.Service.Prompt(ctx, id(r), req)
	return http.StatusOK, s, err
}

func (a *API) stopSession(ctx context.Context, r *http.Request) (int, any, error) {
	s, err := a.cfg.Service.Stop(ctx, id(r))
	return http.StatusOK, s, err
}

func (a *API) closeSession(ctx context.Context, r *http.Request) (int, any, error) {
	s, err := a.cfg.Service.Close(ctx, id(r))
	return http.StatusOK, s, err
}

func (a *API) input(ctx context.Context, r *http.Request) (int, any, error) {
	var req sessions.InputRequest
	if err := decode(r, &req); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, a.cfg.Service.Input(ctx, id(r), req)
}

func (a *API) screen(ctx context.Context, r *http.Request) (int, any, error) {
	s, err := a.cfg.Service.Screen(ctx, id(r))
	return http.StatusOK, s, err
}

func (a *API) history(ctx context.Context, r *http.Request) (int, any, error) {
	q := r.URL.Query()
	lines, err := number(q, "lines")
	if err != nil {
		return 0, nil, err
	}
	before, err := number(q, "before")
	if err != nil {
		return 0, nil, err
	}
	h, err := a.cfg.Service.History(ctx, id(r), int(min(lines, math.MaxInt32)), int(min(before, math.MaxInt32)))
	return http.StatusOK, h, err
}

func (a *API) sessionEvents(ctx context.Context, r *http.Request) (int, any, error) {
	s, err := a.cfg.Service.Get(ctx, id(r))
	if err != nil {
		return 0, nil, err
	}
	events, err := a.cfg.Service.Events(ctx, store.EventQuery{Session: s.ID})
	return http.StatusOK, events, err
}

func (a *API) status(ctx context.Context, _ *http.Request) (int, any, error) {
	return http.StatusOK, a.cfg.Service.Status(ctx), nil
}

func (a *API) directories(ctx context.Context, r *http.Request) (int, any, error) {
	found := service.Directories(ctx, a.cfg.Home, r.URL.Query().Get("prefix"))
	if found == nil {
		found = []string{}
	}
	return http.StatusOK, found, nil
}

func (a *API) shutdown(_ context.Context, r *http.Request) (int, any, error) {
	var req sessions.ShutdownRequest
	if err := decode(r, &req); err != nil {
		return 0, nil, err
	}
	a.cfg.Shutdown(req)
	return http.StatusAccepted, nil, nil
}
