package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"corral/migrations/pgtest"
	"corral/sessions"
	"corral/sessions/internal/rttest"
	"corral/sessions/server"
	"corral/sessions/sessionclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is long because initdb takes its time on a busy machine.
const patience = 90 * time.Second

// rig is what a server needs around it.
type rig struct {
	t       *testing.T
	dir     string
	runtime *rttest.Runtime
	cfg     server.Config
	client  *sessionclient.Client
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "srv-") // short: a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil { // as root, PostgreSQL's user must get through
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rig{t: t, dir: dir, runtime: rttest.New()}
	r.cfg = server.Config{
		Socket: filepath.Join(dir, "server.sock"), RuntimeSocket: filepath.Join(dir, "runtime.sock"),
		ReconcileEvery: 50 * time.Millisecond, ReplayLines: 2000, Node: "here", Version: "test",
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	r.client = sessionclient.New(sessionclient.Config{Socket: r.cfg.Socket})
	t.Cleanup(r.client.CloseIdleConnections)
	return r
}

// serveRuntime opens the runtime's socket until the test ends.
func (r *rig) serveRuntime() {
	r.t.Helper()
	l, err := net.Listen("unix", r.cfg.RuntimeSocket)
	if err != nil {
		r.t.Fatal(err)
	}
	srv := &http.Server{Handler: r.runtime.Handler(), ReadHeaderTimeout: time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	r.t.Cleanup(func() {
		r.runtime.SetAway(true)
		_ = srv.Close()
		<-done
	})
}

// run starts the server and returns what stops it and waits for its end.
func (r *rig) run() (stop func() error) {
	r.t.Helper()
	l, err := net.Listen("unix", r.cfg.Socket)
	if err != nil {
		r.t.Fatal(err)
	}
	cfg := r.cfg
	cfg.Listener = l
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, cfg) }()
	var stopped atomic.Bool
	stop = func() error {
		cancel()
		if !stopped.CompareAndSwap(false, true) {
			return nil
		}
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			r.t.Error("the server does not end")
			return nil
		}
	}
	r.t.Cleanup(func() { _ = stop() })
	return stop
}

// await follows the watch until a change satisfies ok.
func (r *rig) await(what string, ok func(sessions.Change) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	found := false
	r.client.Watch(ctx, func(c sessions.Change) {
		if ok(c) {
			found = true
			cancel()
		}
	}, func(sessions.Link) {})
	if !found {
		r.t.Fatalf("waited in vain: %s", what)
	}
}

func databaseUp(c sessions.Change) bool { return c.Database != nil && c.Database.State == sessions.Up }

func nodeUp(c sessions.Change) bool { return len(c.Nodes) > 0 && c.Nodes[0].State == sessions.Up }

func TestExternalDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.serveRuntime()
	r.cfg.Database.URL = pgtest.EmptyURL(t)
	stop := r.run()
	r.await("database up", databaseUp)
	r.await("node up", nodeUp)
	made, err := r.client.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp", Title: "kept"})
	if err != nil {
		t.Fatal(err)
	}
	status, err := r.client.Status(t.Context())
	if err != nil || status.Database.Kind != "external" || status.Database.Version == "" || status.Server.Version != "test" ||
		status.Runtime.State != sessions.Up || status.Sessions[sessions.Detached] != 1 {
		t.Errorf("status %+v, %v", status, err)
	}
	begun := time.Now()
	if err := stop(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("stopping took %s", took)
	}
	// What happened while it was down is found when it comes back.
	r.runtime.Exit(string(made.ID), 7)
	r.run()
	r.await("the exit", func(c sessions.Change) bool {
		return c.Session != nil && c.Session.State == sessions.Failed || len(c.Sessions) > 0 && c.Sessions[0].State == sessions.Failed
	})
}

// While the database cannot be had, the list comes from the runtime and changes are refused with a sentence.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.serveRuntime()
	r.cfg.Database.URL = pgtest.EmptyURL(t)
	stop := r.run()
	r.await("database up", databaseUp)
	r.await("node up", nodeUp)
	made, err := r.client.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp", Title: "seen"})
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	r.cfg.Database.URL = "postgres://corral@/none?host=" + r.dir
	r.run()
	r.await("node up", nodeUp)
	list, err := r.client.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != made.ID || list[0].Title != "seen" || list[0].State != sessions.Detached {
		t.Errorf("list %+v, %v", list, err)
	}
	if got, err := r.client.Get(t.Context(), made.ID); err != nil || got.Title != "seen" {
		t.Errorf("get %+v, %v", got, err)
	}
	if _, err := r.client.Screen(t.Context(), made.ID); err != nil {
		t.Errorf("screen: %v", err)
	}
	for name, err := range map[string]error{
		"create": second(r.client.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp"})),
		"stop":   second(r.client.Stop(t.Context(), made.ID)),
		"remove": r.client.Remove(t.Context(), made.ID, true),
		"events": second(r.client.Events(t.Context(), made.ID)),
	} {
		if !errors.Is(err, sessions.ErrDatabaseUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	live := make(chan struct{})
	stream := r.client.Attach(made.ID, sessions.StreamOptions{Cols: 80, Rows: 24, Mode: sessions.ModePane}, handler{live: live})
	defer stream.Close()
	select {
	case <-live:
	case <-time.After(patience):
		t.Error("a stream needs the database")
	}
}

func second[T any](_ T, err error) error { return err }

type handler struct{ live chan struct{} }

func (handler) StreamFrame(sessions.Frame) {}
func (handler) StreamBytes([]byte)         {}
func (h handler) StreamLink(l sessions.Link) {
	if l.State == sessions.LinkLive {
		close(h.live)
	}
}

// The connection of every client of the database is cut: nothing changes its state for it, and the server is back by
// itself.
func TestDatabaseConnectionsCut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.serveRuntime()
	url := pgtest.EmptyURL(t)
	r.cfg.Database.URL = url
	r.run()
	r.await("database up", databaseUp)
	r.await("node up", nodeUp)
	made, err := r.client.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	went := make(chan struct{})
	go func() {
		defer close(went)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		down := false
		r.client.Watch(ctx, func(c sessions.Change) {
			if c.Type == sessions.ChangeDatabase && c.Database.State == sessions.Down {
				down = true
			}
			if down && c.Type == sessions.ChangeDatabase && c.Database.State == sessions.Up {
				cancel()
			}
			if c.Type == sessions.ChangeSnapshot {
				_, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
				if err != nil {
					t.Error(err)
				}
			}
		}, func(sessions.Link) {})
		if ctx.Err() == context.DeadlineExceeded {
			t.Error("the database did not come back")
		}
	}()
	<-went
	if got, err := r.client.Get(t.Context(), made.ID); err != nil || got.State != sessions.Detached {
		t.Errorf("after the cut %+v, %v", got, err)
	}
}

func TestRuntimeIsStarted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Database.URL = pgtest.EmptyURL(t)
	var held atomic.Bool
	var starts atomic.Int32
	held.Store(true)
	r.cfg.DownMarker = held.Load
	r.cfg.StartRuntime = func(context.Context) error {
		if starts.Add(1) == 1 {
			return errors.New("the first start fails")
		}
		r.serveRuntime()
		return nil
	}
	r.run()
	r.await("database up", databaseUp)
	if starts.Load() != 0 {
		t.Error("it was started although corral is down")
	}
	held.Store(false)
	r.await("node up", nodeUp)
	if n := starts.Load(); n != 2 {
		t.Errorf("%d starts", n)
	}
	// It goes away and comes back.
	held.Store(true)
	r.runtime.SetAway(true)
	r.await("node offline", func(c sessions.Change) bool { return len(c.Nodes) > 0 && c.Nodes[0].State == sessions.Offline })
	r.runtime.SetAway(false)
	r.await("node up", nodeUp)
}

func TestShutdownTakesTheRest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.serveRuntime()
	data := filepath.Join(r.dir, "pg")
	r.cfg.Database.Dir, r.cfg.Database.SocketDir, r.cfg.Database.LogDir = data, filepath.Join(r.dir, "s"), filepath.Join(r.dir, "log")
	if os.Getuid() == 0 {
		r.cfg.Database.RunAsUser = "postgres"
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.StopCluster(ctx, r.cfg); err != nil {
			t.Errorf("stop what is left: %v", err)
		}
	})
	stop := r.run()
	// It answers from the first moment on.
	if _, err := r.client.List(t.Context()); err != nil {
		t.Errorf("list while PostgreSQL starts: %v", err)
	}
	r.await("database up", databaseUp)
	r.await("node up", nodeUp)
	made, err := r.client.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.client.Shutdown(t.Context(), sessions.ShutdownRequest{Database: true, Runtime: true}); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(data, "postmaster.pid")); !os.IsNotExist(err) {
		t.Errorf("PostgreSQL still runs: %v", err)
	}
	if _, err := r.runtime.Inventory(t.Context()); !errors.Is(err, rttest.ErrAway) {
		t.Error("the runtime still runs")
	}
	// Up again: nothing of it was lost. Without the shutdown's order PostgreSQL outlives the server.
	r.runtime.SetAway(false)
	stop = r.run()
	r.await("the session", func(c sessions.Change) bool {
		return len(c.Sessions) == 1 && c.Sessions[0].ID == made.ID && c.Sessions[0].State == sessions.Detached ||
			c.Session != nil && c.Session.ID == made.ID && c.Session.State == sessions.Detached
	})
	r.await("database up", databaseUp)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(data, "postmaster.pid")); err != nil {
		t.Errorf("PostgreSQL did not outlive the server: %v", err)
	}
}
