package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/sessions"
)

const prefix = "\x1c" // ctrl+\

// newSession makes a shell session through the dashboard's dialog and gives it the keyboard.
func newSession(c *harness.Corral, d *harness.Term, title string) sessions.Session {
	c.T.Helper()
	d.Type("n")
	d.WaitFor("New session", "title")
	d.Type(title + "\r")
	d.WaitGone("New session") // keys typed while it is being made belong to the dialog
	d.WaitFor(title)
	var made sessions.Session
	c.Eventually(harness.Soon, func() error {
		for _, s := range c.List() {
			if s.Title == title && s.State != sessions.Starting {
				made = s
				return nil
			}
		}
		return fmt.Errorf("no session %q", title)
	})
	return made
}

// quit leaves the dashboard by its key and checks the farewell.
func quit(c *harness.Corral, d *harness.Term, farewell string) {
	c.T.Helper()
	d.Type("q")
	if code := d.Exit(); code != 0 {
		c.T.Fatalf("the dashboard ended with %d", code)
	}
	last := strings.TrimSpace(d.Screen())
	if !strings.Contains(last, farewell) || !strings.Contains(last, "corral") || strings.Contains(last, "\n") {
		c.T.Fatalf("the farewell is not one line that says %q and how to come back: %q", farewell, last)
	}
}

// TestMainJobFirstRun is what a new user does, from an empty home: make a session, type into it, leave, come back.
func TestMainJobFirstRun(t *testing.T) {
	t.Parallel()
	leave := map[string]func(c *harness.Corral, d *harness.Term){
		"quit": func(c *harness.Corral, d *harness.Term) {
			d.Type(prefix)
			quit(c, d, "1 session")
		},
		"hangup": func(_ *harness.Corral, d *harness.Term) { d.Hangup() },
	}
	for name, leave := range leave {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := harness.Empty(t)
			if err := os.RemoveAll(filepath.Join(c.Home, ".bash_profile")); err != nil {
				t.Fatal(err)
			}
			d := c.Dashboard(120, 40)
			d.WaitFor("No sessions yet")
			if strings.Contains(d.Screen(), "is away") {
				t.Errorf("a first start looks like trouble:\n%s", d.Screen())
			}
			s := newSession(c, d, "first")
			d.WaitUntil("the shell's prompt", func(screen string) bool { return strings.ContainsAny(screen, "#$") })
			d.Type("\r")
			d.Type("echo $((40+2))-$((1))\r")
			d.WaitFor("42-1")
			leave(c, d)

			d = c.Dashboard(120, 40)
			d.WaitFor("first", "42-1")
			if now := c.Session(s.ID); now.State != sessions.Detached && now.State != sessions.Running {
				t.Errorf("after coming back the session is %s", now.State)
			}
			quit(c, d, "1 session")
		})
	}
}

// TestMainJobLostAndRestarted kills the tmux server under an open dashboard: the session turns RECOVERABLE there, R
// brings it back under the same id with a fresh process, x stops it after a confirmation.
func TestMainJobLostAndRestarted(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	dir := filepath.Join(c.Dir, "work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := c.Create("--title", "lost", "--cwd", dir)
	old := c.PanePID(s.ID)
	d := c.Dashboard(80, 24)
	d.WaitFor("lost", harness.Prompt)
	c.Kill("tmux")
	d.WaitFor("RECOVERABLE")
	d.Type("R")
	d.WaitGone("RECOVERABLE")
	again := c.WaitState(s.ID, harness.Soon, sessions.Detached, sessions.Running)
	if again.Title != s.Title || again.CWD != dir {
		t.Errorf("restarted as %q in %s, want %q in %s", again.Title, again.CWD, s.Title, dir)
	}
	pid := c.PanePID(s.ID)
	if pid == old {
		t.Error("the process is the old one")
	}
	c.Eventually(harness.Soon, func() error {
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || cwd != dir {
			return fmt.Errorf("the new process is in %q (%v), want %s", cwd, err, dir)
		}
		return nil
	})
	d.WaitFor(harness.Prompt)

	d.Type("x")
	d.WaitFor("lost", "y")
	d.Type("y")
	c.WaitState(s.ID, harness.Soon, sessions.Stopped)
	d.WaitFor("STOPPED")
	d.Type("?")
	d.WaitFor("Keys")
	d.Type("\x1b")
	d.WaitGone("Keys") // typed in one burst, escape and q would be alt+q
	quit(c, d, "")
}

// TestMainJobSwitching moves the selection by keys: the pane follows at once.
func TestMainJobSwitching(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	for _, title := range []string{"alpha", "beta", "gamma"} {
		s := c.Create("--title", title, "--cwd", c.Home)
		c.OK("send", string(s.ID), "echo this-is-"+title, "--enter")
	}
	d := c.Dashboard(200, 50)
	d.WaitFor("alpha", "beta", "gamma")
	d.Type("g")
	d.WaitFor("this-is-alpha")
	for _, step := range []struct{ key, want string }{
		{"j", "beta"}, {"j", "gamma"}, {"k", "beta"}, {"\x1b[A", "alpha"}, {"\x1b[B", "beta"}, {"G", "gamma"},
	} {
		d.Type(step.key)
		d.WaitFor("this-is-" + step.want)
	}
	quit(c, d, "3 sessions")
}

// TestMainJobTooSmall checks that a terminal that is too small gets a polite line and recovers.
func TestMainJobTooSmall(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.Create("--title", "room", "--cwd", c.Home)
	d := c.Dashboard(30, 8)
	d.WaitFor("40")
	d.Resize(80, 24)
	d.WaitFor("room", harness.Prompt)
	d.Resize(20, 5)
	d.WaitGone("room")
	d.Resize(120, 40)
	d.WaitFor("room", harness.Prompt)
	quit(c, d, "1 session")
}

// TestMainJobTerminalRestored checks the user's terminal after each way out: the last bytes leave the alternate screen
// and switch every mode off.
func TestMainJobTerminalRestored(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.Create("--title", "modes", "--cwd", c.Home)
	for _, way := range []struct {
		name string
		out  func(d *harness.Term)
	}{
		{"quit", func(d *harness.Term) { d.Type("q") }},
		{"SIGTERM", func(d *harness.Term) { _ = syscall.Kill(d.PID(), syscall.SIGTERM) }},
		{"SIGHUP", func(d *harness.Term) { _ = syscall.Kill(d.PID(), syscall.SIGHUP) }},
		{"SIGINT", func(d *harness.Term) { _ = syscall.Kill(d.PID(), syscall.SIGINT) }},
	} {
		d := c.Dashboard(80, 24)
		d.WaitFor("modes")
		way.out(d)
		d.Exit()
		isRestored(t, way.name, d.Tail(400))
	}

	// Nothing can prepare for kill -9; the next start on the same terminal cleans up before anything else.
	shell := exec.Command("bash", "--norc", "-c", `"$0"; echo; echo between; exec "$0"`, c.Cmd(context.Background()).Path)
	shell.Env, shell.Dir = c.Env(), c.Home
	d := harness.Open(t, shell, 80, 24)
	d.WaitFor("modes", harness.Prompt)
	c.KillPID(childOf(t, d.PID()))
	d.WaitUntil("the second dashboard", func(string) bool { return strings.Count(d.Tail(1<<20), "\x1b[?1049h") == 2 })
	d.WaitFor("modes", harness.Prompt)
	_, after, _ := strings.Cut(d.Tail(1<<20), "between")
	cleaned, _, _ := strings.Cut(after, "\x1b[?1049h")
	isRestored(t, "the start after a kill -9", cleaned)
	d.Type("q")
	d.Exit()
	isRestored(t, "quit", d.Tail(400))
}

// isRestored checks the last bytes that a terminal got.
func isRestored(t *testing.T, after, tail string) {
	t.Helper()
	left := strings.LastIndex(tail, "\x1b[?1049l")
	if left < 0 {
		t.Errorf("%s: the alternate screen is not left: %q", after, tail)
		return
	}
	for _, off := range []string{"[?1000l", "[?1002l", "[?1003l", "[?1004l", "[?1006l", "[?2004l", "[>4m", "[<u", "[0 q"} {
		if strings.LastIndex(tail, "\x1b"+off) < left {
			t.Errorf("%s: %s does not follow the alternate screen: %q", after, off, tail)
		}
	}
	if strings.LastIndex(tail, "\x1b[?25h") < strings.LastIndex(tail, "\x1b[?25l") {
		t.Errorf("%s: the cursor stays hidden: %q", after, tail)
	}
}

// childOf returns the one child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatalf("the children of %d are %q", pid, b)
	}
	return child
}

// TestMainJobAttach drives the raw, full-screen attach and its way back.
func TestMainJobAttach(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	s := c.Create("--title", "raw", "--cwd", c.Home)
	a := c.Dashboard(100, 30, "attach", "raw")
	a.WaitFor(harness.Prompt)
	a.Type("echo $((6*7))-there\r")
	a.WaitFor("42-there")
	c.WaitState(s.ID, harness.Soon, sessions.Running)
	c.Eventually(harness.Soon, func() error {
		out, err := c.Tmux("display-message", "-p", "-t", "=cr-"+string(s.ID)+":", "#{window_width}x#{window_height}")
		if err != nil || out != "100x30" {
			return fmt.Errorf("the window is %s (%v), want the attached terminal's 100x30", out, err)
		}
		return nil
	})
	a.Type(prefix)
	if code := a.Exit(); code != 0 {
		t.Errorf("detaching ended with %d", code)
	}
	c.WaitState(s.ID, 10*time.Second, sessions.Detached)
	if strings.Contains(a.Tail(200), "\x1b[?1049h") {
		t.Error("the terminal is left in the alternate screen")
	}
}
