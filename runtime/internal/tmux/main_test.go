package tmux

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/runtime/internal/procfs"
)

// patience is how long a test waits for what must happen; only a failing test waits that long.
const patience = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a private tmux server for one test, in a directory whose name is short enough for a socket.
type bed struct {
	*Server
	dir  string
	stop func() // ends Serve, not tmux
}

// newBed brings a server up; the test's end kills it.
func newBed(t *testing.T) *bed {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &bed{dir: dir}
	b.serve(t)
	t.Cleanup(func() {
		b.stop()
		killRecorded(t, b.cfg.StatePath)
	})
	return b
}

func bedConfig(dir string) Config {
	return Config{
		Socket:       filepath.Join(dir, "run", "t.sock"),
		ConfPath:     filepath.Join(dir, "tmux.conf"),
		StatePath:    filepath.Join(dir, "tmux.json"),
		HistoryLimit: 2000,
		Env:          []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "SECRET=x", "LANG=C.UTF-8"},
		Log:          slog.New(slog.DiscardHandler),
	}
}

// serve starts (another life of) the Server on the bed's directory.
func (b *bed) serve(t *testing.T) {
	t.Helper()
	s, err := New(t.Context(), bedConfig(b.dir))
	if err != nil {
		t.Fatal(err) // names the Debian package when tmux is missing
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Serve(ctx); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	b.Server = s
	b.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
}

// killRecorded ends the tmux server that the state file names, and nothing else.
func killRecorded(t *testing.T, statePath string) {
	t.Helper()
	st, _, err := loadState(statePath)
	if err != nil {
		t.Error(err)
		return
	}
	if st.Server.PID != 0 && procfs.Alive(st.Server) {
		_ = syscall.Kill(st.Server.PID, syscall.SIGKILL)
	}
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("the test's patience ended"))
	t.Cleanup(cancel)
	return ctx
}

// must runs list and returns all lines of its replies.
func (b *bed) must(t *testing.T, list ...Command) []string {
	t.Helper()
	replies, err := b.Run(deadline(t), list...)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range replies {
		lines = append(lines, r.Lines...)
	}
	return lines
}

// newSession makes a session that runs script.
func newSession(name, script string) Command {
	return Command{"new-session", "-d", "-s", name, "-x", "80", "-y", "24", "--", "sh", "-c", script}
}

// await waits for wake-ups until a listing satisfies ok.
func (b *bed) await(t *testing.T, what string, ok func(Listing) bool) Listing {
	t.Helper()
	ctx := deadline(t)
	var last Listing
	for {
		if l, err := b.List(ctx); err == nil {
			if last = l; ok(l) {
				return l
			}
		}
		select {
		case <-b.Changed():
		case <-time.After(time.Second): // a lost exit needs another Reap
			b.Reap()
		case <-ctx.Done():
			t.Fatalf("%s: not seen; last listing %+v", what, last)
		}
	}
}

func find(l Listing, session string) (Pane, bool) {
	for _, p := range l.Panes {
		if p.Session == session {
			return p, true
		}
	}
	return Pane{}, false
}

func joined(lines []string) string { return strings.Join(lines, "\n") }
