// Package migrations holds the database's schema as numbered SQL files inside the binary, and applies them.
//
// A file is named NNNN_word.sql; numbers start at 0001 and leave no gap. A file that was ever released is never edited:
// what comes later is a new file. schema.sql is what pg_dump says after all of them; a test keeps it true, and it is
// the place to read the schema in one piece.
//
// Up may run from several processes at once, and may be killed at any moment: each file is one transaction together
// with its row in schema_migrations, under an advisory lock that PostgreSQL gives back when the transaction or the
// connection ends.
package migrations

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
)

//go:embed 0*.sql
var embedded embed.FS

// lockKey is the advisory lock that migrations take; any number that no other user of the database picks.
const lockKey = 0x636f7272616c // "corral"

// NewerError says that the database's schema was made by a newer binary. Nothing has been changed.
type NewerError struct {
	Database int // the newest migration that the database has
	Binary   int // the newest migration that this binary has
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the database has schema version %d and this corral knows versions up to %d; use the newer corral",
		e.Database, e.Binary)
}

type migration struct {
	number int
	name   string
	sql    string
}

// Up brings the database behind conn to the newest schema. It returns a *NewerError for a database that is ahead.
func Up(ctx context.Context, conn *pgx.Conn) error {
	all, err := load(embedded)
	if err != nil {
		return err
	}
	return up(ctx, conn, all)
}

// Hash identifies the schema: it changes whenever any migration does.
func Hash() string {
	sum := sha256.New()
	all, err := load(embedded)
	if err != nil { // TestFilesLoad holds this branch unreachable
		return "invalid"
	}
	for _, m := range all {
		fmt.Fprintf(sum, "%s\n%d\n%s", m.name, len(m.sql), m.sql)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

var fileName = regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)

// load reads the migrations of fsys in order and checks their names and numbers.
func load(fsys fs.FS) ([]migration, error) {
	entries, err := fs.ReadDir(fsys, ".") // sorted by name, which is by number
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []migration
	for _, e := range entries {
		parts := fileName.FindStringSubmatch(e.Name())
		if parts == nil {
			return nil, fmt.Errorf("migration %q: the name is not of the form 0001_word.sql", e.Name())
		}
		number, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, fmt.Errorf("migration %q: %w", e.Name(), err)
		}
		if want := len(all) + 1; number != want {
			return nil, fmt.Errorf("migration %q: its number should be %04d", e.Name(), want)
		}
		sql, err := fs.ReadFile(fsys, e.Name())
		if err != nil {
			return nil, fmt.Errorf("read migration %q: %w", e.Name(), err)
		}
		all = append(all, migration{number: number, name: e.Name(), sql: string(sql)})
	}
	if len(all) == 0 {
		return nil, errors.New("no migrations")
	}
	return all, nil
}

func up(ctx context.Context, conn *pgx.Conn, all []migration) error {
	for {
		done, err := step(ctx, conn, all)
		if err != nil || done {
			return err
		}
	}
}

// step applies the next migration; done reports that there is none left. Which one is next is read under the lock, so
// that two processes never apply the same.
func step(ctx context.Context, conn *pgx.Conn, all []migration) (done bool, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		at, err := version(ctx, tx)
		if err != nil {
			return err
		}
		switch {
		case at > len(all):
			return &NewerError{Database: at, Binary: len(all)}
		case at == len(all):
			done = true
			return nil
		}
		next := all[at]
		if _, err := tx.Exec(ctx, next.sql); err != nil { // no arguments: the simple protocol, which takes many statements
			return fmt.Errorf("apply migration %s: %w", next.name, err)
		}
		const sqlApplied = `INSERT INTO schema_migrations (number, name, applied_at) VALUES (@number, @name, now())`
		if _, err := tx.Exec(ctx, sqlApplied, pgx.NamedArgs{"number": next.number, "name": next.name}); err != nil {
			return fmt.Errorf("note migration %s: %w", next.name, err)
		}
		return nil
	})
	return done, err
}

// version takes the lock and returns the number of the newest migration applied, 0 for an empty database. It makes sure
// that what is there is an unbroken beginning of the sequence.
func version(ctx context.Context, tx pgx.Tx) (int, error) {
	// A migration, and the wait for somebody else's, may take longer than the connection's limit on ordinary statements.
	if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0`); err != nil {
		return 0, fmt.Errorf("prepare to migrate: %w", err)
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(lockKey)); err != nil {
		return 0, fmt.Errorf("lock the schema: %w", err)
	}
	var missing bool
	if err := tx.QueryRow(ctx, `SELECT to_regclass('schema_migrations') IS NULL`).Scan(&missing); err != nil {
		return 0, fmt.Errorf("look for schema_migrations: %w", err)
	}
	if missing {
		const sqlTable = `CREATE TABLE schema_migrations (
			number     integer     PRIMARY KEY,
			name       text        NOT NULL,
			applied_at timestamptz NOT NULL
		)`
		if _, err := tx.Exec(ctx, sqlTable); err != nil {
			return 0, fmt.Errorf("make schema_migrations: %w", err)
		}
	}
	var newest, count int
	const sqlNewest = `SELECT COALESCE(max(number), 0), count(*) FROM schema_migrations`
	if err := tx.QueryRow(ctx, sqlNewest).Scan(&newest, &count); err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	if newest != count {
		return 0, fmt.Errorf("the database's list of migrations has a gap: %d applied, the newest is %d", count, newest)
	}
	return newest, nil
}
