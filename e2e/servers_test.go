package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/migrations/pgtest"
	"corral/sessions"
)

// TestTwoServersShareADatabase runs two data directories on one PostgreSQL. Neither takes the other's sessions for lost;
// one server is stopped in the middle of it for a while and goes on, the other is killed: each session stays what it is,
// every change has one event, and each dashboard sees both.
func TestTwoServersShareADatabase(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	a, b := harness.New(t), harness.New(t)
	for _, c := range []*harness.Corral{a, b} {
		c.Setenv("CR_DATABASE_URL", url)
	}
	mine := a.Create("--title", "mine", "--cwd", a.Home)
	theirs := b.Create("--title", "theirs", "--cwd", b.Home)
	a.WaitState(theirs.ID, harness.Soon, sessions.Detached)
	if mine.Node == theirs.Node {
		t.Errorf("both are of the node %s", mine.Node)
	}
	if r := a.Run("stop", string(theirs.ID)); r.Code != 1 || !strings.Contains(r.Stderr, theirs.Node) {
		t.Errorf("stop of the other's session: exit %d, %q", r.Code, r.Stderr)
	}

	paused := a.PID("server")
	if err := syscall.Kill(paused, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	other := b.Create("--title", "other", "--cwd", b.Home)
	b.Kill("server")
	b.OK("rename", string(theirs.ID), "renamed")
	if out, err := b.Tmux("kill-session", "-t", "=cr-"+string(other.ID)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.WaitState(other.ID, harness.Soon, sessions.Recoverable)
	time.Sleep(time.Until(begun.Add(time.Duration(rounds.N(1, 10, 60)) * time.Second)))
	if err := syscall.Kill(paused, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}

	a.WaitState(other.ID, harness.Soon, sessions.Recoverable)
	if s := a.Session(theirs.ID); s.Title != "renamed" || s.State != sessions.Detached {
		t.Errorf("seen by the other: %+v", s)
	}
	for _, s := range []sessions.Session{mine, theirs, other} {
		want := []string{">STARTING", "STARTING>DETACHED"}
		if s.ID == other.ID {
			want = append(want, "DETACHED>RECOVERABLE")
		}
		if got := a.Transitions(s.ID); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", s.Title, got, want)
		}
	}
}
