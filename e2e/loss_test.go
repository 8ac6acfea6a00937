package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// reconcileTick is how often the reconciler looks without a reason.
const reconcileTick = 15 * time.Second

func shells(c *harness.Corral, n int) []sessions.Session {
	c.T.Helper()
	var out []sessions.Session
	for i := range n {
		out = append(out, c.Create("--title", fmt.Sprintf("s%d", i), "--cwd", c.Home))
	}
	for _, s := range out {
		c.WaitState(s.ID, harness.Soon, sessions.Detached)
	}
	return out
}

// TestMainJobTmuxKilled kills the tmux server: every live session is RECOVERABLE at once, also when the server was
// down meanwhile, and nothing restarts by itself.
func TestMainJobTmuxKilled(t *testing.T) {
	t.Parallel()
	for _, serverDown := range []bool{false, true} {
		t.Run(fmt.Sprintf("serverDown=%v", serverDown), func(t *testing.T) {
			t.Parallel()
			c := harness.New(t)
			made := shells(c, 3)
			tmux := c.PID("tmux")
			if serverDown {
				c.WriteConfig("autostart = false\n")
				c.Kill("server")
			}
			c.KillPID(tmux)
			if serverDown {
				c.WriteConfig("")
				c.OK("up")
			}
			died := time.Now()
			for _, s := range made {
				c.WaitState(s.ID, harness.Soon, sessions.Recoverable)
			}
			if took := time.Since(died); rounds.Timing() && took > 2*time.Second {
				t.Errorf("RECOVERABLE after %v, want within 2 s", took)
			}
			// Two ticks of the reconciler later still nothing runs.
			time.Sleep(time.Duration(rounds.N(1, 2, 2)) * reconcileTick / time.Duration(rounds.N(5, 1, 1)))
			for _, s := range made {
				if now := c.Session(s.ID); now.State != sessions.Recoverable {
					t.Errorf("%s is %s by itself", s.Title, now.State)
				}
				if out, err := c.Tmux("has-session", "-t", "=cr-"+string(s.ID)); err == nil {
					t.Errorf("%s has a tmux session again: %s", s.Title, out)
				}
				if tr := c.Transitions(s.ID); countPrefix(tr, "DETACHED>RECOVERABLE") != 1 {
					t.Errorf("%s: want one event for the loss, got %v", s.Title, tr)
				}
			}
		})
	}
}

func countPrefix(list []string, want string) int {
	n := 0
	for _, s := range list {
		if strings.HasPrefix(s, want) {
			n++
		}
	}
	return n
}

// TestMainJobOneKilledOfThree kills one tmux session behind Corral's back: that one is RECOVERABLE, the others are
// untouched; close makes it STOPPED and starts nothing; restart brings another back with id, title and directory.
func TestMainJobOneKilledOfThree(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	made := shells(c, 3)
	panes := []int{c.PanePID(made[0].ID), c.PanePID(made[2].ID)}
	if out, err := c.Tmux("kill-session", "-t", "=cr-"+string(made[1].ID)); err != nil {
		t.Fatal(out, err)
	}
	c.WaitState(made[1].ID, harness.Soon, sessions.Recoverable)
	for i, s := range []sessions.Session{made[0], made[2]} {
		if now := c.Session(s.ID); now.State != sessions.Detached {
			t.Errorf("%s is %s", s.Title, now.State)
		}
		if pid := c.PanePID(s.ID); pid != panes[i] {
			t.Errorf("%s: pane %d became %d", s.Title, panes[i], pid)
		}
	}
	c.OK("close", string(made[1].ID))
	if now := c.Session(made[1].ID); now.State != sessions.Stopped {
		t.Errorf("closed: %s", now.State)
	}
	if out, err := c.Tmux("has-session", "-t", "=cr-"+string(made[1].ID)); err == nil {
		t.Errorf("close started something: %s", out)
	}
	if r := c.Run("restart", string(made[0].ID)); r.Code != 1 {
		t.Errorf("restart of a live session: exit %d %q", r.Code, r.Stderr)
	}
}

// TestMainJobRestart restarts a lost session: same id, title and directory, a new process, the directory read from the
// kernel.
func TestMainJobRestart(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	dir := filepath.Join(c.Dir, "a dir with 'quotes\" and $HOME")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := c.Create("--title", "it's \"mine\" #{pid} $(id)", "--cwd", dir)
	c.WaitState(s.ID, harness.Soon, sessions.Detached)
	for range rounds.N(2, 5, 20) {
		old := c.PanePID(s.ID)
		c.Kill("tmux")
		c.WaitState(s.ID, harness.Soon, sessions.Recoverable)
		var again sessions.Session
		c.JSON(&again, "restart", string(s.ID))
		if again.ID != s.ID || again.Title != s.Title || again.CWD != dir {
			t.Errorf("restarted as %+v", again)
		}
		c.WaitState(s.ID, harness.Soon, sessions.Detached)
		pid := c.PanePID(s.ID)
		if pid == old {
			t.Error("the old process")
		}
		c.Eventually(harness.Soon, func() error {
			if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || cwd != dir {
				return fmt.Errorf("the process is in %q (%v), want %s", cwd, err, dir)
			}
			return nil
		})
	}
}

// TestMainJobOrderlyReboot sends TERM to every pane's process and ends the tmux server a second later, as a host that
// goes down does: RECOVERABLE, not FAILED.
func TestMainJobOrderlyReboot(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	quiet := c.Create("--kind", "command", "--title", "sleeper", "--cwd", c.Home, "--", "sleep", "1000")
	catches := c.Create("--kind", "command", "--title", "catches", "--cwd", c.Home, "--",
		"sh", "-c", `trap "exit 143" TERM; echo ready; while :; do sleep 0.05; done`)
	shell := c.Create("--title", "shell", "--cwd", c.Home)
	all := []sessions.ID{quiet.ID, catches.ID, shell.ID}
	for _, id := range all {
		c.WaitState(id, harness.Soon, sessions.Detached)
	}
	c.Eventually(harness.Soon, func() error {
		if out := c.OK("screen", string(catches.ID)); !strings.Contains(out, "ready") {
			return fmt.Errorf("not ready: %q", out)
		}
		return nil
	})
	tmux := c.PID("tmux")
	for _, id := range all {
		_ = syscall.Kill(c.PanePID(id), syscall.SIGTERM)
	}
	time.Sleep(time.Second)
	c.KillPID(tmux)
	for _, id := range all {
		c.WaitState(id, harness.Soon, sessions.Recoverable)
		if tr := c.Transitions(id); slices.Contains(tr, "DETACHED>FAILED") && !slices.Contains(tr, "FAILED>RECOVERABLE") {
			t.Errorf("%v", tr)
		}
	}
}

// TestMainJobHostDownCorrected lets a death by TERM be written FAILED, and ends the tmux server then: the row is
// corrected.
func TestMainJobHostDownCorrected(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	s := c.Create("--kind", "command", "--title", "sleeper", "--cwd", c.Home, "--", "sleep", "1000")
	c.WaitState(s.ID, harness.Soon, sessions.Detached)
	_ = syscall.Kill(c.PanePID(s.ID), syscall.SIGTERM)
	c.WaitState(s.ID, harness.Soon, sessions.Failed)
	c.Kill("tmux")
	now := c.WaitState(s.ID, harness.Soon, sessions.Recoverable)
	if !strings.Contains(now.StateReason, "host went down") {
		t.Errorf("reason %q", now.StateReason)
	}
}

// TestMainJobStop stops a shell and a program that ignores TERM: STOPPED both times, nothing of them left.
func TestMainJobStop(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	shell := c.Create("--title", "shell", "--cwd", c.Home)
	deaf := c.Create("--kind", "command", "--title", "deaf", "--cwd", c.Home, "--",
		"sh", "-c", `trap "" TERM HUP; echo ready; while :; do sleep 0.1; done`)
	c.Eventually(harness.Soon, func() error {
		if out := c.OK("screen", string(deaf.ID)); !strings.Contains(out, "ready") {
			return fmt.Errorf("not ready: %q", out)
		}
		return nil
	})
	pids := []int{c.PanePID(shell.ID), c.PanePID(deaf.ID)}
	c.OK("stop", string(shell.ID))
	c.OK("stop", string(deaf.ID))
	c.WaitState(shell.ID, harness.Soon, sessions.Stopped)
	c.WaitState(deaf.ID, 2*harness.Soon, sessions.Stopped)
	for _, pid := range pids {
		if harness.Alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	c.OK("rm", string(deaf.ID))
	if r := c.Run("show", string(deaf.ID)); r.Code != 3 {
		t.Errorf("show of a removed session: exit %d", r.Code)
	}
}
