package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"corral/sessions"
)

// Reasons and evidence may quote what a program, tmux or the kernel said. They are cleaned and cut to these bytes, so
// that nothing anybody prints can make a move fail.
const (
	maxReason   = 500
	maxEvidence = 2000
)

// sqlInsert makes a session, its node when it is the node's first, and the event of the creation.
const sqlInsert = `
WITH node AS (
	INSERT INTO nodes (name, created_at) VALUES (@node, @at) ON CONFLICT (name) DO NOTHING
), created AS (
	INSERT INTO sessions (id, title, project, cwd, kind, args, conversation_id, state, state_reason,
		state_since, state_evidence, exit_code, signal, node, run, owner, deadline, tmux_pid, tmux_start, tmux_boot_id,
		ended_at, cols, rows, created_at, updated_at, last_activity_at, version,
		conversation_used)
	VALUES (@id, @title, @project, @cwd, @kind, @args, @conversation, @state, @reason,
		@at, @evidence, NULL, NULL, @node, @run, @owner, @deadline, @tmux_pid, @tmux_start, @tmux_boot_id,
		NULL, @cols, @rows, @created_at, @at, @activity, 1, @used)
	RETURNING ` + sqlColumns + `
), event AS (
	INSERT INTO terminal_events (session_id, at, actor, from_state, to_state, reason, evidence)
	SELECT id, @at, @actor, '', state, @reason, @evidence FROM created
)
SELECT ` + sqlColumns + ` FROM created`

// Create writes a new session's row and the event of its creation, whose reason also becomes the row's. The row gets
// version 1 whatever r says. UpdatedAt is the time of the event.
func (s *Store) Create(ctx context.Context, r Record, actor sessions.Actor, reason string) (Record, error) {
	return s.insert(ctx, r, actor, reason, "")
}

// Adopt is Create for a live terminal whose row is unknown: the actor is the reconciler, and evidence says what was
// seen.
func (s *Store) Adopt(ctx context.Context, r Record, evidence string) (Record, error) {
	return s.insert(ctx, r, sessions.ActorReconciler, "adopted", evidence)
}

func (s *Store) insert(ctx context.Context, r Record, actor sessions.Actor, reason, evidence string) (Record, error) {
	created, err := s.one(ctx, sqlInsert, pgx.StrictNamedArgs{
		"id":           string(r.ID),
		"title":        r.Title,
		"project":      r.Project,
		"cwd":          r.CWD,
		"kind":         string(r.Kind),
		"args":         notNull(r.Args),
		"conversation": r.ConversationID,
		"used":         r.ConversationUsed,
		"state":        string(r.State),
		"reason":       sessions.CleanLine(reason, maxReason),
		"node":         r.Node,
		"run":          max(r.Run, 1),
		"owner":        r.Owner,
		"deadline":     orNull(r.Deadline),
		"tmux_pid":     r.Tmux.PID,
		"tmux_start":   r.Tmux.Start,
		"tmux_boot_id": r.Tmux.BootID,
		"cols":         r.Cols,
		"rows":         r.Rows,
		"created_at":   r.CreatedAt.UTC(),
		"at":           r.UpdatedAt.UTC(),
		"activity":     r.LastActivityAt.UTC(),
		"actor":        string(actor),
		"evidence":     sessions.CleanLine(evidence, maxEvidence),
	})
	if err != nil {
		return Record{}, Explain(ctx, fmt.Sprintf("create session %s", r.ID), err)
	}
	return created, nil
}

func notNull(args []string) []string {
	if args == nil {
		return []string{}
	}
	return args
}

// sqlMove changes the state by compare-and-set and writes the event. What belongs to a state ends with it: see Move.
const sqlMove = `
WITH moved AS (
	UPDATE sessions SET
		state          = @to,
		state_reason   = @reason,
		state_since    = @at,
		state_evidence = @evidence,
		exit_code      = @exit_code,
		signal         = @signal,
		conversation_id   = COALESCE(@conversation, conversation_id),
		conversation_used = COALESCE(@used, conversation_used),
		run            = COALESCE(@run, run),
		owner          = CASE WHEN @to = 'STARTING' THEN COALESCE(@owner, owner) ELSE '' END,
		deadline       = CASE WHEN @to IN ('STARTING', 'STOPPING') THEN @deadline::timestamptz END,
		tmux_pid       = COALESCE(@tmux_pid, tmux_pid),
		tmux_start     = COALESCE(@tmux_start, tmux_start),
		tmux_boot_id   = COALESCE(@tmux_boot_id, tmux_boot_id),
		ended_at       = CASE WHEN @to IN ('STOPPED', 'FAILED', 'RECOVERABLE') THEN COALESCE(@ended_at, ended_at, @at) END,
		cols           = COALESCE(@cols, cols),
		rows           = COALESCE(@rows, rows),
		updated_at     = @at,
		version        = version + 1
	WHERE id = @id AND state = @from AND version = @version
	RETURNING ` + sqlColumns + `
), event AS (
	INSERT INTO terminal_events (session_id, at, actor, from_state, to_state, reason, evidence, exit_code, signal)
	SELECT id, @at, @actor, @from, state, @reason, @evidence, exit_code, signal FROM moved
)
SELECT ` + sqlColumns + ` FROM moved`

// Move changes a session's state by compare-and-set and writes the event of it in the same transaction. The error is
// sessions.ErrNotFound when there is no such session, and sessions.ErrConflict when it is not at From and Version or
// when no such move exists.
//
// What belongs to a state ends with it, whatever m says: the owner when the session is no longer STARTING, the deadline
// when it is neither STARTING nor STOPPING (a new one of these has the deadline that m gives, or none), and the end of
// the last run when it is live again. A session that ends without m.EndedAt ended at m.At; one that had ended before
// keeps its end.
func (s *Store) Move(ctx context.Context, m Move) (Record, error) {
	args := pgx.StrictNamedArgs{
		"id":           string(m.ID),
		"from":         string(m.From),
		"version":      m.Version,
		"to":           string(m.To),
		"at":           m.At.UTC(),
		"actor":        string(m.Actor),
		"reason":       sessions.CleanLine(m.Reason, maxReason),
		"evidence":     sessions.CleanLine(m.Evidence, maxEvidence),
		"exit_code":    m.ExitCode,
		"signal":       m.Signal,
		"conversation": m.Conversation,
		"used":         m.ConversationUsed,
		"run":          m.Run,
		"owner":        m.Owner,
		"deadline":     nil,
		"tmux_pid":     nil,
		"tmux_start":   nil,
		"tmux_boot_id": nil,
		"ended_at":     nil,
		"cols":         nil,
		"rows":         nil,
	}
	if m.Deadline != nil {
		args["deadline"] = orNull(*m.Deadline)
	}
	if m.Tmux != nil {
		args["tmux_pid"], args["tmux_start"], args["tmux_boot_id"] = m.Tmux.PID, m.Tmux.Start, m.Tmux.BootID
	}
	if m.EndedAt != nil {
		args["ended_at"] = orNull(*m.EndedAt)
	}
	if m.Size != nil {
		args["cols"], args["rows"] = m.Size[0], m.Size[1]
	}
	doing := fmt.Sprintf("move session %s to %s", m.ID.Short(), m.To)
	moved, err := s.one(ctx, sqlMove, args)
	if noSuchRow(err) {
		return Record{}, s.missed(ctx, doing, m.ID)
	}
	if err != nil {
		return Record{}, Explain(ctx, doing, err)
	}
	return moved, nil
}

const sqlUpdate = `
UPDATE sessions SET
	title      = COALESCE(@title, title),
	project    = COALESCE(@project, project),
	updated_at = @at,
	version    = version + 1
WHERE id = @id
RETURNING ` + sqlColumns

// Update changes title and project; nil leaves a field alone. The last writer of a field wins, other fields and the
// state are never touched. The version rises, so a Move from a row read before is a conflict.
func (s *Store) Update(ctx context.Context, id sessions.ID, title, project *string, at time.Time) (Record, error) {
	r, err := s.one(ctx, sqlUpdate, pgx.StrictNamedArgs{
		"id": string(id), "title": title, "project": project, "at": at.UTC(),
	})
	return r, s.explainOne(ctx, "change session", id, err)
}

const sqlTouch = `UPDATE sessions SET last_activity_at = GREATEST(last_activity_at, @activity) WHERE id = @id`

// Touch moves a session's last activity forward, never back. No decision rests on it, so it raises no version, wakes no
// listener, and an unknown session is no error.
func (s *Store) Touch(ctx context.Context, id sessions.ID, activity time.Time) error {
	_, err := s.pool.Exec(ctx, sqlTouch, pgx.StrictNamedArgs{"id": string(id), "activity": activity.UTC()})
	return Explain(ctx, "touch session "+id.Short(), err)
}

const sqlSetSize = `UPDATE sessions SET cols = @cols, rows = @rows WHERE id = @id`

// SetSize notes the size of a session's terminal, for its next start. Like Touch it is no news to anybody.
func (s *Store) SetSize(ctx context.Context, id sessions.ID, cols, rows int) error {
	_, err := s.pool.Exec(ctx, sqlSetSize, pgx.StrictNamedArgs{"id": string(id), "cols": cols, "rows": rows})
	return Explain(ctx, "note the size of session "+id.Short(), err)
}

const sqlGet = `SELECT ` + sqlColumns + ` FROM sessions WHERE id = @id`

// Get returns one session.
func (s *Store) Get(ctx context.Context, id sessions.ID) (Record, error) {
	r, err := s.one(ctx, sqlGet, pgx.StrictNamedArgs{"id": string(id)})
	return r, s.explainOne(ctx, "read session", id, err)
}

func (s *Store) explainOne(ctx context.Context, doing string, id sessions.ID, err error) error {
	if noSuchRow(err) {
		return notFound(id, err)
	}
	return Explain(ctx, doing+" "+id.Short(), err)
}

const sqlList = `SELECT ` + sqlColumns + ` FROM sessions ORDER BY created_at, id`

// List returns every session, oldest first.
func (s *Store) List(ctx context.Context) ([]Record, error) {
	const doing = "list sessions"
	rows, err := s.pool.Query(ctx, sqlList)
	if err != nil {
		return nil, Explain(ctx, doing, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Record, error) {
		r, err := pgx.RowToStructByName[sessionRow](row)
		return r.record(), err
	})
	return list, Explain(ctx, doing, err)
}

const sqlCounts = `SELECT state, count(*) FROM sessions GROUP BY state`

// Counts returns how many sessions are in each state; states without any are absent.
func (s *Store) Counts(ctx context.Context) (map[sessions.State]int, error) {
	const doing = "count sessions"
	rows, err := s.pool.Query(ctx, sqlCounts)
	if err != nil {
		return nil, Explain(ctx, doing, err)
	}
	counts := make(map[sessions.State]int)
	var state sessions.State
	var n int
	_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error {
		counts[state] = n
		return nil
	})
	return counts, Explain(ctx, doing, err)
}

const sqlDelete = `DELETE FROM sessions WHERE id = @id AND version = @version`

// Delete removes a session's row if it is at version; its events stay until their time is over. Whether the session
// may go is the caller's decision, made on the row at that version.
func (s *Store) Delete(ctx context.Context, id sessions.ID, version int64) error {
	doing := "remove session " + id.Short()
	tag, err := s.pool.Exec(ctx, sqlDelete, pgx.StrictNamedArgs{"id": string(id), "version": version})
	switch {
	case malformedID(err):
		return notFound(id, err)
	case err != nil:
		return Explain(ctx, doing, err)
	case tag.RowsAffected() == 0:
		return s.missed(ctx, doing, id)
	}
	return nil
}
