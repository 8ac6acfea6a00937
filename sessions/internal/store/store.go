package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"corral/sessions"
)

// Limits of the pool, used where the URL sets none.
const (
	// maxConns is enough for the requests of a few clients and the reconciler, and leaves room below the 20 that a
	// private cluster allows for a second server, a backup and a person with psql.
	maxConns       = 8
	connectTimeout = 3 * time.Second
	// statementTimeout ends below the 10 s that an API request may take, so that the answer names the database.
	statementTimeout = 8 * time.Second
	// A connection that has died silently is noticed when it is next checked.
	healthCheckPeriod = 15 * time.Second
)

// Store reads and writes the metadata in PostgreSQL.
type Store struct {
	pool *pgxpool.Pool
}

// New returns a store on pool, which must have the newest schema and which the caller closes.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Connect returns a pool for the database at url with sane limits, which the caller closes. It does not wait for the
// database: connections are made when they are needed. An error never repeats the URL, which may hold a password.
func Connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, &sessions.Error{
			Code:    sessions.CodeInvalid,
			Message: "the URL of the database cannot be understood",
			Hint:    "the form is postgres://user@host:5432/database, with the password in ~/.pgpass or the file that PGPASSFILE names",
		}
	}
	cfg.MaxConns = maxConns
	cfg.HealthCheckPeriod = healthCheckPeriod
	if cfg.ConnConfig.ConnectTimeout == 0 || cfg.ConnConfig.ConnectTimeout > connectTimeout {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	for name, value := range map[string]string{
		"application_name":                    "corral",
		"timezone":                            "UTC",
		"statement_timeout":                   milliseconds(statementTimeout),
		"idle_in_transaction_session_timeout": milliseconds(statementTimeout),
	} {
		if _, set := cfg.ConnConfig.RuntimeParams[name]; !set {
			cfg.ConnConfig.RuntimeParams[name] = value
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("make the database pool: %w", err)
	}
	return pool, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

const sqlVersion = `SELECT split_part(current_setting('server_version'), ' ', 1)`

// Version returns the version of the PostgreSQL server, as "15.18". It is also the cheapest question there is: no error
// means that the database answers.
func (s *Store) Version(ctx context.Context) (string, error) {
	var v string
	if err := s.pool.QueryRow(ctx, sqlVersion).Scan(&v); err != nil {
		return "", Explain(ctx, "ask PostgreSQL for its version", err)
	}
	return v, nil
}
