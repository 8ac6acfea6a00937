package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"corral/e2e/rounds"
	"corral/migrations/pgtest"
	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/reconcile"
	"corral/sessions/internal/rttest"
	"corral/sessions/internal/service"
	"corral/sessions/internal/servicetest"
	"corral/sessions/internal/store"
)

// counter counts what is asked of PostgreSQL.
type counter struct{ n int }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n++
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// idleWorld is a reconciler over n sessions that all are as they should be.
func idleWorld(t testing.TB, pool *pgxpool.Pool, n int) *reconcile.Reconciler {
	t.Helper()
	st, rt := store.New(pool), rttest.New()
	for i := range n {
		id := sessions.ID(uuid.NewString())
		at := time.Now().Add(-time.Hour)
		inv, err := rt.Inventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.Adopt(t.Context(), store.Record{
			Session: sessions.Session{
				ID: id, Title: fmt.Sprint(i), CWD: "/tmp", Kind: sessions.KindShell, State: sessions.Detached, Node: servicetest.Node,
				CreatedAt: at, UpdatedAt: at, LastActivityAt: at,
			},
			Run: 1, Tmux: inv.Server, Cols: 80, Rows: 24,
		}, "for the test")
		if err != nil {
			t.Fatal(err)
		}
		rt.Add(rtapi.Terminal{Meta: rtapi.Meta{ID: string(id), Kind: "shell", Title: fmt.Sprint(i), CWD: "/tmp", Run: 1}, Cols: 80, Rows: 24})
	}
	board := service.NewBoard(servicetest.Node, "external")
	board.SetDatabase(sessions.DatabaseStatus{State: sessions.Up, Kind: "external"})
	return reconcile.New(reconcile.Config{
		Store: func() (reconcile.Store, error) { return st, nil }, Runtime: rt, Board: board, Owner: uuid.NewString(), Node: servicetest.Node,
		Log: slog.New(slog.DiscardHandler),
	})
}

func countingPool(t testing.TB) (*pgxpool.Pool, *counter) {
	t.Helper()
	cfg := pgtest.Pool(t).Config()
	c := &counter{}
	cfg.ConnConfig.Tracer = c
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool, c
}

// A round over many sessions asks PostgreSQL as often as one over few.
func TestCostOfARound(t *testing.T) {
	t.Parallel()
	asked := map[int]int{}
	for _, n := range []int{5, rounds.N(50, 500, 500)} {
		pool, count := countingPool(t)
		r := idleWorld(t, pool, n)
		for range 2 { // the first may move something
			count.n = 0
			begun := time.Now()
			if _, err := r.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
			asked[n] = count.n
			t.Logf("%d sessions: %d statements, %v", n, count.n, time.Since(begun).Round(10*time.Microsecond))
		}
		if asked[n] != asked[5] || asked[n] > 5 {
			t.Errorf("%d statements for %d sessions, %d for 5", asked[n], n, asked[5])
		}
	}
}

// BenchmarkRound is a round over 500 sessions that finds nothing to do.
func BenchmarkRound(b *testing.B) {
	pool, count := countingPool(b)
	r := idleWorld(b, pool, 500)
	count.n = 0
	for b.Loop() {
		if _, err := r.Round(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(count.n)/float64(b.N), "statements/op")
}
