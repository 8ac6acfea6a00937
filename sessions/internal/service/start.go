package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/agent"
	"corral/sessions/internal/store"
)

// Create makes a session and starts its program. When the runtime refuses, the session stays as FAILED with the reason
// and the refusal is returned; when the runtime cannot be reached, the row stays STARTING for the reconciler.
func (s *Service) Create(ctx context.Context, r sessions.CreateRequest) (sessions.Session, error) {
	r, err := normalize(r, s.Agents)
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
	rec := s.newRecord(r)
	how, err := s.first(ctx, rec, r.Env)
	if err != nil {
		return sessions.Session{}, err
	}
	rec.ConversationID = how.Conversation
	if rec, err = s.insert(ctx, st, rec); err != nil {
		return sessions.Session{}, err
	}
	if err := s.Hooks.after("create.row"); err != nil {
		return sessions.Session{}, err
	}
	launch := launchRequest(rec, how, r.Env)
	launch.NoInputJournal = r.NoInputJournal
	_, err = s.Runtime.Create(ctx, launch)
	if err := s.Hooks.after("create.launch"); err != nil {
		return sessions.Session{}, err
	}
	return s.launched(ctx, rec, err)
}

// insert writes the row of a new session, unless another session runs its conversation.
func (s *Service) insert(ctx context.Context, st Store, rec store.Record) (store.Record, error) {
	s.claims.Lock()
	defer s.claims.Unlock()
	if err := s.alone(rec.ConversationID, rec.ID); err != nil {
		return rec, err
	}
	rec, err := st.Create(ctx, rec, sessions.ActorUser, "created by the user")
	if err != nil {
		return rec, fmt.Errorf("create session: %w", err)
	}
	s.Log.Info("session created", "session", rec.ID, "kind", rec.Kind)
	s.Board.Put(rec)
	return rec, nil
}

// first decides how a new session is started: in the conversation that it was given, which must exist, or in a new one.
func (s *Service) first(ctx context.Context, rec store.Record, env []string) (agent.Launch, error) {
	p, isAgent := s.Agents[rec.Kind]
	switch {
	case !isAgent:
		return agent.Plain(rec.Session), nil
	case rec.ConversationID == "":
		return agent.Start(p, rec.Session, s.NewID()), nil
	case p.Transcript == "":
		return agent.Resume(p, rec.Session, rec.ConversationID), nil
	}
	c := s.comebacks()
	c.variables = given{s.Runtime, env}.Variables
	_, found, where, err := c.find(ctx, rec, p)
	if err != nil {
		return agent.Launch{}, err
	}
	if !found {
		return agent.Launch{}, invalid("conversationId",
			fmt.Sprintf("there is no conversation %s in %s", sessions.CleanLine(rec.ConversationID, 100), sessions.CleanLine(where, 200)),
			"leave it out for a new one")
	}
	return agent.Resume(p, rec.Session, rec.ConversationID), nil
}

// given is the runtime as it will be when it keeps the environment of a session that is not there yet.
type given struct {
	Runtime
	env []string
}

// Variables puts the session's own over what the runtime says.
func (g given) Variables(ctx context.Context, id string, names []string, login bool) (map[string]string, error) {
	vars, err := g.Runtime.Variables(ctx, id, names, login)
	if err != nil {
		return nil, err
	}
	for _, kv := range g.env {
		if name, value, _ := strings.Cut(kv, "="); slices.Contains(names, name) {
			vars[name] = value
		}
	}
	return vars, nil
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

		ConversationUsed: r.ConversationID != "",
	}
}

// Restart is RestartIn with the session's own conversation.
func (s *Service) Restart(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	return s.RestartIn(ctx, id, sessions.ConversationOwn)
}

// RestartIn starts an ended session again with the same id, title, directory, arguments and environment, an agent in the
// conversation that choice names. When that is not to be had nothing changes, and the refusal has the choices there are.
// Of two restarts at once one wins and the other gets a conflict.
func (s *Service) RestartIn(ctx context.Context, id sessions.ID, choice sessions.ConversationChoice) (sessions.Session, error) {
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
	how, _, err := s.comebacks().of(ctx, rec, choice)
	if err != nil {
		return sessions.Session{}, withSession(err, rec.ID)
	}
	if rec, err = s.restarting(ctx, rec, how); err != nil {
		return sessions.Session{}, err
	}
	if err := s.Hooks.after("restart.row"); err != nil {
		return sessions.Session{}, err
	}
	_, err = s.Runtime.Respawn(ctx, launchRequest(rec, how, nil))
	if err := s.Hooks.after("restart.launch"); err != nil {
		return sessions.Session{}, err
	}
	return s.launched(ctx, rec, err)
}

// restarting moves an ended session to STARTING, in the conversation that its launch is for, unless another session runs
// that one.
func (s *Service) restarting(ctx context.Context, rec store.Record, how agent.Launch) (store.Record, error) {
	s.claims.Lock()
	defer s.claims.Unlock()
	if err := s.alone(how.Conversation, rec.ID); err != nil {
		return rec, err
	}
	run, deadline := rec.Run+1, s.now().Add(startDeadline)
	m := store.Move{
		ID: rec.ID, From: rec.State, Version: rec.Version, To: sessions.Starting,
		Actor: sessions.ActorUser, Reason: "restarted by the user",
		Run: &run, Owner: &s.Owner, Deadline: &deadline, EndedAt: &zeroTime,
	}
	if how.Conversation != rec.ConversationID && how.Way != agent.WayPlain {
		m.Conversation = &how.Conversation
		m.Evidence = fmt.Sprintf("conversation %s -> %s", named(rec.ConversationID), named(how.Conversation))
	}
	if how.Way != agent.WayPlain {
		used := rec.ConversationUsed && how.Way != agent.WayFresh || how.Way == agent.WayResume
		m.ConversationUsed = &used
	}
	rec, err := s.move(ctx, m)
	if errors.Is(err, sessions.ErrConflict) {
		return rec, &sessions.Error{
			Code: sessions.CodeConflict, Message: "somebody else changed the session at the same moment",
			Hint: "look at its state and try again", Cause: err,
		}
	}
	return rec, err
}

func named(conversation string) string {
	if conversation == "" {
		return "(not known)"
	}
	return conversation
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
		if e.Details == nil {
			e.Details = map[string]any{}
		}
		if _, names := e.Details["sessionId"]; !names {
			e.Details["sessionId"] = id
		}
	}
	return err
}
