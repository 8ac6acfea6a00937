package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/migrations/pgtest"
	"corral/sessions"
)

// trueAgain is how soon after the database's return every state must be right.
const trueAgain = 15 * time.Second

// absence is what happens to a Corral while its database is away.
type absence struct {
	c           *harness.Corral
	d           *harness.Term // shows and types into shell
	shell       sessions.Session
	seven, lost sessions.Session
	gate        string // lets seven exit
}

func beforeAbsence(c *harness.Corral) *absence {
	c.T.Helper()
	a := &absence{c: c, gate: filepath.Join(c.Dir, "gate")}
	a.seven = c.Create("--kind", "command", "--title", "seven", "--cwd", c.Home, "--",
		"bash", "-c", harness.Nap+`while [ ! -e "$0" ]; do nap 0.02; done; exit 7`, a.gate)
	a.lost = c.Create("--title", "lost", "--cwd", c.Home)
	a.shell = c.Create("--title", "typed", "--cwd", c.Home)
	for _, s := range []sessions.Session{a.seven, a.lost, a.shell} {
		c.WaitState(s.ID, harness.Soon, sessions.Detached)
	}
	a.d = c.Dashboard(120, 40)
	a.d.WaitFor("typed", "seven", "lost")
	a.d.Type("g")
	a.d.WaitFor("│ seven")
	a.d.Type("jj")
	a.d.WaitFor("│ typed", harness.Prompt)
	a.d.Type("\r")
	a.d.Type("echo $((40+2))-before\r")
	a.d.WaitFor("42-before")
	return a
}

// during is to be called once the database is away: keys echo, the list is there, a change is one clear error. Meanwhile
// one session exits and another is lost.
func (a *absence) during() {
	t := a.c.T
	t.Helper()
	a.c.Eventually(harness.Soon, func() error {
		if st := a.c.Status(); st.Database.State != sessions.Down || st.Database.Message == "" {
			return fmt.Errorf("database: %+v", st.Database)
		}
		return nil
	})
	a.d.Type("echo $((40+2))-during\r")
	a.d.WaitFor("42-during")
	if l := a.c.List(); len(l) != 3 {
		t.Errorf("the list without a database: %+v", l)
	}
	r := a.c.Run("rename", string(a.shell.ID), "renamed")
	if line := strings.TrimSpace(r.Stderr); r.Code != 4 || line == "" || strings.Contains(line, "\n") {
		t.Errorf("a change without a database: exit %d, %q", r.Code, r.Stderr)
	}
	if out, err := a.c.Tmux("kill-session", "-t", "=cr-"+string(a.lost.ID)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pid := a.c.PanePID(a.seven.ID)
	if err := os.WriteFile(a.gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.c.Eventually(harness.Soon, func() error {
		if harness.Alive(pid) {
			return fmt.Errorf("process %d has not exited", pid)
		}
		return nil
	})
}

// after is to be called once the database is back: every state is right, with one event for each change.
func (a *absence) after() {
	t := a.c.T
	t.Helper()
	back := time.Now()
	bound := harness.Startup
	if rounds.Timing() {
		bound = trueAgain
	}
	seven := a.c.WaitState(a.seven.ID, bound, sessions.Failed)
	a.c.WaitState(a.lost.ID, bound, sessions.Recoverable)
	t.Logf("states true %v after the database was back", time.Since(back).Round(time.Millisecond))
	if seven.ExitCode == nil || *seven.ExitCode != 7 {
		t.Errorf("exit code %s, want 7", str(seven.ExitCode))
	}
	for id, to := range map[sessions.ID]string{a.seven.ID: ">FAILED", a.lost.ID: ">RECOVERABLE"} {
		n := 0
		for _, tr := range a.c.Transitions(id) {
			if strings.HasSuffix(tr, to) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d events %s, want one: %v", n, to, a.c.Transitions(id))
		}
	}
	a.d.Type("echo $((40+2))-after\r")
	a.d.WaitFor("42-after")
	a.c.OK("rename", string(a.shell.ID), "renamed")
}

// TestPrivateDatabaseKilled kills PostgreSQL while a pane is open, and keeps the server from starting it again for a
// while by holding the lock of its start.
func TestPrivateDatabaseKilled(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	a := beforeAbsence(c)
	cluster := filepath.Join(c.Data, "postgres")
	if named, err := os.ReadFile(filepath.Join(c.Data, "postgres.path")); err == nil {
		cluster = strings.TrimSpace(string(named))
	}
	lock, err := os.OpenFile(cluster+".lock", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	pidFile, err := os.ReadFile(filepath.Join(cluster, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(pidFile), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	c.KillPID(pid)
	a.during()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	a.after()
	if st := c.Status(); st.Database.State != sessions.Up {
		t.Errorf("database: %+v", st.Database)
	}
}

// TestExternalDatabaseAway does the same with a PostgreSQL named by CR_DATABASE_URL that cannot be reached for a while.
func TestExternalDatabaseAway(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	link := pgtest.NewProxy(t, filepath.Join(c.Dir, "pg"), pgtest.EmptyURL(t))
	c.Setenv("CR_DATABASE_URL", link.URL)
	a := beforeAbsence(c)
	if st := c.Status(); st.Database.Kind != "external" {
		t.Fatalf("database: %+v", st.Database)
	}
	link.Cut()
	gone := time.Now()
	a.during()
	time.Sleep(time.Until(gone.Add(time.Duration(rounds.N(1, 5, 20)) * time.Second)))
	link.Open()
	a.after()
}

// TestServerStartedWithoutItsDatabase kills the server too, while the database is away: the new one has no row to go by,
// and lists and attaches what the runtime has.
func TestServerStartedWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	link := pgtest.NewProxy(t, filepath.Join(c.Dir, "pg"), pgtest.EmptyURL(t))
	c.Setenv("CR_DATABASE_URL", link.URL)
	made := shells(c, 2)
	link.Cut()
	c.Kill("server")
	c.Eventually(harness.Startup, func() error {
		r := c.Run("ls")
		if r.Code != 0 || !strings.Contains(r.Stdout, "s0") || !strings.Contains(r.Stdout, "s1") {
			return fmt.Errorf("ls: exit %d, %s%s", r.Code, r.Stdout, r.Stderr)
		}
		return nil
	})
	a := c.Dashboard(80, 24, "attach", "s1")
	a.WaitFor(harness.Prompt)
	a.Type("echo $((40+2))-attached\r")
	a.WaitFor("42-attached")
	a.Type(prefix)
	a.Exit()
	for _, verb := range [][]string{args("rename", "s0", "other"), args("new", "--cwd", c.Home)} {
		play(t, c, badInput{"change", nil, verb, 4, `database|PostgreSQL`})
	}
	link.Open()
	c.Eventually(harness.Startup, func() error {
		if st := c.Status(); st.Database.State != sessions.Up {
			return fmt.Errorf("database: %+v", st.Database)
		}
		return nil
	})
	c.OK("rename", string(made[0].ID), "renamed")
	if l := c.List(); len(l) != 2 {
		t.Errorf("%+v", l)
	}
}
