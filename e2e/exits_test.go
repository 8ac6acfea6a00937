package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// ending is a way for a program to end and what it must be called.
type ending struct {
	name   string
	script string // waits for the file $0, then ends
	state  sessions.State
	code   int
	signal int
}

func endings() []ending {
	const wait = harness.Nap + `while [ ! -e "$0" ]; do nap 0.02; done; `
	return []ending{
		{"zero", wait + "exit 0", sessions.Stopped, 0, 0},
		{"seven", wait + "exit 7", sessions.Failed, 7, 0},
		{"killed", wait + "kill -9 $$", sessions.Failed, 137, 9},
		{"segv", wait + "kill -SEGV $$", sessions.Failed, 139, 11},
	}
}

// TestMainJobExits checks exit codes and signals, with everything up and with server and runtime down meanwhile.
func TestMainJobExits(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprintf("daemonsDown=%v", down), func(t *testing.T) {
			t.Parallel()
			c := harness.New(t)
			gate := filepath.Join(c.Dir, "gate")
			made := map[string]sessions.Session{}
			for _, e := range endings() {
				made[e.name] = c.Create("--kind", "command", "--title", e.name, "--cwd", c.Home, "--", "bash", "-c", e.script, gate)
			}
			var pids []int
			for _, s := range made {
				c.WaitState(s.ID, harness.Soon, sessions.Detached)
				pids = append(pids, c.PanePID(s.ID))
			}
			if down {
				c.OK("down")
			}
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			c.Eventually(harness.Soon, func() error {
				for _, pid := range pids {
					if harness.Alive(pid) {
						return fmt.Errorf("%d runs", pid)
					}
				}
				return nil
			})
			if down {
				c.OK("up")
			}
			for _, e := range endings() {
				s := c.WaitState(made[e.name].ID, harness.Soon, sessions.Stopped, sessions.Failed, sessions.Recoverable)
				if s.State != e.state || s.ExitCode == nil || *s.ExitCode != e.code ||
					(e.signal != 0) != (s.Signal != nil) || s.Signal != nil && *s.Signal != e.signal {
					t.Errorf("%s: %s, code %v, signal %v; want %s, %d, %d", e.name, s.State, str(s.ExitCode), str(s.Signal), e.state, e.code, e.signal)
				}
			}
		})
	}
}

func str(p *int) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprint(*p)
}

// TestMainJobManyExits ends many sessions in a row: no exit status is lost (some tmux builds lose one in ten).
func TestMainJobManyExits(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	n := rounds.N(24, 100, 200)
	var made []sessions.Session
	for i := range n {
		made = append(made, c.Create("--kind", "command", "--title", fmt.Sprintf("e%d", i), "--cwd", c.Home, "--",
			"sh", "-c", fmt.Sprintf("exit %d", 1+i%100)))
	}
	for i, s := range made {
		now := c.WaitState(s.ID, harness.Soon, sessions.Failed)
		if now.ExitCode == nil || *now.ExitCode != 1+i%100 {
			t.Errorf("session %d: code %s, want %d", i, str(now.ExitCode), 1+i%100)
		}
	}
}

// TestMainJobKilledFromOutside kills a session's process from outside with -9.
func TestMainJobKilledFromOutside(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	s := c.Create("--title", "victim", "--cwd", c.Home)
	c.WaitState(s.ID, harness.Soon, sessions.Detached)
	_ = syscall.Kill(c.PanePID(s.ID), syscall.SIGKILL)
	began := time.Now()
	now := c.WaitState(s.ID, harness.Soon, sessions.Failed)
	if now.ExitCode == nil || *now.ExitCode != 137 || now.Signal == nil || *now.Signal != 9 {
		t.Errorf("code %s, signal %s", str(now.ExitCode), str(now.Signal))
	}
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("written FAILED after %v: a death that could be a host going down must wait 5 s", took)
	}
}
