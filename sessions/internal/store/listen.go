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
// The first call has an empty id and says that it listens now: whoever reads the list after it misses nothing. A
// notification is a hint, the rows are the truth. Listen uses a connection of its own beside the pool's.
func (s *Store) Listen(ctx context.Context, heard func(sessions.ID)) error {
	const doing = "listen for changes"
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
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
