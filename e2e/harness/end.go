package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// end stops everything of this Corral and removes its directory. When the test failed, logs are printed and the
// directory stays.
func (c *Corral) end() {
	_ = c.Run("down")
	c.endProcesses()
	if c.T.Failed() {
		c.printLogs()
		_ = os.WriteFile(filepath.Join(shared.keeper.Dir, "keep"), nil, 0o600)
		c.T.Logf("kept: %s", c.Dir)
		return
	}
	if pg := c.postgresDir(); strings.HasPrefix(pg, rootPostgres+"/") {
		_ = os.RemoveAll(filepath.Dir(pg))
	}
	_ = os.RemoveAll(c.Dir)
}

func (c *Corral) endProcesses() {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, p := range c.processes() {
			_ = syscall.Kill(p.pid, sig)
		}
		if eventually(3*time.Second, c.nothingLeft) == nil {
			break
		}
	}
	if err := eventually(Soon, c.nothingLeft); err != nil {
		c.T.Errorf("left behind: %v", err)
	}
}

func (c *Corral) nothingLeft() error {
	if left := c.processes(); len(left) > 0 {
		return fmt.Errorf("%v", left)
	}
	return nil
}

type process struct {
	pid  int
	args string
}

// processes finds every process that belongs to this Corral: its environment or its arguments name the test's
// directory, or it is a PostgreSQL of the cluster named there.
func (c *Corral) processes() []process {
	marks := [][]byte{[]byte(c.Dir + "/")}
	if pg, err := os.ReadFile(filepath.Join(c.Data, "postgres.path")); err == nil {
		if dir := strings.TrimSpace(string(pg)); strings.HasPrefix(dir, "/var/lib/corral/") {
			marks = append(marks, []byte(filepath.Dir(dir)))
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !Alive(pid) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		env, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		for _, m := range marks {
			if bytes.Contains(args, m) || bytes.Contains(env, m) {
				out = append(out, process{pid: pid, args: string(bytes.ReplaceAll(args, []byte{0}, []byte{' '}))})
				break
			}
		}
	}
	return out
}

func (c *Corral) printLogs() {
	logs, _ := filepath.Glob(filepath.Join(c.Data, "log", "*"))
	for _, l := range logs {
		b, err := os.ReadFile(l)
		if err != nil {
			continue
		}
		if len(b) > 6000 {
			b = b[len(b)-6000:]
		}
		c.T.Logf("--- %s\n%s", filepath.Base(l), b)
	}
}

// Roles counts this Corral's processes by role: server, runtime, recorder and tmux (its server, not its clients).
func (c *Corral) Roles() map[string]int {
	out := map[string]int{}
	for _, p := range c.processes() {
		fields := strings.Fields(p.args)
		if len(fields) < 2 {
			continue
		}
		switch {
		case fields[0] == c.bin:
			switch fields[1] {
			case "server", "runtime", "recorder":
				out[fields[1]]++
			}
		case filepath.Base(fields[0]) == "tmux" && strings.Contains(p.args, " start-server"):
			out["tmux"]++
		}
	}
	return out
}

// PostgresPIDs returns the processes of this Corral's private PostgreSQL.
func (c *Corral) PostgresPIDs() []int {
	pidFile, err := os.ReadFile(filepath.Join(c.postgresDir(), "postmaster.pid"))
	if err != nil {
		c.T.Fatal(err)
	}
	master, err := strconv.Atoi(strings.SplitN(string(pidFile), "\n", 2)[0])
	if err != nil {
		c.T.Fatal(err)
	}
	pids := []int{master}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", master, master))
	for _, f := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
