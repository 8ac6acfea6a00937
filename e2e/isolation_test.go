package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// TestMainJobTwoCorrals runs two data directories and a user's own tmux server side by side: none sees another.
func TestMainJobTwoCorrals(t *testing.T) {
	t.Parallel()
	a, b := harness.New(t), harness.New(t)
	user := filepath.Join(a.Dir, "user.sock")
	tmux := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-S", user, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("the user's tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "-s", "users-own", "sleep", "1000")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", user, "kill-server").Run() })
	before := tmux("list-panes", "-a", "-F", "#{session_name} #{pane_pid}")
	// A client inside the user's tmux session must not meet that server either.
	a.Setenv("TMUX", user+",1,0")
	a.Setenv("TMUX_PANE", "%0")
	sa := a.Create("--title", "in-a", "--cwd", a.Home)
	sb := b.Create("--title", "in-b", "--cwd", b.Home)
	a.WaitState(sa.ID, harness.Soon, sessions.Detached)
	b.WaitState(sb.ID, harness.Soon, sessions.Detached)
	if l := a.List(); len(l) != 1 || l[0].ID != sa.ID {
		t.Errorf("a sees %v", l)
	}
	if l := b.List(); len(l) != 1 || l[0].ID != sb.ID {
		t.Errorf("b sees %v", l)
	}
	a.Kill("tmux")
	a.WaitState(sa.ID, harness.Soon, sessions.Recoverable)
	if now := b.Session(sb.ID); now.State != sessions.Detached {
		t.Errorf("b's session is %s after a's tmux server was killed", now.State)
	}
	if after := tmux("list-panes", "-a", "-F", "#{session_name} #{pane_pid}"); after != before {
		t.Errorf("the user's tmux had %q and has %q", before, after)
	}
	// The user's own tmux works inside a session: no TMUX in its environment.
	b.OK("send", string(sb.ID), "echo TMUX=[$TMUX]", "--enter")
	b.Eventually(harness.Soon, func() error {
		if out := b.OK("screen", string(sb.ID)); !strings.Contains(out, "TMUX=[]") {
			return fmt.Errorf("screen: %s", out)
		}
		return nil
	})
}

// TestMainJobRunDirectoryDeleted deletes the directory of sockets under live sessions: nothing is lost, and all verbs
// work again at once.
func TestMainJobRunDirectoryDeleted(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	made := shells(c, 2)
	panes := []int{c.PanePID(made[0].ID), c.PanePID(made[1].ID)}
	run := filepath.Dir(c.Status().Server.Socket)
	for range rounds.N(1, 2, 5) {
		if err := os.RemoveAll(run); err != nil {
			t.Logf("some of it came back while it was deleted: %v", err)
		}
		deleted := time.Now()
		c.Eventually(harness.Soon, func() error {
			if r := c.Run("ls"); r.Code != 0 || !strings.Contains(r.Stdout, "s0") {
				return fmt.Errorf("ls: exit %d %s%s", r.Code, r.Stdout, r.Stderr)
			}
			return nil
		})
		a := c.Dashboard(80, 24, "attach", string(made[0].ID))
		a.WaitFor(harness.Prompt)
		if took := time.Since(deleted); rounds.Timing() && took > 2*time.Second {
			t.Errorf("ls and attach work after %v, want within 2 s", took)
		}
		a.Type(prefix)
		a.Exit()
	}
	c.WaitState(made[0].ID, harness.Soon, sessions.Detached)
	for i, s := range made {
		if tr := c.Transitions(s.ID); strings.Contains(strings.Join(tr, " "), "RECOVERABLE") {
			t.Errorf("%s: %v", s.Title, tr)
		}
		if pid := c.PanePID(s.ID); pid != panes[i] {
			t.Errorf("%s: pane %d became %d", s.Title, panes[i], pid)
		}
	}
	// The database answers changes too.
	c.OK("rename", string(made[0].ID), "renamed")
}

// settled returns the commands when none has come for a second: what was started before is over.
func settled(c *harness.Corral, commands func() []string) (last []string) {
	c.T.Helper()
	since := time.Now()
	c.Eventually(harness.Soon, func() error {
		if now := commands(); len(now) != len(last) {
			last, since = now, time.Now()
		}
		if time.Since(since) < time.Second {
			return errors.New("tmux is still being told things")
		}
		return nil
	})
	return last
}

// TestMainJobQuiet counts the tmux commands while a pane shows a counter, and while nothing happens.
func TestMainJobQuiet(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.WriteConfig("[log]\nlevel = \"debug\"\n")
	busy := c.Create("--kind", "command", "--title", "sixty", "--cwd", c.Home, "--",
		"bash", "-c", harness.Nap+`i=0; while :; do i=$((i+1)); printf "\rn=%d " $i; nap 0.016; done`)
	for i := range rounds.N(5, 20, 20) {
		c.Create("--title", fmt.Sprintf("idle%d", i), "--cwd", c.Home)
	}
	commands := func() []string {
		b, err := os.ReadFile(filepath.Join(c.Data, "log", "runtime.log"))
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, l := range strings.Split(string(b), "\n") {
			if strings.Contains(l, `"tmux command"`) || strings.Contains(l, `"tmux spawned"`) {
				out = append(out, l)
			}
		}
		return out
	}
	if len(commands()) == 0 {
		t.Fatal("the log names no tmux command, so that nothing can be counted")
	}
	d := c.Dashboard(120, 40)
	d.WaitFor("sixty")
	d.Type("g")
	d.WaitUntil("the counter runs", func(string) bool { return shown(d) > 0 })
	c.WaitState(busy.ID, harness.Soon, sessions.Detached, sessions.Running)
	before := settled(c, commands)
	time.Sleep(time.Duration(rounds.N(3, 10, 10)) * time.Second)
	during := commands()[len(before):]
	if len(during) > 12 {
		t.Errorf("%d tmux commands while a counter was shown: %s", len(during), strings.Join(during, "\n"))
	}
	for _, l := range during {
		if strings.Contains(l, "capture-pane") {
			t.Errorf("a capture: %s", l)
		}
	}
	d.Type("q")
	d.Exit()
	c.OK("stop", string(busy.ID))
	c.WaitState(busy.ID, harness.Soon, sessions.Stopped)
	before = settled(c, commands)
	time.Sleep(time.Duration(rounds.N(5, 20, 60)) * time.Second)
	if idle := commands()[len(before):]; len(idle) > 0 {
		t.Errorf("an idle Corral sent tmux: %s", strings.Join(idle, "\n"))
	}
}
