package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// TestHundredSessionsLost kills the tmux server while sessions are in every state and a task runs: each is what it must
// be within two seconds of the server's end, with one event, and the dashboard shows one notice.
func TestHundredSessionsLost(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	type expectation struct {
		from, to sessions.State
	}
	want := map[sessions.ID]expectation{}
	create := func(title string, e expectation, how ...string) sessions.Session {
		s := c.Create(append([]string{"--title", title, "--cwd", c.Home}, how...)...)
		want[s.ID] = e
		return s
	}
	command := func(script string) []string { return []string{"--kind", "command", "--", "sh", "-c", script} }
	for i := range rounds.N(1, 5, 20) {
		create(fmt.Sprint("detached", i), expectation{sessions.Detached, sessions.Recoverable}, command("sleep 1000")...)
		create(fmt.Sprint("stopped", i), expectation{sessions.Stopped, sessions.Stopped}, command("exit 0")...)
		create(fmt.Sprint("failed", i), expectation{sessions.Failed, sessions.Failed}, command("exit 3")...)
		deaf := create(fmt.Sprint("stopping", i), expectation{sessions.Stopping, sessions.Stopped},
			command(`trap "" TERM HUP; echo deaf; while :; do sleep 0.2; done`)...)
		lost := create(fmt.Sprint("lost", i), expectation{sessions.Recoverable, sessions.Recoverable}, command("sleep 1000")...)
		c.WaitState(lost.ID, harness.Soon, sessions.Detached)
		if out, err := c.Tmux("kill-session", "-t", "=cr-"+string(lost.ID)); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		c.Eventually(harness.Soon, func() error {
			if out := c.OK("screen", string(deaf.ID)); !strings.Contains(out, "deaf") {
				return fmt.Errorf("not ready: %q", out)
			}
			return nil
		})
	}
	var task sessions.Task
	c.JSON(&task, "task", "run", "--", "sleep", "1000")
	running := create("running", expectation{sessions.Running, sessions.Recoverable})
	d := c.Dashboard(120, 40, "attach", "running")
	d.WaitFor(harness.Prompt)
	watcher := c.Dashboard(200, 50)
	watcher.WaitFor("detached0")
	c.WaitState(running.ID, harness.Soon, sessions.Running)
	lost := 0
	for id, e := range want {
		if e.from != sessions.Stopping {
			c.WaitState(id, harness.Soon, e.from)
		}
		if e.from != e.to && e.to == sessions.Recoverable {
			lost++
		}
	}

	tmux := c.PID("tmux")
	for id, e := range want { // last: they are killed 10 s later
		if e.from == sessions.Stopping {
			c.OK("stop", string(id))
		}
	}
	c.KillPID(tmux)
	died := time.Now()
	watcher.WaitFor(fmt.Sprintf("%d sessions were lost", lost)) // one notice, gone after some seconds
	var took time.Duration
	c.Eventually(harness.Soon, func() error {
		for _, s := range c.List() {
			if s.State != want[s.ID].to {
				return fmt.Errorf("%s is %s", s.Title, s.State)
			}
			took = max(took, s.StateSince.Sub(died))
		}
		return nil
	})
	t.Logf("%d sessions right %v after the end of their tmux server", len(want), took.Round(time.Millisecond))
	if rounds.Timing() && took > 2*time.Second {
		t.Errorf("right after %v, want within 2 s", took)
	}
	for id, e := range want {
		if tr := c.Transitions(id); countSuffix(tr, ">"+string(e.to)) != 1 || !strings.HasSuffix(tr[len(tr)-1], ">"+string(e.to)) {
			t.Errorf("%s to %s: %v", e.from, e.to, tr)
		}
	}
	c.Eventually(harness.Soon, func() error {
		var now sessions.Task
		if c.JSON(&now, "task", "show", string(task.ID)); now.State != sessions.TaskLost || now.EndedAt != nil {
			return fmt.Errorf("the task is %s, ended at %v", now.State, now.EndedAt)
		}
		return nil
	})
	// Nothing came back by itself.
	if out, err := c.Tmux("list-sessions", "-F", "#{session_name}"); err == nil && slices.ContainsFunc(strings.Fields(out),
		func(name string) bool { return strings.HasPrefix(name, "cr-") || strings.HasPrefix(name, "crt-") }) {
		t.Errorf("there is a session again: %s", out)
	}
}

func countSuffix(list []string, want string) int {
	n := 0
	for _, s := range list {
		if strings.HasSuffix(s, want) {
			n++
		}
	}
	return n
}
