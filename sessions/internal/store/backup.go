package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"corral/sessions"
	"corral/sessions/backup"
)

// The tables of a backup, in the order in which rows may refer to earlier ones.
const (
	tableNodes    = "nodes"
	tableSessions = "sessions"
	tableEvents   = "terminal_events"
)

// sqlPatient lifts the limits of ordinary statements for the transaction: a backup goes as fast as it is read.
const sqlPatient = `
SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', @idle, true)`

const sqlSchema = `SELECT COALESCE(max(number), 0) FROM schema_migrations`

// Rows go into a backup whole, whatever columns they have: these statements name none on purpose.
const (
	sqlBackupNodes    = `SELECT row_to_json(n)::text FROM nodes n ORDER BY name`
	sqlBackupSessions = `SELECT row_to_json(s)::text FROM sessions s ORDER BY created_at, id`
	sqlBackupEvents   = `SELECT row_to_json(e)::text FROM terminal_events e ORDER BY id`
)

// patience is how long a transaction of a backup or a restore may wait for its reader or writer.
const patience = time.Minute

// Backup writes all metadata to w as they are at one moment, while others go on changing them.
func (s *Store) Backup(ctx context.Context, w io.Writer, node string, at time.Time) error {
	const doing = "back up the metadata"
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return Explain(ctx, doing, pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlPatient, pgx.StrictNamedArgs{"idle": milliseconds(patience)}); err != nil {
			return err
		}
		var schema int
		if err := tx.QueryRow(ctx, sqlSchema).Scan(&schema); err != nil {
			return err
		}
		out, err := backup.NewWriter(w, backup.Header{Schema: schema, Node: node, MadeAt: at.UTC()})
		if err != nil {
			return err
		}
		for _, t := range []struct{ table, sql string }{
			{tableNodes, sqlBackupNodes}, {tableSessions, sqlBackupSessions}, {tableEvents, sqlBackupEvents},
		} {
			sql := t.sql
			rows, err := tx.Query(ctx, sql)
			if err != nil {
				return err
			}
			var row string
			_, err = pgx.ForEachRow(rows, []any{&row}, func() error {
				return out.Write(backup.Row{Table: t.table, Row: json.RawMessage(row)})
			})
			if err != nil {
				return err
			}
		}
		return out.Close()
	}))
}

// Writers wait until a restore is through; readers see what was before it.
const sqlRestoreLock = `LOCK TABLE nodes, sessions, terminal_events IN EXCLUSIVE MODE`

// sqlRestoreBase is above every version that anybody may have seen, so that no compare-and-set made for an old row
// meets a restored one.
const sqlRestoreBase = `SELECT COALESCE(max(version), 0) FROM sessions`

const (
	sqlRestoreClearSessions = `DELETE FROM sessions`
	sqlRestoreClearEvents   = `DELETE FROM terminal_events`
	sqlRestoreClearNodes    = `DELETE FROM nodes`
)

// The node that made the backup is this node now, also on another machine. A backup of the first schema has no
// state_since.
const (
	sqlRestoreNodes = `
INSERT INTO nodes (name, created_at)
SELECT CASE WHEN e ->> 'name' = @made_on THEN @node ELSE e ->> 'name' END, (e ->> 'created_at')::timestamptz
FROM jsonb_array_elements(@rows::jsonb) e
ON CONFLICT (name) DO NOTHING`

	sqlRestoreSessions = `
SELECT restore_rows('sessions', jsonb_agg(e || jsonb_build_object(
	'version', (e ->> 'version')::bigint + @base,
	'state_since', COALESCE(e -> 'state_since', e -> 'updated_at'),
	'node', CASE WHEN e ->> 'node' = @made_on THEN @node ELSE e ->> 'node' END)))
FROM jsonb_array_elements(@rows::jsonb) e`

	sqlRestoreEvents = `SELECT restore_rows('terminal_events', @rows)`
)

// sqlRestoreNumbers lets later events have later numbers than both histories.
const sqlRestoreNumbers = `
SELECT setval('terminal_events_id_seq', GREATEST(
	(SELECT last_value FROM terminal_events_id_seq), (SELECT COALESCE(max(id), 1) FROM terminal_events)))`

// sqlRestoreNews makes every listener read the whole list.
const sqlRestoreNews = `SELECT pg_notify('corral_sessions', '')`

// restoreBatch is how many rows go in at once.
const restoreBatch = 500

// Restore replaces all metadata by those of a backup, in one transaction: a file that turns out to be bad changes
// nothing. It returns what was in it.
func (s *Store) Restore(ctx context.Context, r io.Reader, node string) (sessions.Restored, error) {
	in, err := backup.NewReader(r)
	if err != nil {
		return sessions.Restored{}, err
	}
	out := sessions.Restored{MadeAt: in.Header.MadeAt}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := restorable(ctx, tx, in.Header); err != nil {
			return err
		}
		to := &restoring{tx: tx, args: pgx.NamedArgs{"node": node, "made_on": in.Header.Node}}
		if err := to.clear(ctx); err != nil {
			return err
		}
		for {
			row, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if err := to.add(ctx, row); err != nil {
				return err
			}
			switch row.Table {
			case tableSessions:
				out.Sessions++
			case tableEvents:
				out.Events++
			}
		}
		return to.finish(ctx)
	})
	return out, Explain(ctx, "restore the metadata", refused(err))
}

// restorable prepares the transaction and checks that this schema can take the backup's rows.
func restorable(ctx context.Context, tx pgx.Tx, h backup.Header) error {
	if _, err := tx.Exec(ctx, sqlPatient, pgx.StrictNamedArgs{"idle": milliseconds(patience)}); err != nil {
		return err
	}
	var schema int
	if err := tx.QueryRow(ctx, sqlSchema).Scan(&schema); err != nil {
		return err
	}
	if h.Schema > schema {
		return &sessions.Error{
			Code:    sessions.CodeInvalid,
			Message: fmt.Sprintf("the backup was made by a newer corral (schema %d, this one has %d)", h.Schema, schema),
			Hint:    "restore it with the newer corral",
		}
	}
	return nil
}

// refused explains that the database took a row of the backup for none of its own.
func refused(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || len(pg.Code) < 2 || pg.Code[:2] != "22" && pg.Code[:2] != "23" { // data exception, constraint
		return err
	}
	return &sessions.Error{
		Code: sessions.CodeInvalid, Message: "the backup has a row that the database refuses: " + sessions.CleanLine(pg.Message, 200),
		Hint: "use another one", Cause: err,
	}
}

// restoring is a restore in the middle.
type restoring struct {
	tx    pgx.Tx
	args  pgx.NamedArgs // of every statement; each takes those that it names
	table string        // of the rows below
	rows  []json.RawMessage
}

func (r *restoring) clear(ctx context.Context) error {
	if _, err := r.tx.Exec(ctx, sqlRestoreLock); err != nil {
		return err
	}
	var base int64
	if err := r.tx.QueryRow(ctx, sqlRestoreBase).Scan(&base); err != nil {
		return err
	}
	r.args["base"] = base
	if _, err := r.tx.Exec(ctx, sqlRestoreClearSessions); err != nil {
		return err
	}
	if _, err := r.tx.Exec(ctx, sqlRestoreClearEvents); err != nil {
		return err
	}
	_, err := r.tx.Exec(ctx, sqlRestoreClearNodes)
	return err
}

func (r *restoring) add(ctx context.Context, row backup.Row) error {
	if row.Table != r.table || len(r.rows) == restoreBatch {
		if err := r.flush(ctx); err != nil {
			return err
		}
		r.table = row.Table
	}
	r.rows = append(r.rows, row.Row)
	return nil
}

func (r *restoring) flush(ctx context.Context) error {
	if len(r.rows) == 0 {
		return nil
	}
	rows := append([]byte{'['}, append(bytes.Join(raw(r.rows), []byte{','}), ']')...)
	r.args["rows"] = string(rows)
	r.rows = r.rows[:0]
	sql := ""
	switch r.table {
	case tableNodes:
		sql = sqlRestoreNodes
	case tableSessions:
		sql = sqlRestoreSessions
	case tableEvents:
		sql = sqlRestoreEvents
	default:
		return &sessions.Error{
			Code: sessions.CodeInvalid, Message: "the backup has rows that this corral does not know: " + sessions.CleanLine(r.table, 60),
			Hint: "restore it with the version of corral that made it",
		}
	}
	_, err := r.tx.Exec(ctx, sql, r.args)
	return err
}

func raw(rows []json.RawMessage) [][]byte {
	out := make([][]byte, len(rows))
	for i, row := range rows {
		out[i] = row
	}
	return out
}

func (r *restoring) finish(ctx context.Context) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	if _, err := r.tx.Exec(ctx, sqlRestoreNumbers); err != nil {
		return err
	}
	_, err := r.tx.Exec(ctx, sqlRestoreNews)
	return err
}
