package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/agent"
	"corral/sessions/internal/store"
)

// maxReason bounds a reason in bytes: it is shown in one line.
const maxReason = 300

// Values that a store.Move points to.
var (
	noOwner  string
	zeroTime time.Time
)

// Stop asks a live session's program to end and returns at once with the session in STOPPING. The reconciler kills the
// program when the grace has passed, so that a stop outlives the server that was asked for it.
func (s *Service) Stop(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	rec, err := s.stopping(ctx, id, "stopped by the user")
	if err != nil {
		return sessions.Session{}, err
	}
	s.Kick()
	s.signal(ctx, rec)
	return s.shown(rec), nil
}

// stopping moves a live session to STOPPING; one that is there already is left alone.
func (s *Service) stopping(ctx context.Context, id sessions.ID, reason string) (store.Record, error) {
	if s.Board.Node().State == sessions.Offline {
		return store.Record{}, runtimeError(errNodeOffline)
	}
	return s.retry(ctx, id, func(rec store.Record) (store.Record, error) {
		if !rec.State.Live() {
			return rec, stateConflict(rec, "only a live session can be stopped", "it has ended already")
		}
		if err := s.here(rec.Session); err != nil {
			return rec, err
		}
		if rec.State == sessions.Stopping {
			return rec, nil
		}
		deadline := s.now().Add(StopGrace)
		return s.move(ctx, store.Move{
			ID: id, From: rec.State, Version: rec.Version, To: sessions.Stopping,
			Actor: sessions.ActorUser, Reason: reason, Owner: &noOwner, Deadline: &deadline,
		})
	})
}

var errNodeOffline = errors.New("node offline")

// signal sends the polite signal. Whatever comes of it, the reconciler sees the end or the deadline.
func (s *Service) signal(ctx context.Context, rec store.Record) {
	err := s.Runtime.Signal(ctx, string(rec.ID), rtapi.SignalRequest{Signal: agent.StopSignal(rec.Kind), Run: rec.Run})
	if err != nil {
		s.Log.Info("stop signal not sent", "session", rec.ID, "error", err)
	}
}

// retry reads a session and applies change to it, again when somebody else changed it in between.
func (s *Service) retry(ctx context.Context, id sessions.ID, change func(store.Record) (store.Record, error)) (store.Record, error) {
	var err error
	for range casTries {
		var rec store.Record
		if rec, err = s.read(ctx, id); err != nil {
			return store.Record{}, err
		}
		rec, err = change(rec)
		if !errors.Is(err, errLost) {
			return rec, err
		}
	}
	return store.Record{}, err
}

// Close gives up a RECOVERABLE session: it becomes STOPPED and nothing is started.
func (s *Service) Close(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	rec, err := s.retry(ctx, id, func(rec store.Record) (store.Record, error) {
		if rec.State != sessions.Recoverable {
			hint := "it has ended already; remove it with corral rm"
			if rec.State.Live() {
				hint = "stop it instead"
			}
			return rec, stateConflict(rec, "only a RECOVERABLE session can be closed", hint)
		}
		return s.move(ctx, store.Move{
			ID: id, From: rec.State, Version: rec.Version, To: sessions.Stopped,
			Actor: sessions.ActorUser, Reason: "closed by the user",
		})
	})
	if err != nil {
		return sessions.Session{}, err
	}
	return s.shown(rec), nil
}

// Update changes title or project, in the row and in what the terminal carries.
func (s *Service) Update(ctx context.Context, id sessions.ID, r sessions.UpdateRequest) (sessions.Session, error) {
	title, project := r.Title, r.Project
	if title != nil {
		clean := sessions.CleanTitle(*title)
		if clean == "" {
			return sessions.Session{}, invalid("title", "a title needs at least one visible character", "give another title")
		}
		title = &clean
	}
	if project != nil {
		clean := sessions.CleanLine(*project, sessions.MaxProject)
		project = &clean
	}
	st, err := s.Store()
	if err != nil {
		return sessions.Session{}, err
	}
	rec, err := st.Update(ctx, id, title, project, s.now())
	if errors.Is(err, sessions.ErrNotFound) {
		return sessions.Session{}, notFound(id)
	}
	if err != nil {
		return sessions.Session{}, fmt.Errorf("update session %s: %w", id, err)
	}
	s.Board.Put(rec)
	if s.here(rec.Session) != nil {
		return s.shown(rec), nil
	}
	// The terminal's copy serves adoption after the loss of the database. Without a terminal there is none to update.
	if err := s.Runtime.SetMeta(ctx, string(id), meta(rec)); err != nil {
		if _, refused := refusal(err); !refused {
			s.Log.Warn("terminal keeps its old title", "session", id, "error", err)
		}
	}
	return s.shown(rec), nil
}

// Remove deletes an ended session and what is kept of its terminal; with force a live one too, whose program is killed.
// The terminal goes first: a row without a terminal is an ended session, a terminal without a row would be adopted.
func (s *Service) Remove(ctx context.Context, id sessions.ID, force bool) error {
	rec, err := s.read(ctx, id)
	if err != nil {
		return err
	}
	s.Board.SetRemoving(id, true)
	defer s.Board.SetRemoving(id, false)
	if rec.State.Live() {
		if !force {
			return stateConflict(rec, "only an ended session can be removed", "stop it first, or remove it with force")
		}
		if err := s.here(rec.Session); err != nil {
			return err
		}
		if rec, err = s.killing(ctx, rec); err != nil {
			return err
		}
	}
	if s.here(rec.Session) == nil { // what is left of a terminal elsewhere is nothing that would be adopted
		if err := s.Runtime.Remove(ctx, string(id)); err != nil && !isNotFound(err) {
			return runtimeError(err)
		}
	}
	return s.delete(ctx, id, rec.Run)
}

// killing moves a live session to STOPPING, so that its end counts as asked for, and kills its program.
func (s *Service) killing(ctx context.Context, rec store.Record) (store.Record, error) {
	stopping, err := s.stopping(ctx, rec.ID, "removed by the user")
	if err != nil {
		if errors.Is(err, sessions.ErrConflict) { // it ended by itself meanwhile
			return s.read(ctx, rec.ID)
		}
		return rec, err
	}
	err = s.Runtime.Signal(ctx, string(rec.ID), rtapi.SignalRequest{Signal: "KILL", Run: stopping.Run})
	if _, refused := refusal(err); err != nil && !refused {
		s.Kick()
		return rec, runtimeError(err)
	}
	return stopping, nil
}

// delete removes the row, over changes that the reconciler makes meanwhile, but not over a restart: run must not move.
func (s *Service) delete(ctx context.Context, id sessions.ID, run int) error {
	_, err := s.retry(ctx, id, func(rec store.Record) (store.Record, error) {
		if rec.Run != run {
			return rec, stateConflict(rec, "the session was restarted meanwhile", "stop it first")
		}
		st, err := s.Store()
		if err != nil {
			return rec, err
		}
		if err := st.Delete(ctx, id, rec.Version); err != nil {
			return rec, fmt.Errorf("remove session %s: %w", id, lost(err))
		}
		s.Log.Info("session removed", "session", id)
		s.Board.Drop(id)
		return rec, nil
	})
	return err
}

func isNotFound(err error) bool {
	e, ok := refusal(err)
	return ok && sessions.Code(e.Code) == sessions.CodeNotFound
}

func stateConflict(rec store.Record, message, hint string) error {
	return &sessions.Error{
		Code:    sessions.CodeConflict,
		Message: fmt.Sprintf("%s is %s; %s", rec.ID.Short(), rec.State, message),
		Hint:    hint,
		Details: map[string]any{"state": rec.State},
	}
}
