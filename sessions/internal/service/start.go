package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/agent"
	"corral/sessions/internal/store"
)

// Create makes a session and starts its program. When the runtime refuses, the session stays as FAILED with the reason
// and the refusal is returned; when the runtime cannot be reached, the row stays STARTING for the reconciler.
func (s *Service) Create(ctx context.Context, r sessions.CreateRequest) (sessions.Session, error) {
	r, err := normalize(r)
	if err != nil {
		return sessions.Session{}, err
	}
	s.awaitStartup(ctx, starting)
	st, err := s.Store()
	if err != nil {
		return sessions.Session{}, err
	}
	if err := s.canStart(); err != nil {
		return sessions.Session{}, err
	}
	resume := r.ConversationID != ""
	if r.Kind == sessions.KindClaude && !resume {
		r.ConversationID = uuid.NewString()
	}
	rec, err := st.Create(ctx, s.newRecord(r), sessions.ActorUser, "created by the user")
	if err != nil {
		return sessions.Session{}, fmt.Errorf("create session: %w", err)
	}
	s.Log.Info("session created", "session", rec.ID, "kind", rec.Kind)
	s.Board.Put(rec)
	if err := s.Hooks.after("create.row"); err != nil {
		return sessions.Session{}, err
	}
	how := agent.First(rec.Session, resume)
	launch := launchRequest(rec, how, r.Env)
	launch.NoInputJournal = r.NoInputJournal
	_, err = s.Runtime.Create(ctx, launch)
	if err := s.Hooks.after("create.launch"); err != nil {
		return sessions.Session{}, err
	}
	return s.launched(ctx, rec, err)
}

func (s *Service) newRecord(r sessions.CreateRequest) store.Record {
	now := s.now()
	return store.Record{
		Session: sessions.Session{
			ID:             sessions.ID(uuid.NewString()),
			Title:          r.Title,
			Project:        r.Project,
			CWD:            r.CWD,
			Kind:           r.Kind,
			Args:           r.Args,
			ConversationID: r.ConversationID,
			State:          sessions.Starting,
			StateReason:    "created by the user",
			Node:           s.Node,
			CreatedAt:      now,
			UpdatedAt:      now,
			LastActivityAt: now,
		},
		Run:      1,
		Owner:    s.Owner,
		Deadline: now.Add(startDeadline),
		Cols:     r.Cols,
		Rows:     r.Rows,
	}
}

// Restart starts an ended session again with the same id, title, directory and arguments. Of two at once one wins and
// the other gets a conflict.
func (s *Service) Restart(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	rec, err := s.read(ctx, id)
	if err != nil {
		return sessions.Session{}, err
	}
	if !rec.State.Ended() {
		return sessions.Session{}, stateConflict(rec, "only an ended session can be restarted", "stop it first")
	}
	if err := s.here(rec.Session); err != nil {
		return sessions.Session{}, err
	}
	if err := s.canStart(); err != nil {
		return sessions.Session{}, err
	}
	run, deadline := rec.Run+1, s.now().Add(startDeadline)
	rec, err = s.move(ctx, store.Move{
		ID: id, From: rec.State, Version: rec.Version, To: sessions.Starting,
		Actor: sessions.ActorUser, Reason: "restarted by the user",
		Run: &run, Owner: &s.Owner, Deadline: &deadline, EndedAt: &zeroTime,
	})
	if errors.Is(err, sessions.ErrConflict) {
		return sessions.Session{}, &sessions.Error{
			Code: sessions.CodeConflict, Message: "somebody else changed the session at the same moment",
			Hint: "look at its state and try again", Cause: err,
		}
	}
	if err != nil {
		return sessions.Session{}, err
	}
	if err := s.Hooks.after("restart.row"); err != nil {
		return sessions.Session{}, err
	}
	_, err = s.Runtime.Respawn(ctx, launchRequest(rec, agent.Again(rec.Session), nil))
	if err := s.Hooks.after("restart.launch"); err != nil {
		return sessions.Session{}, err
	}
	return s.launched(ctx, rec, err)
}

// Reconnect returns a live session; an ended one is a conflict, because coming back to it means restarting it.
func (s *Service) Reconnect(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	rec, err := s.read(ctx, id)
	if err != nil {
		return sessions.Session{}, err
	}
	if !rec.State.Live() {
		return sessions.Session{}, stateConflict(rec, "there is nothing alive to reconnect to", "restart it")
	}
	if err := s.here(rec.Session); err != nil {
		return sessions.Session{}, err
	}
	return s.shown(rec), nil
}

func launchRequest(rec store.Record, how agent.Launch, env []string) rtapi.LaunchRequest {
	return rtapi.LaunchRequest{
		Meta: meta(rec), Argv: how.Argv, Env: env, KeepTmuxEnv: how.KeepTmuxEnv, Hooks: how.Hooks, Cols: rec.Cols, Rows: rec.Rows,
	}
}

// launched writes down how the start of rec, which is STARTING, went.
func (s *Service) launched(ctx context.Context, rec store.Record, launchErr error) (sessions.Session, error) {
	if launchErr == nil {
		return s.confirm(ctx, rec)
	}
	refused, ok := refusal(launchErr)
	if !ok {
		s.Log.Warn("start not confirmed", "session", rec.ID, "error", launchErr)
		s.Kick()
		return sessions.Session{}, withSession(runtimeError(launchErr), rec.ID)
	}
	now := s.now()
	_, err := s.settle(ctx, rec, store.Move{
		To: sessions.Failed, Reason: sessions.CleanLine("could not be started: "+refused.Message, maxReason),
		Evidence: "the runtime refused to start it", EndedAt: &now,
	})
	if err != nil {
		s.Log.Warn("failed start not written", "session", rec.ID, "error", err)
		s.Kick()
	}
	return sessions.Session{}, withSession(runtimeError(launchErr), rec.ID)
}

// confirm moves a session whose program has started to DETACHED.
func (s *Service) confirm(ctx context.Context, rec store.Record) (sessions.Session, error) {
	m := store.Move{To: sessions.Detached, Reason: "started", Evidence: "the runtime started it"}
	// Which tmux server it lives in is worth knowing but not worth failing for.
	if status, err := s.Runtime.Status(ctx); err == nil {
		m.Tmux = &status.Tmux.Server
	}
	now, err := s.settle(ctx, rec, m)
	if err != nil {
		s.Kick()
		return sessions.Session{}, err
	}
	if now.State == sessions.Stopping && now.Run == rec.Run {
		s.signal(ctx, now) // a stop came while there was nothing to signal yet
	}
	return s.shown(now), nil
}

// settle ends the STARTING of one run by m. If the reconciler, a stop or another restart came first, their word stands.
func (s *Service) settle(ctx context.Context, started store.Record, m store.Move) (store.Record, error) {
	return s.retry(ctx, started.ID, func(rec store.Record) (store.Record, error) {
		if rec.State != sessions.Starting || rec.Run != started.Run {
			return rec, nil
		}
		m.ID, m.From, m.Version, m.Actor = rec.ID, rec.State, rec.Version, sessions.ActorServer
		m.Owner, m.Deadline = &noOwner, &zeroTime
		return s.move(ctx, m)
	})
}

// withSession tells the caller of a failed start which session it left behind.
func withSession(err error, id sessions.ID) error {
	var e *sessions.Error
	if errors.As(err, &e) {
		e.Details = map[string]any{"sessionId": id}
	}
	return err
}
