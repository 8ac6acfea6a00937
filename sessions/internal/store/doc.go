// Package store keeps the metadata in PostgreSQL. It and the migrations are the only places with SQL.
//
// Every change of state is one statement: an UPDATE that applies only at the expected state and version, and the insert
// of its event fed by what the UPDATE returned. So there is no state without its event, no event without its state, and
// of two writers that saw the same row exactly one wins; the other gets sessions.ErrConflict. The database's own
// constraints refuse states, kinds and moves that do not exist.
//
// Errors are turned into sessions errors in one place, Explain. All times come from the caller and are kept in UTC to
// the microsecond. A Store has no goroutines and no locks of its own; all methods may be called at the same time.
package store
