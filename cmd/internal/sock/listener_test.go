package sock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"corral/e2e/program"

	"go.uber.org/goleak"

	"corral/e2e/rounds"
)

const (
	nobody  = 65534
	patient = 10 * time.Second // far above what anything here takes
	rebind  = 200 * time.Millisecond
)

// TestMain lets the test binary play a process that holds a lock or a socket, or that dials one as another user.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && strings.HasPrefix(os.Args[1], "child-") {
		child(os.Args[1], os.Args[2])
		return
	}
	goleak.VerifyTestMain(m)
}

func child(play, path string) {
	switch play {
	case "child-lock":
		_, err := Acquire(path)
		fmt.Println(err)
	case "child-listen":
		_, err := Listen(path, slog.New(slog.DiscardHandler))
		fmt.Println(err)
	case "child-dial":
		conn, err := net.Dial("unix", path)
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		fmt.Println(err)
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test lets go or kills
}

// play starts the test binary in a role and returns it and the first line that it said. It ends with the test.
func play(t *testing.T, uid int, role, path string) (*exec.Cmd, string) {
	t.Helper()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if uid != os.Getuid() {
		// The directory in which `go test` builds is closed to other users.
		self, err := os.ReadFile(bin)
		if err != nil {
			t.Fatal(err)
		}
		bin = filepath.Join(open(t), "sock.test")
		program.Write(t, bin, self)
	}
	cmd := exec.Command(bin, role, path)
	cmd.Dir = "/"
	if uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line := make([]byte, 500)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(string(line[:n]))
}

// open returns a short directory that everybody may enter.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "corral-sock-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// socket returns a path for a socket, in a directory run that does not exist yet.
func socket(t *testing.T) string {
	t.Helper()
	return filepath.Join(open(t), "run", "x.sock")
}

// greeter accepts and says "hello" to whoever comes, until the listener is closed.
func greeter(t *testing.T, path string) (*Listener, *log) {
	t.Helper()
	lines := &log{}
	l, err := Listen(path, slog.New(slog.NewTextHandler(lines, nil)))
	if err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	g.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("hello"))
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		g.Wait()
	})
	return l, lines
}

type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *log) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func greeted(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	b, err := io.ReadAll(conn)
	if string(b) != "hello" {
		return fmt.Errorf("read %q, %w", b, err)
	}
	return nil
}

// within repeats try until it succeeds and returns how long that took.
func within(t *testing.T, try func() error) time.Duration {
	t.Helper()
	start := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return time.Since(start)
		}
		if time.Since(start) > patient {
			t.Fatalf("not within %v: %v", patient, err)
		}
		<-tick.C
	}
}

func TestSocketIsPrivate(t *testing.T) {
	t.Parallel()
	path := socket(t)
	greeter(t, path)
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	if err := greeted(path); err != nil {
		t.Error(err)
	}
}

func TestOpenDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	_, err := Listen(filepath.Join(open(t), "x.sock"), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "run chmod 700") {
		t.Errorf("got %v", err)
	}
}

func TestStaleSocketIsHealed(t *testing.T) {
	t.Parallel()
	path := socket(t)
	cmd, said := play(t, os.Getuid(), "child-listen", path)
	if said != "<nil>" {
		t.Fatal(said)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = cmd.Process.Wait()
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the killed process left no socket: %v", err)
	}
	greeter(t, path)
	if err := greeted(path); err != nil {
		t.Error(err)
	}
}

func TestLivingSocketIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := socket(t)
	cmd, _ := play(t, os.Getuid(), "child-listen", path)
	_, err := Listen(path, slog.New(slog.DiscardHandler))
	var inUse *InUseError
	if !errors.As(err, &inUse) || inUse.PID != cmd.Process.Pid {
		t.Errorf("got %v, the process is %d", err, cmd.Process.Pid)
	}
	if _, err := net.Dial("unix", path); err != nil {
		t.Errorf("the living one was disturbed: %v", err)
	}
}

func TestFileInTheWayIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := socket(t)
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("precious"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("got %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("the file now has %q", b)
	}
}

func TestDeletedSocketIsBoundAgain(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(path string) error{
		"the socket":    os.Remove,
		"its directory": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"directory renamed": func(path string) error {
			return os.Rename(filepath.Dir(path), filepath.Dir(path)+strings.Repeat("x", 9))
		},
		"replaced by a file": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600), os.Remove(path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := socket(t)
			greeter(t, path)
			for range rounds.N(5, 20, 100) {
				if err := remove(path); err != nil {
					t.Fatal(err)
				}
				took := within(t, func() error { return greeted(path) })
				if rounds.Timing() && took > rebind {
					t.Errorf("took %v", took)
				}
				_ = os.RemoveAll(filepath.Dir(path) + strings.Repeat("x", 9))
			}
		})
	}
}

// TestOpenConnectionsSurvive: what was connected before the deletion goes on.
func TestOpenConnectionsSurvive(t *testing.T) {
	t.Parallel()
	path := socket(t)
	l, err := Listen(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	within(t, func() error { _, err := os.Stat(path); return err })
	if _, err := client.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if n, err := server.Read(make([]byte, 1)); n != 1 {
		t.Error(err)
	}
}

func TestListenerEndsWithTheDataDirectory(t *testing.T) {
	t.Parallel()
	path := socket(t)
	l, err := Listen(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Accept(); !errors.Is(err, ErrGone) {
		t.Errorf("got %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseRemovesOnlyItsOwnSocket(t *testing.T) {
	t.Parallel()
	path := socket(t)
	l, err := Listen(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("unix", path); err != nil {
		t.Errorf("the other's socket: %v", err)
	} else {
		_ = conn.Close()
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
}

// TestOtherUsersAreRefused opens the modes on purpose, to see that the peer check alone keeps others out.
func TestOtherUsersAreRefused(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		// Only root can become somebody else; as a user the rule is checked on its parts.
		a, b, err := pair(t)
		if err != nil {
			t.Fatal(err)
		}
		if err := allowed(a, os.Getuid()+1); err == nil {
			t.Error("another user was let in")
		}
		if err := allowed(b, os.Getuid()); err != nil {
			t.Error(err)
		}
		return
	}
	path := socket(t)
	_, lines := greeter(t, path)
	if _, said := play(t, nobody, "child-dial", path); !strings.Contains(said, "permission denied") {
		t.Errorf("with our modes: %s", said)
	}
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	if _, said := play(t, nobody, "child-dial", path); said != "EOF" && !strings.Contains(said, "reset") {
		t.Errorf("with open modes: %s", said)
	}
	if !strings.Contains(lines.String(), "belongs to uid 65534") {
		t.Errorf("the log says %s", lines)
	}
	if err := greeted(path); err != nil {
		t.Errorf("ourselves: %v", err)
	}
}

func pair(t *testing.T) (a, b net.Conn, err error) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	conns := make([]net.Conn, 2)
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		if conns[i], err = net.FileConn(f); err != nil {
			return nil, nil, err
		}
		_ = f.Close()
		t.Cleanup(func() { _ = conns[i].Close() })
	}
	return conns[0], conns[1], nil
}

// TestConnectAndDeleteStorm is for the race detector: accepts, deletions and a close at once.
func TestConnectAndDeleteStorm(t *testing.T) {
	t.Parallel()
	path := socket(t)
	l, _ := greeter(t, path)
	var g sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		g.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = greeted(path)
				}
			}
		})
	}
	for range rounds.N(20, 50, 300) {
		_ = os.RemoveAll(filepath.Dir(path))
		within(t, func() error { _, err := os.Lstat(path); return err })
	}
	close(stop)
	g.Wait()
	within(t, func() error { return greeted(path) })
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
