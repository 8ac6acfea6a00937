package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// TestBackupAndRestore backs up while sessions change, and restores: under live sessions, which stay as they are, and
// into an empty data directory, where they are RECOVERABLE and can be restarted.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	made := shells(c, rounds.N(2, 10, 50))
	file := filepath.Join(c.Dir, "saved")
	c.OK("rename", string(made[0].ID), "before")
	during(func() { c.OK("backup", file) }, func(i int) { c.Run("rename", string(made[1].ID), fmt.Sprintf("changing %d", i)) })
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v", info, err)
	}
	c.OK("rename", string(made[0].ID), "after")
	later := c.Create("--title", "later", "--project", "p", "--cwd", c.Home)
	pids := map[sessions.ID]int{made[0].ID: c.PanePID(made[0].ID), later.ID: c.PanePID(later.ID)}

	var restored struct {
		Sessions int
		Before   string
	}
	c.JSON(&restored, "restore", file)
	if restored.Sessions != len(made) || filepath.Dir(restored.Before) != c.Data {
		t.Errorf("%+v", restored)
	}
	c.Eventually(harness.Soon, func() error {
		if n := len(c.List()); n != len(made)+1 {
			return fmt.Errorf("%d sessions", n)
		}
		return nil
	})
	for id, pid := range pids {
		if s := c.WaitState(id, harness.Soon, sessions.Detached); c.PanePID(id) != pid {
			t.Errorf("%s has another process", s.Title)
		}
	}
	if s := c.Session(later.ID); s.Title != "later" || s.Project != "p" || s.StateEvidence == "" {
		t.Errorf("adopted as %+v", s)
	}
	if s := c.Session(made[0].ID); s.Title != "after" {
		t.Errorf("a live session is called %q after the restore of an older name", s.Title)
	}
	badBackups(t, c)

	empty := harness.New(t)
	empty.OK("restore", file)
	for i, s := range made {
		now := empty.WaitState(s.ID, harness.Soon, sessions.Recoverable)
		if want := "before"; i == 0 && now.Title != want || now.CWD != s.CWD {
			t.Errorf("restored as %+v", now)
		}
	}
	empty.OK("restart", string(made[0].ID))
	empty.WaitState(made[0].ID, harness.Soon, sessions.Detached)
}

// during calls change again and again while do runs.
func during(do func(), change func(int)) {
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				change(i)
			}
		}
	})
	do()
	close(done)
	work.Wait()
}

// badBackups: one sentence each, and nothing changes.
func badBackups(t *testing.T, c *harness.Corral) {
	t.Helper()
	junk := filepath.Join(c.Dir, "junk")
	if err := os.WriteFile(junk, []byte("PGDMP"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := len(c.List())
	for _, b := range []badInput{
		{"no backup", nil, args("restore", junk), 2, `no backup`},
		{"no such file", nil, args("restore", filepath.Join(c.Dir, "none")), 2, `no such file`},
		{"a directory that is not there", nil, args("backup", filepath.Join(c.Dir, "none", "x")), 2, `no such file`},
	} {
		play(t, c, b)
	}
	if n := len(c.List()); n != before {
		t.Errorf("%d sessions became %d", before, n)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir, ".saved*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
