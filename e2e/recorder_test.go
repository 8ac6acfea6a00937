package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// records returns a session's journal, whose sequences must rise by one.
func records(c *harness.Corral, id sessions.ID) []sessions.JournalRecord {
	c.T.Helper()
	var list []sessions.JournalRecord
	c.JSON(&list, "journal", string(id))
	for i := 1; i < len(list); i++ {
		if list[i].Sequence != list[i-1].Sequence+1 || list[i].Time.Before(list[i-1].Time) {
			c.T.Fatalf("record %d follows %d", list[i].Sequence, list[i-1].Sequence)
		}
	}
	return list
}

// printed returns what a session printed.
func printed(c *harness.Corral, id sessions.ID) []byte {
	c.T.Helper()
	var all []byte
	for _, r := range records(c, id) {
		if r.Kind != "output" {
			continue
		}
		p, err := r.Data()
		if err != nil {
			c.T.Fatal(err)
		}
		all = append(all, p...)
	}
	return all
}

// TestRecorderKeepsEveryLine kills the runtime three times while a program prints numbers: each is in the journal once.
func TestRecorderKeepsEveryLine(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	n := rounds.N(100_000, 1_000_000, 5_000_000)
	s := c.Create("--title", "seq", "--", "sh", "-c", fmt.Sprintf("seq 1 %d; sleep 1000", n))
	for range 3 {
		c.Kill("runtime")
	}
	c.PID("runtime") // it is up again
	c.Eventually(harness.Soon, func() error {
		if nodes := c.Status().Nodes; len(nodes) != 1 || nodes[0].State != sessions.Up {
			return fmt.Errorf("nodes: %+v", nodes)
		}
		return nil
	})
	var want bytes.Buffer
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&want, "%d\r\n", i)
	}
	var got []byte
	c.Eventually(6*harness.Soon, func() error {
		if got = printed(c, s.ID); !bytes.HasSuffix(got, fmt.Appendf(nil, "\n%d\r\n", n)) {
			return fmt.Errorf("%d bytes of %d", len(got), want.Len())
		}
		return nil
	})
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes instead of %d", len(got), want.Len())
	}
}

// TestRecorderSeesNoPassword types at a password prompt and at a plain one, through an attached terminal.
func TestRecorderSeesNoPassword(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	const secret = "correct-horse-battery"
	s := c.Create("--title", "pw", "--", "bash", "-c", `read -s -p "Password: " x; echo; read -p "plain: " y; echo thanks; sleep 1000`)
	term := c.Dashboard(80, 24, "attach", string(s.ID))
	term.WaitFor("Password:")
	term.Type(secret + "\r")
	term.WaitFor("plain:")
	term.Type("visible\r")
	term.WaitFor("thanks")
	err := filepath.WalkDir(c.Data, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // a socket, or gone
		}
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(secret)) {
			t.Errorf("the password is in %s", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	redacted, typed := int64(0), ""
	for _, r := range records(c, s.ID) {
		if r.Kind == "input" {
			redacted += r.Bytes
			typed += r.Payload
		}
	}
	if redacted != int64(len(secret)+1) || typed != "visible\r" {
		t.Errorf("%d bytes redacted, typed %q", redacted, typed)
	}
}

// TestRecorderForgetsWithTheSession removes one session with its journal, and one without.
func TestRecorderForgetsWithTheSession(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	for _, keep := range []bool{false, true} {
		s := c.Create("--title", fmt.Sprint("keep-", keep), "--", "sh", "-c", "echo words; sleep 1000")
		c.Eventually(harness.Soon, func() error {
			if got := string(printed(c, s.ID)); !strings.Contains(got, "words") {
				return fmt.Errorf("printed %q", got)
			}
			return nil
		})
		args := []string{"rm", "--force", string(s.ID)}
		if keep {
			args = append(args, "--keep-journal")
		}
		c.OK(args...)
		_, err := os.Stat(filepath.Join(c.Data, "journal", string(s.ID)))
		if os.IsNotExist(err) == keep {
			t.Errorf("kept %v: %v", keep, err)
		}
	}
}
