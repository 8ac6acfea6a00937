package vt_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"corral/e2e/rounds"
)

// tmuxTimeout bounds everything that waits for tmux; on a loaded machine a process may take a second to start.
const tmuxTimeout = 30 * time.Second

// tmuxConfig is the part of Corral's configuration that decides what reaches a client. The title carries a mark, because
// tmux writes the title right before each redraw. The mark is the window's name: to set an option would have every
// client draw everything anew.
const tmuxConfig = `
set -s exit-empty off
set -s escape-time 0
set -s focus-events on
set -s set-clipboard off
set -s default-terminal tmux-256color
set -s extended-keys on
set -s terminal-features xterm-256color:256:RGB:bpaste:ccolour:clipboard:cstyle:extkeys:focus:mouse:overline:strikethrough:sync:title:usstyle
set -s terminal-overrides ,xterm-256color:smcup@:rmcup@:indn@
set -g prefix None
set -g prefix2 None
set -g status off
set -g mouse off
set -g history-limit 2000
set -g remain-on-exit on
set -g set-titles on
set -g set-titles-string "#{window_name};#{pane_title}"
set -g allow-rename off
set -g automatic-rename off
set -g bell-action any
set -g visual-bell off
`

// tmuxServer is a tmux server of the test's own, with a control client that runs commands without a process for each.
type tmuxServer struct {
	dir, socket string

	mu      sync.Mutex // held for a command and its reply
	control io.Writer
	replies *bufio.Scanner
}

// startTmux starts a server that ends with the test.
func startTmux(t *testing.T) *tmuxServer {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is missing; install the Debian package tmux")
	}
	dir, err := os.MkdirTemp("", "vt") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	s := &tmuxServer{dir: dir, socket: filepath.Join(dir, "s")}
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(tmuxConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := s.command("new-session", "-d", "-s", "keeper", "sleep 1000").CombinedOutput(); err != nil {
		t.Fatalf("start tmux: %v\n%s", err, out)
	}
	s.startControl(t)
	return s
}

// startControl attaches the control client. The server ends with the test.
func (s *tmuxServer) startControl(t *testing.T) {
	t.Helper()
	cmd := s.command("-C", "attach", "-t", "=keeper", "-f", "no-output,ignore-size")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.control, s.replies = in, bufio.NewScanner(out)
	s.replies.Buffer(nil, 1<<20)
	watchdog := time.AfterFunc(time.Duration(rounds.N(4, 8, 60))*time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		s.command("kill-server").Run()
		watchdog.Stop()
		cmd.Wait()
		os.RemoveAll(s.dir)
	})
	s.reply(t) // to attach itself
}

// run runs tmux commands and returns what they printed.
func (s *tmuxServer) run(t *testing.T, commands ...string) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.control, strings.Join(commands, " ; "))
	var out strings.Builder
	for range commands {
		out.WriteString(s.reply(t))
	}
	return out.String()
}

// reply reads the reply to one command. Notifications that come between are skipped.
func (s *tmuxServer) reply(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	inside := ""
	for s.replies.Scan() {
		line := s.replies.Text()
		guard, rest, _ := strings.Cut(line, " ")
		switch {
		case inside == "" && guard == "%begin":
			inside = rest
		case inside == "":
		case rest == inside && guard == "%end":
			return out.String()
		case rest == inside && guard == "%error":
			t.Fatalf("tmux: %s", out.String())
		default:
			out.WriteString(line + "\n")
		}
	}
	t.Fatal("the control client ended")
	return ""
}

// command returns a tmux process that talks to the server, with nothing of the test's own environment.
func (s *tmuxServer) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", s.socket, "-f", filepath.Join(s.dir, "conf")}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=xterm-256color", "HOME=" + s.dir, "SHELL=/bin/sh"}
	return cmd
}

// tmuxClient is a tmux session with a client attached to it in a PTY.
type tmuxClient struct {
	*tmuxServer
	name string
	tty  string
	pty  *os.File

	marks int // titles printed so far

	mu   sync.Mutex
	more *sync.Cond
	got  []byte // all that the client printed; guarded by mu, as err
	err  error
}

// attach starts a shell command in a session of its own and attaches to it.
func (s *tmuxServer) attach(t *testing.T, name, command string, cols, rows int) *tmuxClient {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	s.run(t, fmt.Sprintf("new-session -d -s %s -n start -x %d -y %d '%s'", name, cols, rows, command))
	c := &tmuxClient{tmuxServer: s, name: name, tty: slave.Name(), pty: master}
	c.more = sync.NewCond(&c.mu)
	cmd := s.command("attach", "-t", "="+name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = ownTerminal()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		<-read // the PTY reads as closed once its last process is gone
		master.Close()
	})
	return c
}

// read gathers what the client prints. Its queries are not answered, so that tmux does not draw everything anew when
// answers come: it goes on without after 5 s.
func (c *tmuxClient) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := c.pty.Read(buf)
		c.mu.Lock()
		c.got = append(c.got, buf[:n]...)
		if c.err = err; err != nil {
			c.more.Broadcast()
			c.mu.Unlock()
			return
		}
		c.more.Broadcast()
		c.mu.Unlock()
	}
}

// redraw has the client draw everything anew, and returns all that it printed up to the end of that, and the title that
// it then had.
func (c *tmuxClient) redraw(t *testing.T) (printed []byte, title string) {
	t.Helper()
	title = c.nextMark()
	c.run(t, fmt.Sprintf("rename-window -t =%s: %s", c.name, title), "refresh-client -t "+c.tty)
	c.waitFor(t, title)
	return c.mark(t), title
}

// mark has the client print a title, and returns all that it printed before.
func (c *tmuxClient) mark(t *testing.T) []byte {
	t.Helper()
	mark := c.nextMark()
	c.run(t, fmt.Sprintf("rename-window -t =%s: %s", c.name, mark))
	return c.waitFor(t, mark)
}

// nextMark returns a title that was not printed yet.
func (c *tmuxClient) nextMark() string {
	c.marks++
	return fmt.Sprintf("mark%d", c.marks)
}

// waitFor waits until the client printed a title with a mark, and returns all that it printed before.
func (c *tmuxClient) waitFor(t *testing.T, mark string) []byte {
	t.Helper()
	title := []byte("\x1b]0;" + mark + ";")
	return c.until(t, "title "+mark, func(got []byte) int { return bytes.Index(got, title) })
}

// wait waits until the client printed n bytes, and returns all that it printed.
func (c *tmuxClient) wait(t *testing.T, n int) []byte {
	t.Helper()
	return c.until(t, fmt.Sprint(n, " bytes"), func(got []byte) int {
		if len(got) < n {
			return -1
		}
		return len(got)
	})
}

// until waits until find finds something in what the client printed, and returns all before it.
func (c *tmuxClient) until(t *testing.T, what string, find func([]byte) int) []byte {
	t.Helper()
	stop := time.AfterFunc(tmuxTimeout, func() {
		c.mu.Lock()
		c.err = context.DeadlineExceeded
		c.more.Broadcast()
		c.mu.Unlock()
	})
	defer stop.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if i := find(c.got); i >= 0 {
			return bytes.Clone(c.got[:i])
		}
		if c.err != nil {
			t.Fatalf("%s: no %s: %v\n%q", c.name, what, c.err, c.got[max(0, len(c.got)-2000):])
		}
		c.more.Wait()
	}
}

// tmuxState is what tmux itself says about a pane.
type tmuxState struct {
	capture  []byte
	col, row int
	visible  bool
	title    string
}

// state asks tmux for the pane's screen.
func (c *tmuxClient) state(t *testing.T) tmuxState {
	t.Helper()
	const format = "#{cursor_x} #{cursor_y} #{cursor_flag} #{pane_title}"
	out := c.run(t, fmt.Sprintf("display -p -t =%s: '%s'", c.name, format), fmt.Sprintf("capture-pane -e -p -N -t =%s:", c.name))
	head, capture, _ := strings.Cut(out, "\n")
	f := strings.SplitN(head, " ", 4)
	if len(f) != 4 {
		t.Fatalf("display printed %q", head)
	}
	col, err1 := strconv.Atoi(f[0])
	row, err2 := strconv.Atoi(f[1])
	if err1 != nil || err2 != nil {
		t.Fatalf("display printed %q", head)
	}
	return tmuxState{capture: []byte(capture), col: col, row: row, visible: f[2] == "1", title: f[3]}
}
