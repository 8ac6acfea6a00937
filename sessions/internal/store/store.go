package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"corral/sessions"
)

// Store reads and writes the metadata in PostgreSQL.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on pool.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

var errTODO = errors.New("not written yet")

// Connect returns a pool on the database at url with sane limits. It does not wait for the database.
func Connect(ctx context.Context, url string) (*pgxpool.Pool, error) { return nil, errTODO }

// Create writes a new session's row and the event of its creation.
func (s *Store) Create(ctx context.Context, r Record, actor sessions.Actor, reason string) (Record, error) {
	return Record{}, errTODO
}

// Adopt is Create for a live terminal whose row is unknown; the actor is the reconciler.
func (s *Store) Adopt(ctx context.Context, r Record, evidence string) (Record, error) {
	return Record{}, errTODO
}

// Move changes a session's state by compare-and-set and writes the event of it in the same transaction. The error is
// sessions.ErrNotFound when there is no such session and sessions.ErrConflict when it is not at From and Version.
func (s *Store) Move(ctx context.Context, m Move) (Record, error) { return Record{}, errTODO }

// Update changes title and project; nil leaves a field alone.
func (s *Store) Update(ctx context.Context, id sessions.ID, title, project *string, at time.Time) (Record, error) {
	return Record{}, errTODO
}

// SetConversation notes the conversation that the session's agent is in.
func (s *Store) SetConversation(ctx context.Context, id sessions.ID, conversation string, at time.Time) (Record, error) {
	return Record{}, errTODO
}

// Touch moves a session's last activity forward. It is not a change of the row as compare-and-set sees it.
func (s *Store) Touch(ctx context.Context, id sessions.ID, activity time.Time) error { return errTODO }

// Get returns one session.
func (s *Store) Get(ctx context.Context, id sessions.ID) (Record, error) { return Record{}, errTODO }

// List returns every session, oldest first.
func (s *Store) List(ctx context.Context) ([]Record, error) { return nil, errTODO }

// Counts returns how many sessions are in each state; states without any are absent.
func (s *Store) Counts(ctx context.Context) (map[sessions.State]int, error) { return nil, errTODO }

// Delete removes a session's row if it is at version.
func (s *Store) Delete(ctx context.Context, id sessions.ID, version int64) error { return errTODO }

// Events returns events in rising order of id.
func (s *Store) Events(ctx context.Context, q EventQuery) ([]sessions.Event, error) {
	return nil, errTODO
}

// LastEvents returns the newest event of each session.
func (s *Store) LastEvents(ctx context.Context) (map[sessions.ID]sessions.Event, error) {
	return nil, errTODO
}

// PruneEvents removes events older than before, save the newest of each session, and returns how many went.
func (s *Store) PruneEvents(ctx context.Context, before time.Time) (int64, error) { return 0, errTODO }

// Version returns the version of the PostgreSQL server, as "15.18".
func (s *Store) Version(ctx context.Context) (string, error) { return "", errTODO }

// Listen calls heard with the id of each session that changes, until ctx ends or the connection is cut. The first call,
// with an empty id, says that it listens now: whoever reads the list after it misses nothing.
func (s *Store) Listen(ctx context.Context, heard func(sessions.ID)) error { return errTODO }
