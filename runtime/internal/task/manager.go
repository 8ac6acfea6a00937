// Package task keeps the node's tasks: it makes their directories, starts their runners in tmux when their turn has come,
// and concludes from directory, lock and tmux what each task's state is (runtime/internal/taskdir). It stores nothing
// itself, so that it may be killed at any time: a new one finds everything on the disk.
//
// Goroutines of Run: the loop, which alone changes anything, and one that waits for what happens in the directories.
// Locks: Manager.mu guards the list that is answered from; it is never held over I/O.
package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"corral/runtime/internal/inotify"
	"corral/runtime/internal/procfs"
	"corral/runtime/internal/taskdir"
	"corral/runtime/rtapi"
)

const (
	// SessionPrefix begins the name of every task's tmux session.
	SessionPrefix = "crt-"
	// newPrefix and gonePrefix begin the names of directories that are being made or removed. What is left of one goes
	// at the next start.
	newPrefix, gonePrefix = ".new-", ".gone-"
	// relook is how soon a task is looked at again whose files changed: a process that ends closes its files a moment
	// before the kernel gives back its lock.
	relook = 10 * time.Millisecond
	// startTimeout bounds the start of one runner.
	startTimeout = 15 * time.Second
)

// Tmux starts and ends the sessions that runners run in.
type Tmux interface {
	// Server is the present life of the tmux server; ok is false while there is none.
	Server() (server rtapi.Incarnation, ok bool)
	// Start starts argv in a new session in that life of the server. It returns a definite refusal as refused; any other
	// error means that it may have happened. After a return without error the next listing has the session.
	Start(ctx context.Context, server rtapi.Incarnation, session string, argv []string) (refused bool, err error)
	// End ends a session that is there.
	End(ctx context.Context, server rtapi.Incarnation, session string) error
}

// Listener is told of every change.
type Listener interface {
	SetTasks(all []rtapi.Task)
	SetTask(t rtapi.Task)
	DropTask(id string)
}

// Config is what a Manager needs.
type Config struct {
	Dir      string // of all tasks
	Self     string // path of the corral binary
	Tmux     Tmux
	Listener Listener
	Log      *slog.Logger
}

// Manager keeps the tasks.
type Manager struct {
	cfg      Config
	work     chan func(context.Context) // for the loop
	sessions chan Sessions              // the newest listing; holds one
	changed  chan string                // ids whose directories changed; "" for all
	watcher  *inotify.Watcher

	// The loop's own.
	seen     Sessions
	starting map[string]bool

	mu    sync.Mutex
	tasks map[string]rtapi.Task // guarded by mu
}

// Sessions are the tasks' tmux sessions of one listing: true for those whose runner has ended.
type Sessions struct {
	Server rtapi.Incarnation
	Dead   map[string]bool // by task id
	Ends   []rtapi.ServerEnd
}

// New makes the directory of all tasks and returns their manager. Run brings it to life.
func New(cfg Config) (*Manager, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep tasks: %w", err)
	}
	w, err := inotify.New()
	if err != nil {
		return nil, fmt.Errorf("keep tasks: %w", err)
	}
	return &Manager{
		cfg: cfg, watcher: w,
		work: make(chan func(context.Context)), sessions: make(chan Sessions, 1), changed: make(chan string, 64),
		starting: map[string]bool{}, tasks: map[string]rtapi.Task{},
	}, nil
}

// SetSessions tells what tmux listed. It never blocks. One goroutine calls it.
func (m *Manager) SetSessions(s Sessions) {
	select {
	case <-m.sessions: // an older one that nobody has looked at
	default:
	}
	m.sessions <- s
}

// Run keeps the tasks until ctx ends. Their runners go on.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.watcher.Add(m.cfg.Dir, inotify.Names); err != nil {
		return fmt.Errorf("keep tasks: %w", err)
	}
	var watching sync.WaitGroup
	watching.Go(func() { m.watch(ctx) })
	defer watching.Wait()
	defer m.watcher.Close() //nolint:errcheck // nothing was written
	m.sweep()
	m.scan(ctx, true)
	again := time.NewTimer(time.Hour)
	again.Stop()
	defer again.Stop()
	dirty := map[string]bool{}
	for {
		m.queue(ctx)
		select {
		case <-ctx.Done():
			return nil
		case do := <-m.work:
			do(ctx)
		case s := <-m.sessions:
			ends := m.seen.Ends
			m.seen = s
			if !reflect.DeepEqual(s.Ends, ends) {
				m.scan(ctx, false) // ends that were written down may have been a part of the server's
			}
			for _, t := range m.unended() {
				m.look(t.ID)
			}
			m.endSessions(ctx)
		case id := <-m.changed:
			if id == "" {
				m.scan(ctx, false)
				continue
			}
			m.look(id)
			if len(dirty) == 0 {
				again.Reset(relook)
			}
			dirty[id] = true
		case <-again.C:
			for id := range dirty {
				m.look(id)
			}
			clear(dirty)
		}
	}
}

// watch passes on what happens in the directories.
func (m *Manager) watch(ctx context.Context) {
	for {
		e, err := m.watcher.Next()
		if err != nil {
			return
		}
		id := ""
		switch {
		case e.Path == m.cfg.Dir && !validID(e.Name):
			continue // a directory in the making
		case e.Path == m.cfg.Dir:
			id = e.Name
		case e.Path != "":
			id = filepath.Base(e.Path)
		}
		select {
		case m.changed <- id:
		case <-ctx.Done():
			return
		}
	}
}

// sweep removes what a former life left half made or half removed.
func (m *Manager) sweep() {
	entries, err := os.ReadDir(m.cfg.Dir)
	if err != nil {
		m.cfg.Log.Warn("tasks not swept", "err", err)
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), newPrefix) || strings.HasPrefix(e.Name(), gonePrefix) {
			if err := os.RemoveAll(filepath.Join(m.cfg.Dir, e.Name())); err != nil {
				m.cfg.Log.Warn("task directory not removed", "name", e.Name(), "err", err)
			}
		}
	}
}

// scan looks at every directory; the first time it tells all at once.
func (m *Manager) scan(ctx context.Context, first bool) {
	entries, err := os.ReadDir(m.cfg.Dir)
	if err != nil {
		m.cfg.Log.Error("tasks not read", "err", err)
		return
	}
	there := map[string]bool{}
	for _, e := range entries {
		if !e.IsDir() || !validID(e.Name()) || ctx.Err() != nil {
			continue
		}
		there[e.Name()] = true
		if !first {
			m.look(e.Name())
			continue
		}
		t := m.conclude(e.Name())
		m.mu.Lock()
		m.tasks[t.ID] = t
		m.mu.Unlock()
	}
	for _, t := range m.list() {
		if !there[t.ID] {
			m.look(t.ID)
		}
	}
	if !first {
		return
	}
	m.cfg.Listener.SetTasks(m.list())
	for _, t := range m.list() {
		run, err := taskdir.Read[taskdir.Run](m.path(t.ID), taskdir.RunFile)
		if t.State == rtapi.TaskLost && err == nil && procfs.ThisBoot(run.Runner.BootID) {
			m.endOrphans(t.ID)
		}
	}
}

// conclude reads a task's state and follows its directory for as long as that can change.
func (m *Manager) conclude(id string) rtapi.Task {
	dir := m.path(id)
	// First the watch, then the look: what happens between is seen.
	if err := m.watcher.Add(dir, inotify.Names|inotify.Closed); err != nil {
		m.cfg.Log.Warn("task not followed", "task", id, "err", err)
	}
	t := taskdir.Look(dir, taskdir.World{Begun: m.begun, Ends: m.seen.Ends})
	if t.Ended() {
		m.watcher.Remove(dir)
	}
	return t
}

// begun reports whether a runner that was started and has not been heard of may still come.
func (m *Manager) begun(id string, s taskdir.Start) bool {
	if m.starting[id] {
		return true
	}
	if m.seen.Dead == nil { // tmux has not been asked yet
		server, ok := m.cfg.Tmux.Server()
		return !ok || server == s.Server
	}
	dead, there := m.seen.Dead[id]
	return m.seen.Server == s.Server && there && !dead
}

// look concludes a task's state anew and tells of a change.
func (m *Manager) look(id string) rtapi.Task {
	m.mu.Lock()
	old, known := m.tasks[id]
	m.mu.Unlock()
	if info, err := os.Lstat(m.path(id)); err != nil || !info.IsDir() {
		if known {
			m.mu.Lock()
			delete(m.tasks, id)
			m.mu.Unlock()
			m.cfg.Listener.DropTask(id)
		}
		return rtapi.Task{}
	}
	t := m.conclude(id)
	if known && reflect.DeepEqual(old, t) {
		return t
	}
	m.mu.Lock()
	m.tasks[id] = t
	m.mu.Unlock()
	if old.State != t.State {
		m.cfg.Log.Info("task", "task", id, "from", old.State, "to", t.State, "reason", t.Reason)
		if t.State == rtapi.TaskLost {
			m.endOrphans(id)
		}
	}
	m.cfg.Listener.SetTask(t)
	return t
}

func (m *Manager) path(id string) string { return filepath.Join(m.cfg.Dir, id) }

// list returns all tasks, oldest first.
func (m *Manager) list() []rtapi.Task {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]rtapi.Task, 0, len(m.tasks))
	for _, t := range m.tasks {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b rtapi.Task) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

func (m *Manager) unended() []rtapi.Task {
	return slices.DeleteFunc(m.list(), rtapi.Task.Ended)
}

// do has the loop do something and waits for it.
func (m *Manager) do(ctx context.Context, f func(context.Context) error) error {
	done := make(chan error, 1)
	select {
	case m.work <- func(life context.Context) { done <- f(life) }:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// find returns a task as it is now.
func (m *Manager) find(id string) (rtapi.Task, error) {
	if !validID(id) {
		return rtapi.Task{}, notFound(id)
	}
	if t := m.look(id); t.ID != "" {
		return t, nil
	}
	return rtapi.Task{}, notFound(id)
}

func notFound(id string) error {
	return &rtapi.Error{Code: "not_found", Message: fmt.Sprintf("no task has the id %q", id), Hint: "see corral task ls"}
}

func conflict(format string, args ...any) error {
	return &rtapi.Error{Code: "conflict", Message: fmt.Sprintf(format, args...)}
}

// validID reports whether id can be a directory's name and a part of a tmux session's.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && id[0] != '-' && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

var errNoTmux = errors.New("there is no tmux server")
