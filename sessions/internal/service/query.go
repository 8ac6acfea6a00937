package service

import (
	"context"
	"fmt"
	"time"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

// Get returns one session. With the database away it is what the board knows.
func (s *Service) Get(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	if _, err := s.Store(); err == nil {
		rec, err := s.read(ctx, id)
		if err == nil {
			return s.shown(rec), nil
		}
		if sessions.CodeOf(err) != sessions.CodeDatabaseUnavailable {
			return sessions.Session{}, err
		}
	}
	if seen, ok := s.Board.Get(id); ok {
		return seen, nil
	}
	return sessions.Session{}, notFound(id)
}

// List returns every session, oldest first, as the board shows them: it answers also while the database is away.
func (s *Service) List() []sessions.Session { return s.Board.List() }

// Events returns events in rising order.
func (s *Service) Events(ctx context.Context, q store.EventQuery) ([]sessions.Event, error) {
	st, err := s.Store()
	if err != nil {
		return nil, err
	}
	events, err := st.Events(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return events, nil
}

// Screen returns what a session shows now, or showed last if the runtime still has it, or its journal.
func (s *Service) Screen(ctx context.Context, id sessions.ID) (sessions.Screen, error) {
	if err := s.known(id); err != nil {
		return sessions.Screen{}, err
	}
	sc, err := s.Runtime.Screen(ctx, string(id))
	if err != nil {
		return sessions.Screen{}, s.terminalError(err)
	}
	return sessions.Screen{
		SessionID: id, Cols: sc.Cols, Rows: sc.Rows, Text: sc.Text, ANSI: sc.ANSI,
		CursorRow: &sc.CursorRow, CursorColumn: &sc.CursorColumn,
		Alternate: sc.Alternate, Title: sessions.CleanTitle(sc.Title), At: sc.At,
	}, nil
}

// History returns lines of a session's scrollback.
func (s *Service) History(ctx context.Context, id sessions.ID, lines, before int) (sessions.History, error) {
	if lines < 0 || before < 0 {
		return sessions.History{}, invalid("lines", "lines and before must not be negative", "leave them out for everything")
	}
	if err := s.known(id); err != nil {
		return sessions.History{}, err
	}
	h, err := s.Runtime.History(ctx, string(id), lines, before)
	if err != nil {
		return sessions.History{}, s.terminalError(err)
	}
	return sessions.History{SessionID: id, Lines: h.Lines, Total: h.Total}, nil
}

// Input types into a live session.
func (s *Service) Input(ctx context.Context, id sessions.ID, r sessions.InputRequest) error {
	seen, ok := s.Board.Get(id)
	if !ok {
		return notFound(id)
	}
	if err := s.here(seen); err != nil {
		return err
	}
	if !seen.State.Live() {
		return stateConflict(store.Record{Session: seen}, "nothing runs that could read input", "restart it first")
	}
	if r.Text == "" && len(r.Keys) == 0 && !r.Enter {
		return invalid("text", "there is nothing to type", "give text, keys or enter")
	}
	if err := s.Runtime.Input(ctx, string(id), rtapi.InputRequest(r)); err != nil {
		return s.terminalError(err)
	}
	return nil
}

// statusTimeout bounds the question to the runtime: a status must come also when it hangs.
const statusTimeout = 2 * time.Second

// Status returns the state of every role. It never fails: what does not answer is DOWN.
func (s *Service) Status(ctx context.Context) sessions.Status {
	status := sessions.Status{
		Server:   s.Self,
		Runtime:  sessions.RoleStatus{State: sessions.Down, Socket: s.RuntimeSocket},
		Recorder: sessions.RoleStatus{State: sessions.Down},
		Tmux:     sessions.TmuxStatus{State: sessions.Down},
		Database: s.Board.Database(),
		Nodes:    []sessions.NodeStatus{s.Board.Node()},
		Sessions: map[sessions.State]int{},
		Tasks:    map[sessions.TaskState]int{},
	}
	for _, seen := range s.Board.List() {
		status.Sessions[seen.State]++
	}
	for _, t := range s.Board.Tasks() {
		status.Tasks[t.State]++
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	rt, err := s.Runtime.Status(ctx)
	if err != nil {
		return status
	}
	status.Runtime.State, status.Runtime.PID = sessions.Up, rt.PID
	status.Journal = sessions.JournalStatus(rt.Journal)
	if rt.RecorderPID != 0 {
		status.Recorder.State, status.Recorder.PID = sessions.Up, rt.RecorderPID
	}
	status.Tmux = sessions.TmuxStatus{
		State: sessions.Down, PID: rt.Tmux.Server.PID, Socket: rt.Tmux.Socket, Version: rt.Tmux.Version,
		Placement: rt.Tmux.Placement, SurvivesLogout: rt.Tmux.SurvivesLogout,
	}
	if rt.Tmux.Up {
		status.Tmux.State = sessions.Up
	}
	return status
}

// known refuses a session whose terminal there is no use in asking for.
func (s *Service) known(id sessions.ID) error {
	seen, ok := s.Board.Get(id)
	if !ok && s.Board.Complete() {
		return notFound(id)
	}
	return s.here(seen)
}

// terminalError is runtimeError for a session that is known: then the runtime's "not found" is about its terminal.
func (s *Service) terminalError(err error) error {
	if isNotFound(err) {
		return &sessions.Error{
			Code: sessions.CodeConflict, Message: "nothing is left of this session's terminal",
			Hint: "restart it", Cause: err,
		}
	}
	return runtimeError(err)
}
