package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"corral/sessions"
)

// defaultEvents is how many events a query without a limit gets.
const defaultEvents = 1000

const sqlEventColumns = `e.id, e.session_id, e.at, e.actor, e.from_state, e.to_state, e.reason,
	e.evidence, e.exit_code, e.signal`

type eventRow struct {
	ID        int64
	SessionID sessions.ID
	At        time.Time
	Actor     sessions.Actor
	FromState sessions.State
	ToState   sessions.State
	Reason    string
	Evidence  string
	ExitCode  *int
	Signal    *int
}

func (r eventRow) event() sessions.Event {
	return sessions.Event{
		ID:        r.ID,
		SessionID: r.SessionID,
		At:        r.At.UTC(),
		Actor:     r.Actor,
		From:      r.FromState,
		To:        r.ToState,
		Reason:    r.Reason,
		Evidence:  r.Evidence,
		ExitCode:  r.ExitCode,
		Signal:    r.Signal,
	}
}

const sqlEvents = `
SELECT ` + sqlEventColumns + ` FROM terminal_events e WHERE e.id > @after ORDER BY e.id LIMIT @limit`

const sqlEventsOfSession = `
SELECT ` + sqlEventColumns + ` FROM terminal_events e
WHERE e.session_id = @session AND e.id > @after ORDER BY e.id LIMIT @limit`

// Events returns events in rising order of id. Ids become visible in their order, so a follower that asks for those
// after the last one it saw misses none. Events of removed sessions are included.
func (s *Store) Events(ctx context.Context, q EventQuery) ([]sessions.Event, error) {
	const doing = "read events"
	sql, args := sqlEvents, pgx.StrictNamedArgs{"after": q.After, "limit": q.Limit}
	if q.Session != "" {
		sql, args["session"] = sqlEventsOfSession, string(q.Session)
	}
	if q.Limit <= 0 {
		args["limit"] = defaultEvents
	}
	events, err := s.events(ctx, sql, args)
	if malformedID(err) {
		return nil, notFound(q.Session, err)
	}
	return events, Explain(ctx, doing, err)
}

// events returns the driver's error.
func (s *Store) events(ctx context.Context, sql string, args pgx.StrictNamedArgs) ([]sessions.Event, error) {
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (sessions.Event, error) {
		r, err := pgx.RowToStructByName[eventRow](row)
		return r.event(), err
	})
}

// pruneBatch is how many events one statement removes at most, so that none takes long.
const pruneBatch = 5000

const sqlPruneEvents = `
DELETE FROM terminal_events WHERE id IN (
	SELECT e.id FROM terminal_events e
	WHERE e.at < @before AND NOT EXISTS (
		SELECT 1 FROM sessions s WHERE s.id = e.session_id AND e.id = (
			SELECT max(newest.id) FROM terminal_events newest WHERE newest.session_id = s.id
		)
	)
	LIMIT @batch
)`

// PruneEvents removes events older than before and returns how many went. The newest event of each session that is in
// the list stays: it says why the session is as it is.
func (s *Store) PruneEvents(ctx context.Context, before time.Time) (int64, error) {
	var pruned int64
	for {
		tag, err := s.pool.Exec(ctx, sqlPruneEvents, pgx.StrictNamedArgs{"before": before.UTC(), "batch": pruneBatch})
		if err != nil {
			return pruned, Explain(ctx, "prune events", err)
		}
		pruned += tag.RowsAffected()
		if tag.RowsAffected() < pruneBatch {
			return pruned, nil
		}
	}
}
