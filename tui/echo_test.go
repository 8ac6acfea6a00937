package tui_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"corral/e2e/rounds"
	"corral/sessions"
	"corral/tui"
	"corral/tui/canvas"
	"corral/tui/internal/tuitest"
	"corral/tui/terminal"
	"corral/vt"
)

// The most that the emulator and the frame writer, and the whole dashboard, may add to what a bare `tmux attach` needs
// from a key to its echo on the user's terminal (p50 of paired rounds on a quiet machine).
const (
	writerAdds    = 600 * time.Microsecond
	dashboardAdds = time.Millisecond
)

// TestEchoBesideTmux types the same keys at three terminals by turns: a bare tmux client, the emulator and the frame
// writer before such a client, and the whole dashboard before one, all without daemons.
func TestEchoBesideTmux(t *testing.T) {
	t.Parallel()
	inner := newInnerTmux(t)
	ways := []struct {
		name string
		user *typist
		took []time.Duration
	}{
		{name: "tmux attach", user: inner.attach(t, 80, 24)},
		{name: "emulator and writer", user: inner.behindWriter(t)},
		{name: "dashboard", user: inner.behindDashboard(t)},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range rounds.N(10, 40, 400) {
		for w := range ways {
			way := &ways[w]
			// Quiet, as between the keys of a person: a busy terminal would be the faster one.
			time.Sleep(time.Duration(10+random.IntN(20)) * time.Millisecond)
			way.took = append(way.took, way.user.echo(t, i))
		}
	}
	medians := make([]time.Duration, len(ways))
	for w := range ways {
		slices.Sort(ways[w].took)
		n := len(ways[w].took)
		medians[w] = ways[w].took[n/2]
		t.Logf("%-20s p50 %v, p95 %v", ways[w].name, medians[w], ways[w].took[n*95/100])
	}
	if !rounds.Timing() {
		return
	}
	if added := medians[1] - medians[0]; added > writerAdds {
		t.Errorf("emulator and writer add %v to tmux attach", added)
	}
	if added := medians[2] - medians[0]; added > dashboardAdds {
		t.Errorf("the dashboard adds %v to tmux attach", added)
	}
}

// typist is somebody at a terminal.
type typist struct {
	pty  *os.File
	more chan struct{}

	mu  sync.Mutex
	got []byte // since the last key; guarded by mu
}

func newTypist(t *testing.T, master *os.File) *typist {
	t.Helper()
	u := &typist{pty: master, more: make(chan struct{}, 1)}
	follow(t, master, u.saw)
	return u
}

func (u *typist) saw(b []byte) {
	u.mu.Lock()
	u.got = append(u.got, b...)
	u.mu.Unlock()
	select {
	case u.more <- struct{}{}:
	default:
	}
}

// echo types a letter that is in no control sequence, and returns how long it took to appear.
func (u *typist) echo(t *testing.T, i int) time.Duration {
	t.Helper()
	const letters = "bfjvwxz"
	key := []byte{letters[i%len(letters)]}
	if i%40 == 39 { // a new line
		u.types(t, "\r")
		time.Sleep(20 * time.Millisecond)
	}
	u.mu.Lock()
	u.got = nil
	u.mu.Unlock()
	start := time.Now()
	u.types(t, string(key))
	u.sees(t, string(key))
	return time.Since(start)
}

func (u *typist) types(t *testing.T, s string) {
	t.Helper()
	if _, err := io.WriteString(u.pty, s); err != nil {
		t.Fatal(err)
	}
}

func (u *typist) sees(t *testing.T, s string) {
	t.Helper()
	late := time.After(patience)
	for {
		u.mu.Lock()
		ok := bytes.Contains(u.got, []byte(s))
		u.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-u.more:
		case <-late:
			u.mu.Lock()
			defer u.mu.Unlock()
			t.Fatalf("never saw %q but %q", s, u.got)
		}
	}
}

// innerTmux is a tmux server whose sessions echo what is typed.
type innerTmux struct {
	dir  string
	made int
}

func newInnerTmux(t *testing.T) *innerTmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is missing; install the Debian package tmux")
	}
	dir, err := os.MkdirTemp("/tmp", "echo")
	if err != nil {
		t.Fatal(err)
	}
	s := &innerTmux{dir: dir}
	conf := "set -g status off\nset -s escape-time 0\nset -g prefix None\nset -g default-terminal tmux-256color\n" +
		"set -s terminal-overrides ',xterm-256color:smcup@:rmcup@:indn@'\n"
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.command("kill-server").Run() // it may be gone with its last session
		_ = os.RemoveAll(dir)
	})
	return s
}

func (s *innerTmux) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", filepath.Join(s.dir, "s"), "-f", filepath.Join(s.dir, "conf")}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=xterm-256color", "HOME=" + s.dir, "SHELL=/bin/sh"}
	return cmd
}

// client starts a session of its own with a client in a terminal, and returns the other end of that.
func (s *innerTmux) client(t *testing.T, cols, rows int) *os.File {
	t.Helper()
	s.made++
	master, slave := openPTY(t, cols, rows)
	cmd := s.command("new-session", "-s", fmt.Sprint("s", s.made), "printf ready; exec cat")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return master
}

// attach is somebody at a bare tmux client.
func (s *innerTmux) attach(t *testing.T, cols, rows int) *typist {
	t.Helper()
	u := newTypist(t, s.client(t, cols, rows))
	u.sees(t, "ready")
	return u
}

// behindWriter is somebody at a terminal that shows a tmux client through an emulator and the frame writer.
func (s *innerTmux) behindWriter(t *testing.T) *typist {
	t.Helper()
	master, slave := openPTY(t, 80, 24)
	term, err := terminal.Open(terminal.Config{In: slave, Out: slave, Env: terminal.Env{Term: "xterm-256color"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = term.Close() })
	client := s.client(t, 80, 24)
	term.Divert(sinkTo{client}, canvas.Rect{W: 80, H: 24})
	screen, c := vt.New(80, 24), canvas.New(80, 24)
	follow(t, client, func(b []byte) {
		_, _ = screen.Write(b)
		f := screen.Frame()
		c.DrawFrame(canvas.Rect{W: 80, H: 24}, f, 0, 0, canvas.FrameOptions{})
		c.SetCursor(f.Cursor.Col, f.Cursor.Row, f.Cursor.Shape)
		term.Present(c)
	})
	u := newTypist(t, master)
	u.sees(t, "ready")
	return u
}

// behindDashboard is somebody at the dashboard, in whose pane a tmux client is.
func (s *innerTmux) behindDashboard(t *testing.T) *typist {
	t.Helper()
	b := &tmuxBackend{Backend: &tuitest.Backend{}, t: t, tmux: s}
	ctx, cancel := context.WithCancel(context.Background())
	p := runWith(ctx, t, b, b.Backend)
	t.Cleanup(func() {
		cancel()
		p.ends()
	})
	u := &typist{pty: p.master, more: make(chan struct{}, 1)}
	p.mu.Lock()
	p.heard = u.saw
	p.mu.Unlock()
	b.Link(sessions.Link{State: sessions.LinkLive})
	b.Tell(sessions.Change{Type: sessions.ChangeSnapshot, Sessions: []sessions.Session{session(1, "one", sessions.Detached)}})
	u.sees(t, "ready")
	u.types(t, "\r")
	p.shows("gives the keyboard back")
	return u
}

// tmuxBackend attaches to real terminals, in place of the fake ones of the Backend in it.
type tmuxBackend struct {
	*tuitest.Backend
	t    *testing.T
	tmux *innerTmux
}

// Attach implements tui.Attacher.
func (b *tmuxBackend) Attach(id sessions.ID, o sessions.StreamOptions, h sessions.StreamHandler) tui.Stream {
	client := b.tmux.client(b.t, o.Cols, o.Rows)
	h.StreamLink(sessions.Link{State: sessions.LinkLive})
	h.StreamFrame(sessions.Frame{Type: sessions.FrameAttached, SessionID: id, Cols: o.Cols, Rows: o.Rows, State: sessions.Running})
	h.StreamFrame(sessions.Frame{Type: sessions.FrameRestore})
	h.StreamFrame(sessions.Frame{Type: sessions.FrameLive})
	follow(b.t, client, h.StreamBytes)
	return &tmuxStream{Stream: &tuitest.Stream{ID: id, Options: o, Handler: h}, keys: sinkTo{client}}
}

// tmuxStream types into a real terminal.
type tmuxStream struct {
	*tuitest.Stream
	keys sinkTo
}

// Send implements tui.Stream.
func (s *tmuxStream) Send(p []byte) bool { s.keys.Input(p); return true }

// Paste implements tui.Stream.
func (s *tmuxStream) Paste(p []byte) bool { s.keys.Input(p); return true }

// sinkTo writes what is typed to a terminal.
type sinkTo struct{ pty *os.File }

func (s sinkTo) Input(p []byte) { _, _ = s.pty.Write(p) }
func (s sinkTo) Paste(p []byte) { s.Input(p) }

// follow hands over what a terminal prints, until it is closed.
func follow(t *testing.T, master *os.File, take func([]byte)) {
	t.Helper()
	var reading sync.WaitGroup
	reading.Go(func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := master.Read(buf)
			if n > 0 {
				take(buf[:n])
			}
			if err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = master.Close()
		reading.Wait()
	})
}

// openPTY opens a terminal whose other end ends its reads when it is closed.
func openPTY(t *testing.T, cols, rows int) (master, slave *os.File) {
	t.Helper()
	m, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(m, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	master = nonblocking(t, m)
	t.Cleanup(func() {
		_ = slave.Close()
		_ = master.Close()
	})
	return master, slave
}
