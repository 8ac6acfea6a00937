package task

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/runtime/internal/procfs"
	"corral/runtime/launch"
	"corral/runtime/rtapi"
	"corral/runtime/taskrunner"
)

// TestMain makes this test binary a runner and a launch.
func TestMain(m *testing.M) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if len(os.Args) == 3 && os.Args[1] == "launch" {
		os.Exit(launch.Exec(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "taskrunner" {
		os.Exit(taskrunner.Run(taskrunner.Config{Dir: os.Args[2], Self: self}))
	}
	goleak.VerifyTestMain(m)
}

// bed is a manager whose "tmux server" is this test process: runners are its children.
type bed struct {
	t    *testing.T
	cfg  Config
	self rtapi.Incarnation

	mu      sync.Mutex
	refuses bool
	started []string
	runners map[string]*exec.Cmd
	ended   map[string]bool
	told    map[string]rtapi.Task

	*Manager
}

func newBed(t *testing.T) *bed {
	t.Helper()
	self, err := procfs.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, self: self, runners: map[string]*exec.Cmd{}, ended: map[string]bool{}, told: map[string]rtapi.Task{}}
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.cfg = Config{Dir: filepath.Join(t.TempDir(), "tasks"), Self: bin, Tmux: b, Listener: b, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(b.killAll)
	return b
}

// life runs a manager until the returned function is called, as one life of the runtime.
func (b *bed) life() (end func()) {
	b.t.Helper()
	m, err := New(b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Manager = m
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	b.list()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	})
}

// list tells the manager what "tmux" has.
func (b *bed) list() {
	b.mu.Lock()
	dead := map[string]bool{}
	defer b.mu.Unlock()
	for id := range b.runners {
		if !b.ended[id] {
			dead[id] = false
		}
	}
	b.SetSessions(Sessions{Server: b.self, Dead: dead})
}

func (b *bed) Server() (rtapi.Incarnation, bool) { return b.self, true }

func (b *bed) Start(_ context.Context, _ rtapi.Incarnation, session string, argv []string) (refused bool, err error) {
	defer b.list() // no older listing may be taken for a newer
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuses {
		return true, errors.New("no room")
	}
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // killAll ends it
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.cfg.Dir, "SHELL=/bin/sh"}
	id := session[len(SessionPrefix):]
	b.started = append(b.started, id)
	b.runners[id] = cmd
	return false, cmd.Start()
}

func (b *bed) End(_ context.Context, _ rtapi.Incarnation, session string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended[session[len(SessionPrefix):]] = true
	return nil
}

func (b *bed) SetTasks(all []rtapi.Task) {
	for _, t := range all {
		b.SetTask(t)
	}
}

func (b *bed) SetTask(t rtapi.Task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told[t.ID] = t
}

func (b *bed) DropTask(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.told, id)
}

func (b *bed) killAll() {
	for id, cmd := range b.runners {
		for _, pid := range procfs.WithVariable(Mark + "=" + id) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// run makes a task of a shell's line.
func (b *bed) run(id, line string, with ...func(*rtapi.TaskRequest)) rtapi.Task {
	b.t.Helper()
	req := rtapi.TaskRequest{ID: id, Title: id, CWD: "/", Command: []string{line}, Shell: true, LogLimit: -1}
	for _, f := range with {
		f(&req)
	}
	t, err := b.Create(b.t.Context(), req)
	if err != nil {
		b.t.Fatalf("create %s: %v", id, err)
	}
	return t
}

func after(id string) func(*rtapi.TaskRequest) {
	return func(r *rtapi.TaskRequest) { r.After = id }
}

func group(limit int) func(*rtapi.TaskRequest) {
	return func(r *rtapi.TaskRequest) { r.Group, r.GroupLimit = "g", limit }
}

// wait waits until the listener was told of a task in that state.
func (b *bed) wait(id, state string) rtapi.Task {
	b.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		b.mu.Lock()
		t := b.told[id]
		b.mu.Unlock()
		if t.State == state {
			return t
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("task %s is %s (%s), want %s", id, t.State, t.Reason, state)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (b *bed) starts(id string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, s := range b.started {
		if s == id {
			n++
		}
	}
	return n
}

func code(err error) string {
	var e *rtapi.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func alive(id string) int { return len(procfs.WithVariable(Mark + "=" + id)) }

func waitFile(t *testing.T, path string) {
	t.Helper()
	eventually(t, path+" is there", func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so: %s", what)
		}
	}
}
