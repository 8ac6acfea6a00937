package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// counter starts a session that appends rising numbers to a file and prints them, one every few milliseconds.
func counter(c *harness.Corral, title string) (sessions.Session, string) {
	c.T.Helper()
	file := filepath.Join(c.Dir, title+".log")
	s := c.Create("--kind", "command", "--title", title, "--cwd", c.Home, "--",
		"bash", "-c", harness.Nap+`i=0; while :; do i=$((i+1)); echo "n=$i"; echo $i >>"$0"; nap 0.01; done`, file)
	return s, file
}

// noHole checks that the file holds 1, 2, 3 ... and returns the last number.
func noHole(t testing.TB, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	for i, l := range lines {
		if l != strconv.Itoa(i+1) {
			t.Fatalf("line %d of the counter is %q", i+1, l)
		}
	}
	return len(lines)
}

// shown returns the highest n= that the terminal shows.
func shown(d *harness.Term) int {
	best := 0
	for _, f := range strings.FieldsFunc(d.Screen(), func(r rune) bool { return r == ' ' || r == '\n' || r == '│' }) {
		if n, err := strconv.Atoi(strings.TrimPrefix(f, "n=")); err == nil && strings.HasPrefix(f, "n=") {
			best = max(best, n)
		}
	}
	return best
}

// TestMainJobDaemonsKilled kills server and runtime with -9 while a program prints and the dashboard shows it.
func TestMainJobDaemonsKilled(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	s, file := counter(c, "counter")
	d := c.Dashboard(120, 40)
	d.WaitFor("counter", "n=")
	pane, tmux := c.PanePID(s.ID), c.PID("tmux")
	for range rounds.N(1, 2, 10) {
		for _, role := range []string{"server", "runtime"} {
			c.Kill(role)
			before := noHole(t, file)
			d.WaitUntil("the pane goes on after the "+role+" was killed", func(string) bool { return shown(d) > before })
		}
	}
	if now := c.PanePID(s.ID); now != pane {
		t.Errorf("the pane's process was %d and is %d", pane, now)
	}
	if now := c.PID("tmux"); now != tmux {
		t.Errorf("the tmux server was %d and is %d", tmux, now)
	}
	noHole(t, file)
	for _, tr := range c.Transitions(s.ID) {
		if strings.Contains(tr, string(sessions.Recoverable)) || strings.Contains(tr, string(sessions.Failed)) {
			t.Errorf("a killed daemon moved the session: %v", c.Transitions(s.ID))
		}
	}
}

// TestMainJobRuntimeDown holds the runtime down: the node is OFFLINE, no row changes, and on its return everything is
// there.
func TestMainJobRuntimeDown(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	var made []sessions.Session
	for _, title := range []string{"one", "two", "three"} {
		made = append(made, c.Create("--title", title, "--cwd", c.Home))
	}
	for _, s := range made {
		c.WaitState(s.ID, harness.Soon, sessions.Detached)
	}
	before := c.List()
	pane := c.PanePID(made[0].ID)

	// Start the server again under a config that keeps the runtime down.
	c.WriteConfig("autostart = false\n")
	c.Kill("server")
	c.Kill("runtime")
	server := c.Start("server", "--foreground")
	c.Eventually(harness.Startup, func() error {
		st := c.Status()
		if len(st.Nodes) != 1 || st.Nodes[0].State != sessions.Offline {
			return fmt.Errorf("nodes: %+v", st.Nodes)
		}
		return nil
	})
	held := time.Duration(rounds.N(4, 20, 40)) * time.Second
	for end := time.Now().Add(held); time.Now().Before(end); time.Sleep(time.Second) {
		for i, s := range c.List() {
			if s.State != before[i].State || !s.UpdatedAt.Equal(before[i].UpdatedAt) {
				t.Fatalf("with the runtime away session %s went from %s to %s", s.Title, before[i].State, s.State)
			}
		}
	}
	if r := c.Run("stop", string(made[0].ID)); r.Code == 0 || strings.Count(strings.TrimSpace(r.Stderr), "\n") > 0 {
		t.Errorf("stop without a runtime: exit %d, %q", r.Code, r.Stderr)
	}
	runtime := c.Start("runtime", "--foreground")
	c.Eventually(harness.Soon, func() error {
		st := c.Status()
		if st.Nodes[0].State != sessions.Up {
			return fmt.Errorf("nodes: %+v", st.Nodes)
		}
		return nil
	})
	if now := c.PanePID(made[0].ID); now != pane {
		t.Errorf("the pane's process was %d and is %d", pane, now)
	}
	for _, s := range made[1:] {
		c.WaitState(s.ID, harness.Soon, sessions.Detached)
		for _, tr := range c.Transitions(s.ID) {
			if strings.Contains(tr, string(sessions.Recoverable)) {
				t.Errorf("%s: %v", s.Title, c.Transitions(s.ID))
			}
		}
	}
	_, _ = server, runtime
}
