package migrations_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"corral/migrations"
	"corral/migrations/pgtest"
)

var update = flag.Bool("update", false, "write schema.sql anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) }) //nolint:errcheck // the test is over
	return conn
}

func TestUpFromEmptyAndAgain(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.EmptyURL(t))
	for range 2 {
		if err := migrations.Up(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUpFromManyAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	g, ctx := errgroup.WithContext(t.Context())
	for range 8 {
		g.Go(func() error {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			defer conn.Close(ctx) //nolint:errcheck // the test is over
			return migrations.Up(ctx, conn)
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// Up waits for another process's migration longer than statements on the connection may take.
func TestUpWaitsForTheLockBeyondTheStatementTimeout(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	holder := connect(t, url)
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, int64(migrations.LockKey)); err != nil {
		t.Fatal(err)
	}
	waiter := connect(t, url+"&statement_timeout=50")
	done := make(chan error, 1)
	go func() { done <- migrations.Up(context.Background(), waiter) }()
	select {
	case err := <-done:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestUpRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.URL(t))
	var newest int
	if err := conn.QueryRow(t.Context(), `SELECT max(number) FROM schema_migrations`).Scan(&newest); err != nil {
		t.Fatal(err)
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO schema_migrations VALUES ($1, 'from the future', now())`, newest+1)
	err := migrations.Up(t.Context(), conn)
	want := &migrations.NewerError{Database: newest + 1, Binary: newest}
	if got, ok := err.(*migrations.NewerError); !ok || *got != *want { //nolint:errorlint // it must not be wrapped: it is a sentence
		t.Errorf("a newer database: %v", err)
	}
	exec(`UPDATE schema_migrations SET number = number + 1 WHERE number = $1`, newest+1)
	if err := migrations.Up(t.Context(), conn); err == nil || !strings.Contains(err.Error(), "gap") {
		t.Errorf("a gap: %v", err)
	}
}

// A database that cannot be written but has the newest schema will do for reading.
func TestUpOnReadOnly(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.URL(t)+"&default_transaction_read_only=on")
	if err := migrations.Up(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
}

// schema.sql is what pg_dump says of a migrated database. Update it with: go test ./migrations -run Schema -update
func TestSchemaDump(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(pgtest.BinDir(t), "pg_dump"), "--schema-only", "--no-owner",
		"--no-privileges", "-d", pgtest.URL(t)).Output()
	if err != nil {
		t.Fatalf("pg_dump (Debian package postgresql-client): %v", err)
	}
	got := essence(string(out))
	if *update {
		if err := os.WriteFile("schema.sql", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("schema.sql differs from the database (-file +database):\n%s", diff)
	}
}

var (
	noise  = regexp.MustCompile(`(?m)^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*)\n`)
	blanks = regexp.MustCompile(`\n{3,}`)
)

// essence removes what changes with the version of pg_dump: comments, settings, guards.
func essence(dump string) string {
	head := "-- Made by: go test ./migrations -run Schema -update\n\n"
	return head + strings.TrimSpace(blanks.ReplaceAllString(noise.ReplaceAllString(dump, ""), "\n\n")) + "\n"
}
