package spawn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"corral/cmd/internal/sock"
	"corral/e2e/rounds"
	"corral/sessions"
)

// TestMain lets the test binary play a role.
func TestMain(m *testing.M) {
	if i := slices.Index(os.Args, StarterFlag); i > 0 {
		fd, _ := strconv.Atoi(os.Args[i+1])
		os.Exit(play(os.Args[1], os.Args[2], fd))
	}
	goleak.VerifyTestMain(m)
}

// play is a role whose lock and socket lie in dir.
func play(part, dir string, fd int) int {
	starter, err := NewStarter(fd)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch part {
	case "crash":
		fmt.Fprintln(os.Stderr, "first line\npanic: no more\x1b[31m luck")
		return 2
	case "refuse":
		starter.Failed(&sessions.Error{Code: sessions.CodeForbidden, Message: "not today", Hint: "come back tomorrow"})
		return 1
	case "hang":
		unix.Pause()
	}
	lock, err := sock.Acquire(filepath.Join(dir, "lock"))
	if err != nil {
		starter.Held()
		return 0
	}
	defer lock.Release()
	log, err := os.OpenFile(filepath.Join(dir, "starts"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	cwd, _ := os.Getwd()
	sid, _ := unix.Getsid(0)
	fmt.Fprintln(log, os.Getpid(), "cwd", cwd, "leader", sid == os.Getpid(), os.Environ())
	l, err := sock.Listen(filepath.Join(dir, "run", "x.sock"), slog.New(slog.DiscardHandler))
	if err != nil {
		starter.Failed(err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		_ = l.Close()
	}()
	starter.Ready()
	for {
		conn, err := l.Accept()
		if err != nil {
			return 0
		}
		_ = conn.Close()
	}
}

// ground returns a directory for a role, which is ended when the test is.
func ground(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "corral-spawn-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p := find(t, dir); p != nil {
			if err := p.End(context.Background(), 5*time.Second); err != nil {
				t.Error(err)
			}
			_ = p.Close()
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

func find(t *testing.T, dir string) *Process {
	t.Helper()
	p, err := Find(func() (int, error) { return sock.Holder(filepath.Join(dir, "lock")) })
	if err != nil {
		t.Error(err)
	}
	return p
}

func role(t *testing.T, dir, part string) Role {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Role{
		Name: "server", Binary: self, Args: []string{part, dir}, Socket: filepath.Join(dir, "run", "x.sock"),
		Output: filepath.Join(dir, "output"), Env: []string{"ONLY=this"},
	}
}

func starts(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "starts"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func TestRoleIsStartedOnceAndCleanly(t *testing.T) {
	t.Parallel()
	dir := ground(t)
	r := role(t, dir, "good")
	for range 2 {
		if err := r.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := starts(t, dir)
	if len(got) != 1 || !strings.HasSuffix(got[0], "cwd / leader true [ONLY=this]") {
		t.Errorf("starts: %q", got)
	}
}

func TestManyAtOneInstantMakeOne(t *testing.T) {
	t.Parallel()
	for range rounds.N(2, 10, 50) {
		dir := ground(t)
		var g sync.WaitGroup
		for range 8 {
			g.Go(func() {
				if err := role(t, dir, "good").Ensure(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		g.Wait()
		if got := starts(t, dir); len(got) != 1 {
			t.Errorf("starts: %q", got)
		}
	}
}

// TestOneThatEndsIsReplaced: the lock is held by a process that will never listen; when it ends ours takes its place.
func TestOneThatEndsIsReplaced(t *testing.T) {
	t.Parallel()
	dir := ground(t)
	lock, err := sock.Acquire(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- role(t, dir, "good").Ensure(t.Context()) }()
	select {
	case err := <-done:
		t.Fatalf("it returned while the lock was held: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestReasonsReachTheStarter(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]string{
		"refuse": "not today; come back tomorrow",
		"crash":  "the server could not be started: it ended at once: panic: no more [31m luck; its output is in ",
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			err := role(t, ground(t), part).Ensure(t.Context())
			var e *sessions.Error
			if !errors.As(err, &e) || !strings.HasPrefix(e.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("no binary", func(t *testing.T) {
		t.Parallel()
		r := role(t, ground(t), "good")
		r.Binary = "/nowhere/corral"
		if err := r.Ensure(t.Context()); !errors.Is(err, sessions.ErrUnreachable) || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("got %v", err)
		}
	})
}

func TestHungStartIsGivenUp(t *testing.T) {
	t.Parallel()
	dir := ground(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	r := role(t, dir, "hang")
	err := r.Ensure(ctx)
	if !errors.Is(err, sessions.ErrUnreachable) || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
	// The one that hangs is the only child of this process with our directory among its arguments.
	children, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range children {
		b, _ := os.ReadFile(file)
		for _, pid := range strings.Fields(string(b)) {
			args, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			if n, err := strconv.Atoi(pid); err == nil && strings.Contains(string(args), dir) {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
	}
}

func TestEndWaitsAndKills(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		killed bool
	}{
		"obeys":   {`trap 'exit 0' TERM; echo; while :; do sleep 0.05; done`, false},
		"resists": {`trap '' TERM; echo; while :; do sleep 0.05; done`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("sh", "-c", c.script)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_, _ = out.Read(make([]byte, 1)) // the trap is set
			p, err := Find(func() (int, error) { return cmd.Process.Pid, nil })
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if err := p.End(t.Context(), 300*time.Millisecond); err != nil {
				t.Error(err)
			}
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait()
			if killed := cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled(); killed != c.killed {
				t.Errorf("ended by %v", cmd.ProcessState)
			}
		})
	}
}

func TestWaitRespectsItsContext(t *testing.T) {
	t.Parallel()
	p, err := Find(func() (int, error) { return os.Getpid(), nil })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
