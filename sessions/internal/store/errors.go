package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"corral/sessions"
)

// Explain turns an error of the driver into one that people and programs can act on; doing says what was tried, as in
// "list sessions". It is the only place that knows the driver's errors. nil and errors it does not know stay what they
// are, the latter wrapped.
func Explain(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	var known *sessions.Error
	if errors.As(err, &known) {
		return err
	}
	wrapped := fmt.Errorf("%s: %w", doing, err)
	// The caller's own end comes first: after it any other error is only its consequence.
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return tooSlow(wrapped)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return explainServer(pg, wrapped)
	}
	if isCut(err) {
		return unavailable("PostgreSQL does not answer", "corral status shows its state", wrapped)
	}
	return wrapped
}

// explainServer explains what PostgreSQL itself said, by SQLSTATE (PostgreSQL documentation, appendix A).
func explainServer(pg *pgconn.PgError, wrapped error) error {
	switch pg.Code {
	case "53300": // too_many_connections
		return unavailable("PostgreSQL has no connection left", "close other programs that use this database, or raise max_connections", wrapped)
	case "53100": // disk_full
		return unavailable("the disk of the database is full", "make room on it; nothing was lost", wrapped)
	case "25006": // read_only_sql_transaction
		return unavailable("the database is read-only", "it may be a standby; point CR_DATABASE_URL at the primary", wrapped)
	case "57014", "55P03": // query_canceled (by statement_timeout), lock_not_available (by lock_timeout)
		return tooSlow(wrapped)
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return conflict("somebody else changed the same thing at the same time", "try again", wrapped)
	case "3D000": // invalid_catalog_name
		return unavailable("the database does not exist", "create it, or correct CR_DATABASE_URL", wrapped)
	case "42P01", "42703", "3F000": // undefined_table, undefined_column, invalid_schema_name
		return unavailable("the database lacks Corral's tables", "restart the server with corral down and corral up; it makes them", wrapped)
	case "42501": // insufficient_privilege
		return unavailable("the database's role may not do this", "give it the ownership of the database", wrapped)
	case "23505": // unique_violation
		return conflict("there is one with this id already", "", wrapped)
	case "23503": // foreign_key_violation
		if pg.ConstraintName == "terminal_events_transition" {
			return conflict("this change of state does not exist", "", wrapped)
		}
	case "23514", "22001", "22003", "22021", "22P02": // check_violation; too long, out of range, no UTF-8, no UUID
		return &sessions.Error{
			Code:    sessions.CodeInvalid,
			Message: "the database refuses this value",
			Details: map[string]any{"constraint": pg.ConstraintName},
			Cause:   wrapped,
		}
	}
	switch pg.Code[:min(2, len(pg.Code))] {
	case "08", "57": // connection exception; operator intervention: shutdown, crash, starting up
		return unavailable("PostgreSQL is starting or stopping", "it is restarted by itself; try again in a moment", wrapped)
	case "28": // invalid authorization
		return unavailable("PostgreSQL refuses the login", "check the role in CR_DATABASE_URL and the password in PGPASSFILE", wrapped)
	case "53", "58", "XX": // insufficient resources, system error, internal error: data file or disk trouble
		return unavailable("PostgreSQL is in trouble: "+sessions.CleanLine(pg.Message, 200), "its log says more", wrapped)
	}
	return wrapped
}

// isCut reports whether err means that there is no connection, or that it broke.
func isCut(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	var errno syscall.Errno
	return errors.As(err, &connect) || errors.As(err, &network) || errors.As(err, &errno) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || // the connect timeout: the caller's context is well
		pgconn.SafeToRetry(err) || // nothing was sent
		// The pool and the connection have no sentinels for having been closed under their user.
		strings.HasSuffix(err.Error(), "closed pool") || strings.HasSuffix(err.Error(), "conn closed")
}

func unavailable(message, hint string, cause error) error {
	return &sessions.Error{Code: sessions.CodeDatabaseUnavailable, Message: message, Hint: hint, Cause: cause}
}

func conflict(message, hint string, cause error) error {
	return &sessions.Error{Code: sessions.CodeConflict, Message: message, Hint: hint, Cause: cause}
}

func tooSlow(cause error) error {
	return &sessions.Error{
		Code: sessions.CodeDeadline, Message: "the database took too long", Hint: "try again", Cause: cause,
	}
}

func notFound(id sessions.ID, cause error) error {
	return &sessions.Error{
		Code:    sessions.CodeNotFound,
		Message: "there is no session " + sessions.CleanLine(string(id), 40),
		Hint:    "corral ls shows what there is",
		Cause:   cause,
	}
}

// malformedID reports that PostgreSQL did not take a text for a UUID: no session has such an id.
func malformedID(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "22P02" // invalid_text_representation
}

// noSuchRow reports the two ways in which an id can match nothing.
func noSuchRow(err error) bool { return errors.Is(err, pgx.ErrNoRows) || malformedID(err) }
