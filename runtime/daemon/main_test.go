package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/e2e/standin"
	posts "corral/runtime/hook"
	"corral/runtime/internal/procfs"
	"corral/runtime/launch"
	"corral/runtime/recorder"
	"corral/runtime/rtapi"
	"corral/runtime/rtclient"
)

const patience = 20 * time.Second

// TestMain makes this test binary the corral that the runtime starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "launch":
			os.Exit(launch.Exec(os.Args[2]))
		case launch.AgentVerb:
			os.Exit(launch.ExecAgent(os.Args[2], os.Args[0], os.Args[3:]))
		case "hook":
			posts.Run(os.Args[2], os.Stdin, os.Environ())
			os.Exit(0)
		case standin.Verb:
			os.Exit(standin.Main(os.Args[2:]))
		case "handoff":
			os.Exit(recorder.Handoff(os.Args[2], os.Args[3]))
		case "recorder":
			socket := filepath.Join(os.Getenv("CR_RUN_DIR"), "recorder.sock")
			_ = os.Remove(socket) // of one that was killed
			l, err := net.Listen("unix", socket)
			if err != nil {
				os.Exit(1)
			}
			_ = recorder.Run(context.Background(), recorder.Config{
				Listener: l, Self: os.Args[0], Env: os.Environ(), Log: slog.New(slog.DiscardHandler),
			})
			os.Exit(0)
		case recorder.WorkerVerb:
			_ = recorder.RunWorker(context.Background(), recorder.WorkerConfig{
				Dir: filepath.Join(os.Getenv("CR_DATA_DIR"), "journal"), Enabled: true, Log: slog.New(slog.DiscardHandler),
			})
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

// bed is a runtime in directories of its own.
type bed struct {
	*rtclient.Client
	dir, home string
	log       *commandLog
	stop      func() // ends the runtime as SIGTERM does
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{}
	b.start(t, func(string) {})
	return b
}

// start makes the directories, calls before and starts the runtime.
func (b *bed) start(t *testing.T, before func(dir string)) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "crd")
	if err != nil {
		t.Fatal(err)
	}
	b.dir, b.home, b.log, b.stop = dir, filepath.Join(dir, "home"), &commandLog{}, func() {}
	for _, d := range []string{b.home, b.run(), b.data()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	before(dir)
	t.Cleanup(func() {
		b.stop()
		b.killAll(t)
		_ = os.RemoveAll(dir)
	})
	b.serve(t)
	b.awaitRecorder(t, 0) // so that the cleanup finds it
}

func (b *bed) run() string  { return filepath.Join(b.dir, "run") }
func (b *bed) data() string { return filepath.Join(b.dir, "data") }

// serve starts (another life of) the runtime.
func (b *bed) serve(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(b.run(), "runtime.sock")
	_ = os.Remove(socket)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	client := rtclient.New(socket)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := Run(ctx, Config{
			Listener: l, DataDir: b.data(), RunDir: b.run(), Self: self, HistoryLimit: 3000, JournalInput: true,
			Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "SHELL=/bin/sh", "LANG=C.UTF-8", "CR_X=y"},
			Log: slog.New(b.log),
		})
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	b.Client = client
	b.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		client.Close()
	})
}

// killAll ends this bed's tmux server and recorder, found by what they left on disk and on their sockets.
func (b *bed) killAll(t *testing.T) {
	t.Helper()
	if w, err := recorder.Dial(context.Background(), filepath.Join(b.run(), "recorder.sock")); err == nil {
		if w.PID != os.Getpid() {
			_ = syscall.Kill(w.PID, syscall.SIGKILL)
			w.Wait(context.Background())
		}
		w.Close()
	}
	text, err := os.ReadFile(filepath.Join(b.data(), "tmux.json"))
	if err != nil {
		return
	}
	var st struct{ Server rtapi.Incarnation }
	if err := json.Unmarshal(text, &st); err != nil {
		t.Error(err)
		return
	}
	if st.Server.PID > 1 && procfs.Alive(st.Server) {
		_ = syscall.Kill(st.Server.PID, syscall.SIGKILL)
	}
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("the test's patience ended"))
	t.Cleanup(cancel)
	return ctx
}

// request starts script in terminal id, by way of the login shell.
func (b *bed) request(id, script string) rtapi.LaunchRequest {
	return rtapi.LaunchRequest{
		Meta: rtapi.Meta{ID: id, Kind: "command", Title: "a \"title\" with $, #{x} and ~", CWD: b.home, Run: 1},
		Argv: []string{"sh", "-c", script},
	}
}

func (b *bed) create(t *testing.T, id, script string) rtapi.Terminal {
	t.Helper()
	term, err := b.Create(deadline(t), b.request(id, script))
	if err != nil {
		t.Fatal(err)
	}
	return term
}

// await follows the events until an inventory satisfies ok.
func (b *bed) await(t *testing.T, what string, ok func(rtapi.Inventory) bool) rtapi.Inventory {
	t.Helper()
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	var last rtapi.Inventory
	found := false
	for !found && ctx.Err() == nil {
		err := b.Events(ctx, func(e rtapi.Event) {
			if e.Type == rtapi.EventInventory && !found {
				if last = *e.Inventory; ok(last) {
					found = true
					cancel()
				}
			}
		})
		if err == nil {
			t.Fatal("Events returned without a reason")
		}
	}
	if !found {
		t.Fatalf("%s: not seen; last inventory %+v", what, last)
	}
	return last
}

func find(inv rtapi.Inventory, id string) rtapi.Terminal {
	for _, t := range inv.Terminals {
		if t.ID == id {
			return t
		}
	}
	return rtapi.Terminal{}
}

// awaitScreen waits until the screen of terminal id shows text.
func (b *bed) awaitScreen(t *testing.T, id, text string) rtapi.Screen {
	t.Helper()
	ctx := deadline(t)
	for {
		s, err := b.Screen(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.Text, text) {
			return s
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%q never showed on\n%s", text, s.Text)
		}
	}
}

// awaitRecorder waits for a recorder other than not.
func (b *bed) awaitRecorder(t *testing.T, not int) int {
	t.Helper()
	ctx := deadline(t)
	for {
		st, err := b.Status(ctx)
		if err == nil && st.RecorderPID != 0 && st.RecorderPID != not {
			return st.RecorderPID
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("no recorder: %+v, %v", st, err)
		}
	}
}

func code(err error) string {
	var e *rtapi.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprintf("%T", err)
}

// commandLog counts the commands that tmux was given.
type commandLog struct {
	mu    sync.Mutex
	names []string
}

func (*commandLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *commandLog) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *commandLog) WithGroup(string) slog.Handler          { return l }

func (l *commandLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "tmux command" && r.Message != "tmux spawned" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "name" {
			l.names = append(l.names, a.Value.String())
		}
		return true
	})
	return nil
}

func (l *commandLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := l.names
	l.names = nil
	return names
}
