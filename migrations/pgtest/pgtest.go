// Package pgtest gives tests a real PostgreSQL: a private cluster per test process and a database of its own per test.
// Only tests may import it.
//
// The cluster is a copy of a template that the first test process on the machine makes (initdb, migrations) and later
// ones find, under /tmp and keyed by user, PostgreSQL and schema; a start takes about half a second. It has no fsync
// and trusts whoever may enter its directory, which is 0700. As root it runs as the user postgres.
//
// A small shell, the keeper, stands between the test process and the postmaster. It waits on a pipe that only the test
// process holds open, so however that process ends, also by SIGKILL, the keeper stops the postmaster and removes its
// directory. pgtest itself runs no goroutine but those of a Proxy, which end with the test.
//
// The database of a test that fails stays, and the test's log says how to look at it.
package pgtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// timeout bounds every single thing that pgtest asks of PostgreSQL; a start on a loaded machine takes the longest.
const timeout = 60 * time.Second

// number tells the databases of one test process apart.
var number atomic.Int64

// URL returns the URL of a fresh database with the newest schema that belongs to this test alone.
func URL(t testing.TB) string {
	t.Helper()
	return database(t, templateDatabase)
}

// EmptyURL returns the URL of a fresh database without any schema.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return database(t, "template0")
}

// Pool returns a pool of up to eight connections on a fresh database with the newest schema; it is closed when the test
// ends.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(URL(t))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	cfg.MaxConns = 8
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// BinDir returns the directory with PostgreSQL's server programs, pg_dump and the like.
func BinDir(t testing.TB) string {
	t.Helper()
	dir, err := binDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func database(t testing.TB, template string) string {
	t.Helper()
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("t%d", number.Add(1))
	if err := c.admin(fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, template)); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.keep(name))
			return
		}
		if err := c.admin("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return c.url(name)
}

// admin runs one statement on the maintenance database.
func (c *cluster) admin(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.url("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left to say to it
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}
