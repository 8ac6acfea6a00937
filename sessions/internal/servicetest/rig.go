// Package servicetest puts a server's inside together for tests: service, board and reconciler on a real database and a
// runtime in memory. Only tests import it.
package servicetest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"corral/migrations/pgtest"
	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/reconcile"
	"corral/sessions/internal/rttest"
	"corral/sessions/internal/service"
	"corral/sessions/internal/store"
)

// Patience is how long a test waits for what must happen.
const Patience = 20 * time.Second

// Node is the name of the node in tests.
const Node = "testnode"

// World is what outlives a server: the database and the runtime.
type World struct {
	Store   *store.Store
	Pool    *pgxpool.Pool
	Runtime *rttest.Runtime
}

// NewWorld returns a fresh database and a runtime without terminals.
func NewWorld(t *testing.T) *World {
	t.Helper()
	pool := pgtest.Pool(t)
	return &World{Store: store.New(pool), Pool: pool, Runtime: rttest.New()}
}

// Options changes a Server from the usual.
type Options struct {
	Hooks service.Hooks
	Every time.Duration // between rounds of the reconciler; 0: 50 ms
	Now   func() time.Time
	// StartupGrace is that of service.Config; 0: none.
	StartupGrace time.Duration
}

// Server is the inside of one server's life.
type Server struct {
	*World
	Service    *service.Service
	Board      *service.Board
	Reconciler *reconcile.Reconciler

	owner string
	stop  context.CancelFunc
	parts sync.WaitGroup
}

// Start begins a server's life with everything running. It ends with the test, or by Kill.
func (w *World) Start(t *testing.T, o Options) *Server {
	t.Helper()
	s := w.Prepare(t, o)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	t.Cleanup(s.Kill)
	s.parts.Go(func() { s.Reconciler.Run(ctx) })
	s.parts.Go(func() { s.followRuntime(ctx) })
	ready := make(chan struct{})
	var once sync.Once
	s.parts.Go(func() {
		_ = w.Store.Listen(ctx, s.owner, func(id sessions.ID) {
			if id == "" {
				once.Do(func() { close(ready) })
				return
			}
			if rec, err := w.Store.Get(ctx, id); err == nil {
				s.Board.Put(rec)
			}
		})
	})
	select {
	case <-ready:
	case <-time.After(Patience):
		t.Fatal("the store does not listen")
	}
	for deadline := time.After(Patience); !s.Board.Complete(); { // nothing tells of an empty first listing
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			t.Fatal("the reconciler makes no round")
		}
	}
	return s
}

// Prepare wires a server without running anything.
func (w *World) Prepare(t *testing.T, o Options) *Server {
	t.Helper()
	if o.Every == 0 {
		o.Every = 50 * time.Millisecond
	}
	if o.StartupGrace == 0 {
		o.StartupGrace = time.Nanosecond
	}
	log := slog.New(slog.DiscardHandler)
	owner := uuid.NewString()
	s := &Server{World: w, owner: owner, Board: service.NewBoard(Node, "external"), stop: func() {}}
	s.Board.SetDatabase(sessions.DatabaseStatus{State: sessions.Up, Kind: "external"})
	s.Reconciler = reconcile.New(reconcile.Config{
		Store:   func() (reconcile.Store, error) { return w.Store, nil },
		Runtime: w.Runtime, Board: s.Board, Owner: owner, Node: Node,
		Every: o.Every, Stable: 100 * time.Millisecond, Now: o.Now, Log: log,
	})
	s.Service = service.New(service.Config{
		Store:   func() (service.Store, error) { return w.Store, nil },
		Runtime: w.Runtime, Board: s.Board, Kick: s.Reconciler.Kick,
		Owner: owner, Node: Node, Hooks: o.Hooks, Now: o.Now, Log: log,
		Self: sessions.RoleStatus{State: sessions.Up, PID: 42}, StartupGrace: o.StartupGrace,
	})
	return s
}

// Kill ends the server as kill -9 would, as far as others can see.
func (s *Server) Kill() {
	s.stop()
	s.parts.Wait()
}

func (s *Server) followRuntime(ctx context.Context) {
	for ctx.Err() == nil {
		_ = s.Runtime.Events(ctx, func(e rtapi.Event) {
			s.Board.SetNode(sessions.Up)
			switch e.Type {
			case rtapi.EventInventory:
				s.Board.Inventory(*e.Inventory)
				s.Reconciler.Kick()
			case rtapi.EventViewers:
				s.Board.Viewers(sessions.ID(e.ID), e.Attached, e.Watching)
				s.Reconciler.Viewers(sessions.ID(e.ID), e.Attached)
			case rtapi.EventAgent:
				s.Board.Agent(sessions.ID(e.ID), e.Run, *e.Agent)
				s.Reconciler.Kick()
			case rtapi.EventRecording, rtapi.EventAlive:
			}
		})
		s.Board.SetNode(sessions.Offline)
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Shell creates a shell session.
func (s *Server) Shell(t *testing.T) sessions.Session {
	t.Helper()
	made, err := s.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp", Kind: sessions.KindShell})
	if err != nil {
		t.Fatalf("create a shell: %v", err)
	}
	return made
}

// Await waits until the board shows a session in one of the states, and returns it.
func (s *Server) Await(t *testing.T, id sessions.ID, states ...sessions.State) sessions.Session {
	t.Helper()
	sub := s.Board.SubscribeTo(id)
	defer s.Board.Unsubscribe(sub)
	deadline := time.After(Patience)
	for {
		now, ok := s.Board.Get(id)
		if ok && slices.Contains(states, now.State) {
			return now
		}
		select {
		case <-sub.Changes:
		case <-deadline:
			t.Fatalf("%s is %q, not any of %v, after %s", id.Short(), now.State, states, Patience)
		}
	}
}

// Path returns the states a session has been through, from its events, oldest first.
func (w *World) Path(t *testing.T, id sessions.ID) []sessions.State {
	t.Helper()
	events, err := w.Store.Events(t.Context(), store.EventQuery{Session: id})
	if err != nil {
		t.Fatalf("read events: %v", err)
	}
	var path []sessions.State
	for i, e := range events {
		if i > 0 && e.From != path[i-1] || e.Reason == "" {
			t.Errorf("event %d does not follow from the one before, or has no reason: %+v", i, e)
		}
		path = append(path, e.To)
	}
	return path
}
