package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"corral/sessions"
)

// closeTimeout bounds the farewell to a connection that may be dead.
const closeTimeout = time.Second

const sqlListen = `LISTEN corral_sessions`

// Listen calls heard, from its own goroutine, with the id of each session that was created, changed or removed by
// anybody, once the change is committed. It returns when ctx ends or the connection is cut, always with an error; the
// caller decides when to try again.
//
// A call with an empty id says that the whole list is to be read: the first one, when it listens, so that whoever reads
// the list after it misses nothing, and one after a restore. A notification is a hint, the rows are the truth. Listen
// uses a connection of its own beside the pool's, which bears the name of owner, the incarnation of the server that
// listens: see Owners. "" has no name.
func (s *Store) Listen(ctx context.Context, owner string, heard func(sessions.ID)) error {
	const doing = "listen for changes"
	cfg := s.pool.Config().ConnConfig
	if owner != "" {
		cfg.RuntimeParams["application_name"] = ownerPrefix + owner
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return Explain(ctx, doing, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = conn.Close(ctx) // nothing was asked of it that could be lost
	}()
	if _, err := conn.Exec(ctx, sqlListen); err != nil {
		return Explain(ctx, doing, err)
	}
	heard("")
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return Explain(ctx, doing, err)
		}
		heard(sessions.ID(n.Payload))
	}
}

// ownerPrefix begins the names of listening connections. With an incarnation behind it, which is a UUID, a name has 43
// of the 63 bytes that PostgreSQL keeps.
const ownerPrefix = "corral "

const sqlOwners = `
SELECT substr(application_name, length(@prefix::text) + 1) FROM pg_stat_activity
WHERE datname = current_database() AND starts_with(application_name, @prefix)`

// Owners returns the incarnations of the servers that listen to this database now. One that is killed leaves at once,
// one that is paused stays.
func (s *Store) Owners(ctx context.Context) ([]string, error) {
	const doing = "list the servers"
	rows, err := s.pool.Query(ctx, sqlOwners, pgx.StrictNamedArgs{"prefix": ownerPrefix})
	if err != nil {
		return nil, Explain(ctx, doing, err)
	}
	owners, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return owners, Explain(ctx, doing, err)
}
