package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// sqlColumns are the columns of sessionRow, in every statement that reads sessions.
const sqlColumns = `id, title, project, cwd, kind, args, conversation_id, state, state_reason,
	state_since, state_evidence, exit_code, signal, node, run, owner, deadline, tmux_pid, tmux_start, tmux_boot_id,
	ended_at, cols, rows, created_at, updated_at, last_activity_at, version, conversation_used`

// sessionRow is a row of sessions as the driver reads it, by name.
type sessionRow struct {
	ID             sessions.ID
	Title          string
	Project        string
	CWD            string
	Kind           sessions.Kind
	Args           []string
	ConversationID string
	State          sessions.State
	StateReason    string
	StateSince     time.Time
	StateEvidence  string
	ExitCode       *int
	Signal         *int
	Node           string
	Run            int
	Owner          string
	Deadline       *time.Time
	TmuxPID        int    `db:"tmux_pid"`
	TmuxStart      int64  `db:"tmux_start"`
	TmuxBootID     string `db:"tmux_boot_id"`
	EndedAt        *time.Time
	Cols           int
	Rows           int
	CreatedAt      time.Time
	UpdatedAt      time.Time
	LastActivityAt time.Time
	Version        int64

	ConversationUsed bool
}

func (r sessionRow) record() Record {
	return Record{
		Session: sessions.Session{
			ID:             r.ID,
			Title:          r.Title,
			Project:        r.Project,
			CWD:            r.CWD,
			Kind:           r.Kind,
			Args:           r.Args,
			ConversationID: r.ConversationID,
			State:          r.State,
			StateReason:    r.StateReason,
			StateSince:     r.StateSince.UTC(),
			StateEvidence:  r.StateEvidence,
			ExitCode:       r.ExitCode,
			Signal:         r.Signal,
			Node:           r.Node,
			CreatedAt:      r.CreatedAt.UTC(),
			UpdatedAt:      r.UpdatedAt.UTC(),
			LastActivityAt: r.LastActivityAt.UTC(),
		},
		Version:  r.Version,
		Run:      r.Run,
		Owner:    r.Owner,
		Deadline: orZero(r.Deadline),
		Tmux:     rtapi.Incarnation{PID: r.TmuxPID, Start: r.TmuxStart, BootID: r.TmuxBootID},
		EndedAt:  orZero(r.EndedAt),
		Cols:     r.Cols,
		Rows:     r.Rows,

		ConversationUsed: r.ConversationUsed,
	}
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// orNull is the inverse of orZero, for arguments.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC()
	return &u
}

// one runs a statement that yields one session at most. The error is the driver's.
func (s *Store) one(ctx context.Context, sql string, args pgx.StrictNamedArgs) (Record, error) {
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return Record{}, err
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[sessionRow])
	if err != nil {
		return Record{}, err
	}
	return row.record(), nil
}

// missed says why a statement guarded by version touched nothing: the session is gone, or is not as the caller saw it.
func (s *Store) missed(ctx context.Context, doing string, id sessions.ID) error {
	now, err := s.Get(ctx, id)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return err
	case err != nil:
		return err
	}
	return &sessions.Error{
		Code:    sessions.CodeConflict,
		Message: doing + ": somebody else changed the session " + id.Short() + " meanwhile; it is " + string(now.State) + " now",
		Hint:    "look at it and try again",
		Details: map[string]any{"state": now.State},
	}
}
