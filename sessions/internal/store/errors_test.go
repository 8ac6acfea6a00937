package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"corral/migrations/pgtest"
	"corral/sessions"
	"corral/sessions/internal/store"
)

func connect(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := store.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// checkUnavailable demands an error that says in one sentence what is wrong with the database.
func checkUnavailable(t *testing.T, err error, word string) {
	t.Helper()
	var e *sessions.Error
	if !errors.As(err, &e) || e.Code != sessions.CodeDatabaseUnavailable || !strings.Contains(e.Message, word) {
		t.Errorf("got %v", err)
		return
	}
	if e.Cause == nil || strings.Contains(e.Error(), "SQLSTATE") {
		t.Errorf("not for people: %v, cause %v", e, e.Cause)
	}
}

func TestConnectRefusesAnUnreadableURL(t *testing.T) {
	t.Parallel()
	_, err := store.Connect(t.Context(), "postgres://corral:hunter2@host:port:port/x")
	if !errors.Is(err, sessions.ErrInvalid) || strings.Contains(fmt.Sprintf("%+v", err), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestConnectSetsLimits(t *testing.T) {
	t.Parallel()
	pool := connect(t, pgtest.URL(t)+"&statement_timeout=1234")
	for name, want := range map[string]string{
		"statement_timeout": "1234ms", "idle_in_transaction_session_timeout": "8s", "timezone": "UTC", "application_name": "corral",
	} {
		var got string
		if err := pool.QueryRow(t.Context(), `SELECT current_setting($1)`, name).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	s := store.New(connect(t, "postgres://corral@/corral?host="+t.TempDir()+"&port=5432"))
	_, err := s.List(t.Context())
	checkUnavailable(t, err, "does not answer")
	_, err = s.Get(t.Context(), newRecord().ID)
	checkUnavailable(t, err, "does not answer")
	checkUnavailable(t, s.Listen(t.Context(), "", nil), "does not answer")
}

func TestDatabaseMissing(t *testing.T) {
	t.Parallel()
	cfg, err := pgx.ParseConfig(pgtest.EmptyURL(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.New(connect(t, "postgres://corral@/nowhere?host="+cfg.Host+"&port=5432")).List(t.Context())
	checkUnavailable(t, err, "does not exist")
	_, err = store.New(connect(t, "postgres://stranger@/postgres?host="+cfg.Host+"&port=5432")).List(t.Context())
	checkUnavailable(t, err, "login")
}

func TestSchemaMissing(t *testing.T) {
	t.Parallel()
	_, err := store.New(connect(t, pgtest.EmptyURL(t))).List(t.Context())
	checkUnavailable(t, err, "tables")
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := store.New(connect(t, pgtest.URL(t)+"&default_transaction_read_only=on"))
	if _, err := s.List(t.Context()); err != nil {
		t.Errorf("reading: %v", err)
	}
	_, err := s.Create(t.Context(), newRecord(), sessions.ActorUser, "")
	checkUnavailable(t, err, "read-only")
}

func TestOutOfConnections(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	admin := connect(t, url)
	exec(t, admin, `CREATE ROLE crowded LOGIN CONNECTION LIMIT 0`)
	t.Cleanup(func() {
		if _, err := admin.Exec(context.Background(), `DROP ROLE crowded`); err != nil {
			t.Error(err)
		}
	})
	_, err := store.New(connect(t, strings.Replace(url, "corral@", "crowded@", 1))).List(t.Context())
	checkUnavailable(t, err, "no connection left")
}

func TestNoPrivilege(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	admin := connect(t, url)
	exec(t, admin, `CREATE ROLE powerless LOGIN`)
	t.Cleanup(func() {
		if _, err := admin.Exec(context.Background(), `DROP ROLE powerless`); err != nil {
			t.Error(err)
		}
	})
	_, err := store.New(connect(t, strings.Replace(url, "corral@", "powerless@", 1))).List(t.Context())
	checkUnavailable(t, err, "may not")
}

// A connection that is cut while a statement runs: the caller learns that the database is away, the next call gets a
// fresh connection.
func TestConnectionCut(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	admin := connect(t, url)
	s := store.New(connect(t, url+"&application_name=victim"))
	r := create(t, s)
	tx, err := admin.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT 1 FROM sessions FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := s.Move(context.Background(), moveOf(r, sessions.Detached))
		failed <- err
	}()
	const sqlCut = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = 'victim' AND wait_event_type = 'Lock'`
	for cut := 0; cut == 0; {
		if err := admin.QueryRow(t.Context(), sqlCut).Scan(&cut); err != nil {
			t.Fatal(err)
		}
	}
	checkUnavailable(t, <-failed, "PostgreSQL")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	now, err := s.Get(t.Context(), r.ID)
	if err != nil || now.State != sessions.Starting || now.Version != r.Version {
		t.Errorf("after the cut: %+v, %v", now, err)
	}
	move(t, s, now, sessions.Detached)
}

func TestTooSlow(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	holder := connect(t, url)
	r := create(t, store.New(holder))
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background()) //nolint:errcheck // the test is over
	if _, err := tx.Exec(t.Context(), `SELECT 1 FROM sessions FOR UPDATE`); err != nil {
		t.Fatal(err)
	}

	_, err = store.New(connect(t, url+"&statement_timeout=50")).Move(t.Context(), moveOf(r, sessions.Detached))
	if !errors.Is(err, sessions.ErrDeadline) {
		t.Errorf("statement timeout: %v", err)
	}
	s := store.New(connect(t, url))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Move(ctx, moveOf(r, sessions.Detached)); !errors.Is(err, sessions.ErrDeadline) {
		t.Errorf("the caller's deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := s.List(ctx); !errors.Is(err, context.Canceled) || sessions.CodeOf(err) != sessions.CodeInternal {
		t.Errorf("cancelled: %v", err)
	}
}

func TestPoolClosed(t *testing.T) {
	t.Parallel()
	pool := connect(t, pgtest.URL(t))
	pool.Close()
	_, err := store.New(pool).List(t.Context())
	checkUnavailable(t, err, "does not answer")
}

// What a test cannot bring about cheaply.
func TestExplain(t *testing.T) {
	t.Parallel()
	pg := func(code string) error { return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code, Message: "m"}) }
	for _, c := range []struct {
		err  error
		want error
	}{
		{pg("53100"), sessions.ErrDatabaseUnavailable}, // disk full
		{pg("57P01"), sessions.ErrDatabaseUnavailable}, // shut down
		{pg("57P03"), sessions.ErrDatabaseUnavailable}, // starting up
		{pg("58030"), sessions.ErrDatabaseUnavailable}, // I/O error
		{pg("XX001"), sessions.ErrDatabaseUnavailable}, // corrupted data
		{pg("08006"), sessions.ErrDatabaseUnavailable},
		{pg("28P01"), sessions.ErrDatabaseUnavailable}, // wrong password
		{pg("40P01"), sessions.ErrConflict},
		{pg("55P03"), sessions.ErrDeadline},
		{io.ErrUnexpectedEOF, sessions.ErrDatabaseUnavailable},
		{context.DeadlineExceeded, sessions.ErrDatabaseUnavailable}, // a connect timeout: the caller had time
	} {
		if got := store.Explain(t.Context(), "do it", c.err); !errors.Is(got, c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v: got %v", c.err, got)
		}
	}
	if err := store.Explain(t.Context(), "do it", nil); err != nil {
		t.Errorf("nil: %v", err)
	}
	odd := errors.New("odd")
	if err := store.Explain(t.Context(), "do it", odd); !errors.Is(err, odd) || err.Error() != "do it: odd" {
		t.Errorf("unknown: %v", err)
	}
	if err := store.Explain(t.Context(), "do it", pg("")); sessions.CodeOf(err) != sessions.CodeInternal {
		t.Errorf("no code: %v", err)
	}
}
