package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

const sqlExclusive = `SELECT pg_try_advisory_xact_lock(hashtextextended('corral.reconcile ' || @node, 0))`

// Exclusive calls do while no other server does the same for this node, and reports whether it did; it does not wait.
//
// The lock lives in a transaction, so that a server which stops in the middle, by SIGSTOP or with its machine, holds it no
// longer than PostgreSQL lets a transaction idle (statementTimeout). It therefore spares work and double signals; that
// no change is lost or made twice rests on compare-and-set alone, also under the lock.
func (s *Store) Exclusive(ctx context.Context, node string, do func(context.Context) error) (done bool, err error) {
	const doing = "lock the node"
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return false, Explain(ctx, doing, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = tx.Rollback(ctx) // nothing was written in it; a connection that fails here is dropped, and the lock with it
	}()
	if err := tx.QueryRow(ctx, sqlExclusive, pgx.StrictNamedArgs{"node": node}).Scan(&done); err != nil || !done {
		return false, Explain(ctx, doing, err)
	}
	return true, do(ctx)
}
