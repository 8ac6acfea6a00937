package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"corral/migrations"
	"corral/sessions"
	"corral/sessions/internal/pgcluster"
	"corral/sessions/internal/service"
	"corral/sessions/internal/store"
)

const (
	connectPauseMin, connectPauseMax = 100 * time.Millisecond, 3 * time.Second
	clusterPauseMin, clusterPauseMax = 500 * time.Millisecond, 10 * time.Second
	// migrateTimeout bounds waiting for another server's migrations and carrying out our own.
	migrateTimeout = 5 * time.Minute
)

// database brings the metadata up and follows it: cluster, schema, and the stream of changes, whose connection is also
// how its loss is noticed at once.
type database struct {
	external string             // the URL of an external database, or ""
	cluster  *pgcluster.Cluster // nil when external
	owner    string             // this server's incarnation
	board    *service.Board
	changed  func() // called when the rows must be read as a whole
	log      *slog.Logger

	mu    sync.Mutex
	store *store.Store // nil until the schema is there; guarded by mu
	why   error        // why store is nil; guarded by mu
}

// current returns the store. Once there is one it stays, also while PostgreSQL is away: its errors then say so.
func (d *database) current() (*store.Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.store != nil {
		return d.store, nil
	}
	if d.why != nil {
		return nil, d.why
	}
	return nil, &sessions.Error{
		Code: sessions.CodeDatabaseUnavailable, Message: "the database is starting", Hint: "try again in a moment",
	}
}

// run keeps the database up until ctx ends.
func (d *database) run(ctx context.Context) {
	if d.cluster == nil {
		d.follow(ctx, d.external)
		return
	}
	for pause := clusterPauseMin; ; {
		url, err := d.cluster.Ensure(ctx)
		if err == nil {
			pause = clusterPauseMin
			err = d.watch(ctx, url)
		}
		if ctx.Err() != nil {
			return
		}
		d.down(err)
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, clusterPauseMax)
	}
}

// watch follows the database of a running cluster while the cluster is kept alive.
func (d *database) watch(ctx context.Context, url string) error {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { d.follow(ctx, url) })
	err := d.cluster.Watch(ctx)
	cancel()
	following.Wait()
	return err
}

// follow opens the database at url and listens to it, again and again, until ctx ends.
func (d *database) follow(ctx context.Context, url string) {
	pool, err := store.Connect(context.WithoutCancel(ctx), url)
	if err != nil {
		d.down(err)
		<-ctx.Done() // no second try would understand the URL
		return
	}
	defer func() {
		d.setStore(nil, nil)
		pool.Close()
	}()
	for pause := connectPauseMin; ; {
		wasUp, err := d.connection(ctx, pool)
		if ctx.Err() != nil {
			return
		}
		d.down(err)
		if wasUp {
			pause = connectPauseMin
		}
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, connectPauseMax)
	}
}

// connection is the life of one listening connection.
func (d *database) connection(ctx context.Context, pool *pgxpool.Pool) (wasUp bool, err error) {
	if err := migrate(ctx, pool); err != nil {
		return false, err
	}
	st := store.New(pool)
	version, err := st.Version(ctx)
	if err != nil {
		return false, err
	}
	d.setStore(st, nil)
	err = st.Listen(ctx, d.owner, func(id sessions.ID) {
		if id != "" {
			d.refresh(ctx, st, id)
			return
		}
		wasUp = true
		status := d.board.Database()
		status.State, status.Version, status.Message = sessions.Up, version, ""
		d.board.SetDatabase(status)
		d.log.Info("database up", "kind", status.Kind, "version", version)
		d.changed()
	})
	return wasUp, err
}

// migrate brings the schema up to date on a connection of its own: statements of a migration may take longer than the
// pool lets any take.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	cfg := pool.Config().ConnConfig
	delete(cfg.RuntimeParams, "statement_timeout")
	delete(cfg.RuntimeParams, "idle_in_transaction_session_timeout")
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return store.Explain(ctx, "connect to the database", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is pending on it
	var newer *migrations.NewerError
	if err := migrations.Up(ctx, conn); errors.As(err, &newer) {
		return &sessions.Error{Code: sessions.CodeDatabaseUnavailable, Message: newer.Error(), Cause: err}
	} else if err != nil {
		return store.Explain(ctx, "apply migrations", err)
	}
	return nil
}

// refresh shows a row that somebody has changed.
func (d *database) refresh(ctx context.Context, st *store.Store, id sessions.ID) {
	rec, err := st.Get(ctx, id)
	switch {
	case err == nil:
		d.board.Put(rec)
	case errors.Is(err, sessions.ErrNotFound):
		d.board.Drop(id)
	default:
		d.log.Debug("changed row not read", "session", id, "error", err)
	}
}

// down notes that the database is away.
func (d *database) down(err error) {
	status := d.board.Database()
	was := status
	status.State, status.Message = sessions.Down, message(err)
	if status != was {
		d.log.Warn("database down", "error", err)
	}
	d.board.SetDatabase(status)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.store == nil {
		hint := "see corral status and corral doctor"
		if e := (*sessions.Error)(nil); errors.As(err, &e) && e.Hint != "" {
			hint = e.Hint
		}
		d.why = &sessions.Error{Code: sessions.CodeDatabaseUnavailable, Message: status.Message, Hint: hint, Cause: err}
	}
}

func message(err error) string {
	var e *sessions.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return sessions.CleanLine(fmt.Sprintf("the database is away: %v", err), 300)
}

func (d *database) setStore(st *store.Store, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.store, d.why = st, why
}

// sleep waits and reports whether ctx still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
