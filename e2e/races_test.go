package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// TestMainJobTwoClientsAtOnce starts two clients at the same instant on a cold data directory: one server, one
// runtime, one tmux server.
func TestMainJobTwoClientsAtOnce(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { c.OK("new", "--title", fmt.Sprintf("c%d", i), "--cwd", c.Home) })
	}
	wg.Wait()
	if l := c.List(); len(l) != 2 {
		t.Errorf("%d sessions, want 2", len(l))
	}
	for role, n := range c.Roles() {
		if n != 1 {
			t.Errorf("%d processes of %s", n, role)
		}
	}
}

// TestMainJobServerKilledWhileCreating kills the server at random moments of creating and restarting: every session
// ends up in a true state, none is doubled, none orphaned.
func TestMainJobServerKilledWhileCreating(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.OK("up")
	for i := range rounds.N(4, 10, 40) {
		// One kill for each create, at another moment of it every time.
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(time.Duration(37*i%200) * time.Millisecond)
			if pid := c.Status().Server.PID; pid != 0 {
				c.KillPID(pid)
			}
		})
		// A client that is cut off may fail; what it asked for is then there or not, but never half.
		_ = c.Run("new", "--title", fmt.Sprintf("k%d", i), "--cwd", c.Home)
		wg.Wait()
	}
	c.OK("up")
	c.Eventually(90*time.Second, func() error {
		live := map[string]bool{}
		for _, s := range c.List() {
			if s.State == sessions.Starting || s.State == sessions.Stopping {
				return fmt.Errorf("%s is still %s", s.Title, s.State)
			}
			if s.State.Live() {
				live["cr-"+string(s.ID)] = true
			}
		}
		out, err := c.Tmux("list-panes", "-a", "-F", "#{session_name} #{pane_dead}")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		for _, l := range strings.Split(out, "\n") {
			name, dead, _ := strings.Cut(l, " ")
			if strings.HasPrefix(name, "cr-") && dead == "0" && !live[name] {
				return fmt.Errorf("tmux has %s, the list does not", name)
			}
			delete(live, name)
		}
		if len(live) > 0 {
			return fmt.Errorf("the list has %v, tmux does not", live)
		}
		return nil
	})
	titles := map[string]int{}
	for _, s := range c.List() {
		titles[s.Title]++
	}
	for title, k := range titles {
		if k > 1 {
			t.Errorf("%s exists %d times", title, k)
		}
	}
}

// TestMainJobTwoRestartsAtOnce asks for two restarts at the same instant: one process and one conflict.
func TestMainJobTwoRestartsAtOnce(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	s := c.Create("--kind", "command", "--title", "twice", "--cwd", c.Home, "--", "sh", "-c", "exit 3")
	for range rounds.N(2, 5, 20) {
		c.WaitState(s.ID, harness.Soon, sessions.Failed)
		var wg sync.WaitGroup
		codes := make([]int, 2)
		for i := range codes {
			wg.Go(func() { codes[i] = c.Run("restart", string(s.ID)).Code })
		}
		wg.Wait()
		// The program ends at once, so that a late second restart may find it ended again.
		if codes[0] != 0 && codes[1] != 0 {
			t.Errorf("exit codes %v, want at least one success", codes)
		}
	}
	c.WaitState(s.ID, harness.Soon, sessions.Failed)
	starts, fails := 0, 0
	for _, tr := range c.Transitions(s.ID) {
		if strings.HasSuffix(tr, ">STARTING") {
			starts++
		}
		if strings.HasSuffix(tr, ">FAILED") {
			fails++
		}
	}
	if starts != fails {
		t.Errorf("%d starts and %d ends: %v", starts, fails, c.Transitions(s.ID))
	}
}
