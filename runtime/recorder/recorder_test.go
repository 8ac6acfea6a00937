package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

const patience = 10 * time.Second

// TestMain makes this test binary the worker that the fd store starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == WorkerVerb {
		cfg := WorkerConfig{
			Dir: os.Getenv("JOURNALS"), Enabled: true, Segment: 1 << 20, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		}
		if err := RunWorker(context.Background(), cfg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("the test's patience ended"))
	t.Cleanup(cancel)
	return ctx
}

func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// start runs a recorder on socket, with journals beside it, until stop is called.
func start(t testing.TB, socket string) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		cfg := Config{Listener: l, Self: self, Env: []string{"JOURNALS=" + journals(socket)}, Log: slog.New(slog.DiscardHandler)}
		if err := Run(ctx, cfg); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

func journals(socket string) string { return filepath.Join(filepath.Dir(socket), "journal") }

// pipe returns what tmux makes for a pane: its own end and the one that its command gets.
func pipeOf(t testing.TB) (pane, command *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	pane, command = os.NewFile(uintptr(fds[0]), "pane"), os.NewFile(uintptr(fds[1]), "command")
	t.Cleanup(func() {
		_ = pane.Close()
		_ = command.Close()
	})
	return pane, command
}

func heldBy(t testing.TB, socket string) []string {
	t.Helper()
	w, err := Dial(deadline(t), socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Wait(ctx)
	return w.Held
}

func TestEverythingIsDrained(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	stop := start(t, socket)
	var panes []*os.File
	for range 10 {
		pane, command := pipeOf(t)
		if err := handoff(deadline(t), socket, "cr-x", command); err != nil {
			t.Fatal(err)
		}
		_ = command.Close()
		panes = append(panes, pane)
	}
	var wg sync.WaitGroup
	for _, p := range panes {
		wg.Go(func() {
			// Far more than a socket buffers: the write ends only if somebody reads.
			if _, err := p.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := heldBy(t, socket); len(got) != 1 || got[0] != "cr-x" {
		t.Errorf("held %q", got)
	}
	for _, p := range panes {
		_ = p.Close()
	}
	ended := time.Now().Add(patience)
	for len(heldBy(t, socket)) > 0 {
		if time.Now().After(ended) {
			t.Fatal("a pipe that has ended is still held")
		}
		time.Sleep(time.Millisecond)
	}
	stop()
}

// A second reader of the same pipe would take half of its bytes.
func TestThePipeOfferedTwiceHasOneReader(t *testing.T) {
	t.Parallel()
	memory, err := newSlots()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.file.Close()
	s := &store{log: slog.New(slog.DiscardHandler), slots: memory, held: map[int]*held{}}
	_, command := pipeOf(t)
	for range 3 {
		fd, err := unix.FcntlInt(command.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.take("cr-x", os.NewFile(uintptr(fd), "dup")); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.held); n != 1 {
		t.Errorf("%d held", n)
	}
	s.hangUp()
}

func TestHandoffWaitsForTheRecorder(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	pane, command := pipeOf(t)
	done := make(chan error, 1)
	go func() { done <- handoff(t.Context(), socket, "cr-x", command) }()
	if _, err := pane.WriteString("first words, before anybody listens"); err != nil {
		t.Fatal(err)
	}
	stop := start(t, socket)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	stop()

	ctx, cancel := context.WithTimeout(t.Context(), 3*retryEvery)
	defer cancel()
	if err := handoff(ctx, socket, "cr-x", command); err == nil {
		t.Error("handed over to nobody")
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	start(t, socket)
	for _, request := range []string{"", "\n", "nonsense\n", "handoff cr-x\n", "watch", "watch\nwatch\n", string(bytes.Repeat([]byte("x"), 10000))} {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, request) // it may be cut in the middle
		_ = conn.(*net.UnixConn).CloseWrite()
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(conn); len(b) > 0 {
			t.Errorf("%.20q was answered with %q", request, b)
		}
		_ = conn.Close()
	}
	if got := heldBy(t, socket); len(got) != 0 {
		t.Errorf("held %q", got)
	}
}

func TestAWatcherSeesTheEnd(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	stop := start(t, socket)
	w, err := Dial(deadline(t), socket)
	if err != nil {
		t.Fatal(err)
	}
	if w.PID != os.Getpid() {
		t.Errorf("pid %d", w.PID)
	}
	gone := make(chan struct{})
	go func() { w.Wait(context.Background()); close(gone) }()
	stop()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the watcher waits on")
	}
	if _, err := Dial(deadline(t), socket); err == nil {
		t.Error("a dead recorder answers")
	}
}
