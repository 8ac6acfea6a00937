package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"corral/runtime/rtclient"
	"corral/sessions"
	"corral/sessions/internal/httpapi"
	"corral/sessions/internal/reconcile"
	"corral/sessions/internal/service"
)

const (
	// drainTimeout is how long requests in flight may finish when the server stops.
	drainTimeout = 3 * time.Second
	// stopTimeout bounds the stop of the runtime and of PostgreSQL; its fast shutdown takes less than a second.
	stopTimeout = 20 * time.Second
)

// Run is the server role. It returns nil when ctx ends or a shutdown was asked for over the API, or an error when it
// cannot go on.
func Run(ctx context.Context, cfg Config) error {
	r := newRole(cfg)
	life, stop := context.WithCancel(ctx)
	defer stop()
	api := httpapi.New(life, httpapi.Config{
		Service: r.service, Board: r.board, DialStream: r.runtime.DialStream, TaskLog: r.runtime.TaskLog,
		Journal: r.runtime.Journal, RemoveJournal: r.runtime.RemoveJournal,
		Home: home(cfg.Home), ReplayLines: cfg.ReplayLines, Log: cfg.Log,
		Shutdown: func(req sessions.ShutdownRequest) {
			r.askShutdown(req)
			stop()
		},
	})
	var parts sync.WaitGroup
	parts.Go(func() { r.db.run(life) })
	parts.Go(func() { r.link.run(life) })
	parts.Go(func() { r.reconciler.Run(life) })
	parts.Go(func() { prune(life, r.db.current, cfg.EventsKept, cfg.Log) })
	cfg.Log.Info("server started", "incarnation", r.owner, "version", cfg.Version)
	err := serve(life, cfg.Listener, api, cfg.Log)
	stop()
	api.Wait()
	parts.Wait()
	r.runtime.Close()
	if err != nil {
		return err
	}
	return r.shutdown(context.WithoutCancel(ctx))
}

// StopCluster stops the private cluster of a server that does not run; it is for `corral down`. An external database or
// a cluster that does not run is no error.
func StopCluster(ctx context.Context, cfg Config) error {
	cluster := cfg.cluster()
	if cluster == nil {
		return nil
	}
	if err := cluster.Stop(ctx); err != nil {
		return fmt.Errorf("stop the private PostgreSQL: %w", err)
	}
	return nil
}

// role is the wired server.
type role struct {
	cfg        Config
	owner      string
	board      *service.Board
	runtime    *rtclient.Client
	db         *database
	reconciler *reconcile.Reconciler
	service    *service.Service
	link       *link

	mu       sync.Mutex
	alsoStop sessions.ShutdownRequest // guarded by mu
}

func newRole(cfg Config) *role {
	r := &role{
		cfg:     cfg,
		owner:   uuid.NewString(),
		board:   service.NewBoard(cfg.Node, cfg.Database.Kind()),
		runtime: rtclient.New(cfg.RuntimeSocket),
	}
	r.db = &database{external: cfg.Database.URL, cluster: cfg.cluster(), owner: r.owner, board: r.board, log: cfg.Log}
	r.reconciler = reconcile.New(reconcile.Config{
		Store:   func() (reconcile.Store, error) { return r.db.current() },
		Runtime: r.runtime, Board: r.board,
		Owner: r.owner, Node: cfg.Node, Every: cfg.ReconcileEvery, Log: cfg.Log,
	})
	r.db.changed = r.reconciler.Kick
	r.service = service.New(service.Config{
		Store:   func() (service.Store, error) { return r.db.current() },
		Runtime: runtime{r.runtime}, Board: r.board, Kick: r.reconciler.Kick,
		Owner: r.owner, Node: cfg.Node, RuntimeSocket: cfg.RuntimeSocket,
		Agents: cfg.Agents,
		Self:   sessions.RoleStatus{State: sessions.Up, PID: os.Getpid(), Socket: cfg.Socket, Version: cfg.Version},
		Log:    cfg.Log,
	})
	r.link = &link{
		runtime: r.runtime, start: cfg.StartRuntime, held: cfg.DownMarker,
		board: r.board, reconciler: r.reconciler, log: cfg.Log,
	}
	return r
}

func (r *role) askShutdown(req sessions.ShutdownRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alsoStop.Database = r.alsoStop.Database || req.Database
	r.alsoStop.Runtime = r.alsoStop.Runtime || req.Runtime
}

// shutdown stops what was asked to stop together with the server, which has let go of it by now.
func (r *role) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	r.mu.Lock()
	also := r.alsoStop
	r.mu.Unlock()
	var errs []error
	if also.Runtime {
		runtime := rtclient.New(r.cfg.RuntimeSocket)
		defer runtime.Close()
		if err := runtime.Shutdown(ctx); err != nil && !errors.Is(err, rtclient.ErrUnreachable) {
			errs = append(errs, fmt.Errorf("stop the runtime: %w", err))
		}
	}
	if also.Database {
		errs = append(errs, StopCluster(ctx, r.cfg))
	}
	return errors.Join(errs...)
}

// serve answers requests until life ends; then those in flight may finish.
func serve(life context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	unused := unusedConns{conns: map[net.Conn]bool{}}
	srv := &http.Server{
		ConnState:         unused.note,
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("accept connections: %w", err)
	case <-life.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(life), drainTimeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Shutdown(ctx) }()
	if err == nil {
		<-failed // nothing is accepted any more
	}
	unused.close()
	if <-stopped != nil {
		_ = srv.Close()
	}
	return err
}

// unusedConns are the connections on which no request has come yet: clients open them ahead. Shutdown would wait 5 s for
// each, so they are closed by us.
type unusedConns struct {
	mu    sync.Mutex
	conns map[net.Conn]bool // guarded by mu
}

func (u *unusedConns) note(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state == http.StateNew {
		u.conns[c] = true
	} else {
		delete(u.conns, c)
	}
}

func (u *unusedConns) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.conns {
		_ = c.Close()
	}
}

// home returns what ~ means.
func home(given string) string {
	if given != "" {
		return given
	}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		return u.HomeDir
	}
	return "/"
}
