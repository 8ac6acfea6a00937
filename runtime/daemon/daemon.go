package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"corral/runtime/internal/attach"
	"corral/runtime/internal/httpapi"
	"corral/runtime/internal/task"
	"corral/runtime/internal/tmux"
	"corral/runtime/internal/widths"
	"corral/runtime/rtapi"
	"corral/vt"
)

const (
	// defaultHistory guarantees 20 000 lines: at its limit tmux drops a tenth at a time.
	defaultHistory = 22300
	// farewell bounds how long requests and viewers get to end.
	farewell = 3 * time.Second
)

// Config is what the runtime needs.
type Config struct {
	Listener     net.Listener // already checks who connects
	DataDir      string
	RunDir       string // sockets: tmux.sock, recorder.sock
	Self         string // path of the corral binary, for launch, handoff and recorder
	TmuxBinary   string // "tmux" when empty
	HistoryLimit int    // tmux's history-limit; defaultHistory when 0
	// Env is the environment that children may see, as K=V. The recorder gets all of it, with CR_DATA_DIR and
	// CR_RUN_DIR set; tmux gets only the names on its allow-list.
	Env []string
	// JournalDir is where the recorder keeps the journals; "journal" in DataDir when empty.
	JournalDir string
	// JournalInput says whether the journals keep what is typed.
	JournalInput bool
	Log          *slog.Logger
}

// Run is the runtime. It returns when ctx ends or a shutdown is asked for, and leaves tmux and the recorder running.
func Run(ctx context.Context, cfg Config) error {
	ctx, shutdown := context.WithCancel(ctx)
	defer shutdown()
	if cfg.JournalDir == "" {
		cfg.JournalDir = filepath.Join(cfg.DataDir, "journal")
	}
	specs := filepath.Join(cfg.DataDir, "launch")
	kept := environments{dir: filepath.Join(cfg.DataDir, "env"), base: cfg.Env, agent: filepath.Join(cfg.RunDir, AgentLink)}
	if err := errors.Join(os.MkdirAll(specs, 0o700), os.MkdirAll(kept.dir, 0o700)); err != nil {
		return fmt.Errorf("start the runtime: %w", err)
	}
	server, err := tmux.New(ctx, tmuxConfig(cfg))
	if err != nil {
		return fmt.Errorf("start the runtime: %w", err)
	}
	inv := newInventory(server, cfg.Log)
	socket := filepath.Join(cfg.RunDir, "recorder.sock")
	journals := newJournaling(socket, cfg.JournalDir, cfg.JournalInput, cfg.Log)
	counts := func(id string, attached, watching int) {
		inv.setViewers(id, attached, watching)
		journals.viewers(id, attached)
	}
	characters := widths.New(server, filepath.Join(cfg.DataDir, "widths"), cfg.Log)
	hub := attach.New(attach.Config{
		Tmux: server, Counts: counts, Recorder: journals, Dir: specs, Log: cfg.Log,
		Widths: func(ctx context.Context) (*vt.Widths, string) {
			t := characters.Table(ctx)
			return t.Widths, t.Text
		},
	})
	journals.client.Warned = inv.setWarning
	journals.client.Joined = func() { inv.tellEnds(journals.exited) }
	inv.exited = func(id string, code, signal *int) {
		journals.exited(id, code, signal)
		hub.Exited(id, code, signal)
	}
	hooks, err := newHooks(cfg.DataDir, cfg.Listener.Addr().String(), inv, journals, cfg.Log)
	if err != nil {
		return fmt.Errorf("start the runtime: %w", err)
	}
	inv.listed, inv.begin = hooks.listed, hooks.begin
	terms := &terminals{
		tmux: server, inventory: inv, specs: specs, self: cfg.Self, recorder: socket, log: cfg.Log,
		locks: newLocks(), journals: journals, hooks: hooks, environments: kept,
	}
	journals.tty, journals.screen = inv.tty, terms.Screen
	tasks, err := task.New(task.Config{
		Dir: filepath.Join(cfg.DataDir, "tasks"), Self: cfg.Self,
		Tmux: taskSessions{server, inv}, Listener: inv, Log: cfg.Log,
	})
	if err != nil {
		return fmt.Errorf("start the runtime: %w", err)
	}
	inv.runners = tasks.SetSessions
	rec := &recorderKeeper{
		self: cfg.Self, socket: socket, env: recorderEnv(cfg), log: cfg.Log, repipe: terms.repipe, warn: inv.setWarning,
	}
	terms.sweep()
	defer time.AfterFunc(staleSpec, terms.sweep).Stop() // what is younger now is old enough then

	status := rtapi.Status{PID: os.Getpid(), Incarnation: rand.Text(), StartedAt: time.Now().UTC()}
	handler := httpapi.New(httpapi.Config{
		Terminals: terms, Reader: screens{terms, journals}, Inventory: inv, Streams: hub, Journals: journals, Tasks: tasks, Hooks: hooks.receiver, Shutdown: shutdown, Log: cfg.Log,
		Status: func() rtapi.Status {
			st := status
			st.Tmux, st.RecorderPID, st.Journal = server.Status(), rec.pid(), journals.usage()
			st.Journal.Warning = inv.recordingWarning()
			st.Hooks = hooks.receiver.Counts()
			return st
		},
	})

	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return journals.client.Run(ctx) })
	parts.Go(func() error { return journals.run(ctx) })
	parts.Go(func() error { return server.Serve(ctx) })
	parts.Go(func() error { return inv.run(ctx) })
	parts.Go(func() error { return tasks.Run(ctx) })
	parts.Go(func() error { return rec.run(ctx) })
	parts.Go(func() error {
		characters.Run(ctx)
		return nil
	})
	parts.Go(func() error { return hooks.watcher.Run(ctx) })
	parts.Go(func() error { return hooks.receiver.Run(ctx) })
	parts.Go(func() error { return serve(ctx, cfg.Listener, handler, hub, cfg.Log) })
	if err := parts.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("run the runtime: %w", err)
	}
	return nil
}

// recorderEnv tells the recorder which Corral it belongs to, whatever else it is told.
func recorderEnv(cfg Config) []string {
	return append(append([]string(nil), cfg.Env...), "CR_DATA_DIR="+cfg.DataDir, "CR_RUN_DIR="+cfg.RunDir)
}

// serve answers requests until ctx ends, then lets requests and viewers end.
func serve(ctx context.Context, l net.Listener, h http.Handler, hub *attach.Hub, log *slog.Logger) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute, // longer than the client keeps a connection
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the runtime's API: %w", err)
	case <-ctx.Done():
	}
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	// Viewers first: their streams are no connections of the HTTP server any more.
	if err := hub.Shutdown(bye); err != nil {
		log.Warn("viewers cut", "err", err)
	}
	if err := srv.Shutdown(bye); err != nil {
		log.Warn("requests cut", "err", err)
		_ = srv.Close() // what is left is cut
	}
	<-ended
	return nil
}
