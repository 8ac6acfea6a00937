package tui_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
)

// changes are the calls that change something.
func (d *dashboard) changes() []string {
	return slices.DeleteFunc(d.backend.Calls(), func(c string) bool { return c == "task usage" || c == "see task" })
}

func (d *dashboard) lacks(text string) {
	d.t.Helper()
	d.Until(text+" to be gone", func() bool { return !strings.Contains(d.display.Text(), text) })
}

func TestRemovalCanBeTakenBack(t *testing.T) {
	t.Parallel()
	build := task(3, "build", sessions.TaskSucceeded)
	d := withTasks(t, 80, 24, &tuitest.Backend{}, []sessions.Session{session(1, "one", sessions.Stopped), session(2, "two", sessions.Failed)}, build)
	d.Press("X")
	d.shows("removed one; U brings it back (30 s)")
	d.lacks("■ one")
	d.Press("G", "X")
	d.lacks("✓ build")
	d.shows("removed 2; U brings back build (30 s)")
	d.now = d.now.Add(12 * time.Second)
	d.Press("U")
	d.shows("build is back")
	d.shows("▌✓ build")
	d.Press("U")
	d.shows("▌■ one")
	d.Press("U")
	d.shows("nothing was removed")
	if calls := d.changes(); len(calls) != 0 {
		t.Errorf("the server was asked: %v", calls)
	}
}

func TestRemovalIsDoneWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	one, build := session(1, "one", sessions.Stopped), task(3, "build", sessions.TaskSucceeded)
	d := withTasks(t, 80, 24, &tuitest.Backend{}, []sessions.Session{one}, build)
	d.Press("X", "X")
	d.shows("No sessions yet")
	d.Update(tui.RemovalDueMsg(one.ID)) // the clock of one that was taken back, say
	if calls := d.changes(); len(calls) != 0 {
		t.Fatalf("it was removed before its time: %v", calls)
	}
	d.now = d.now.Add(31 * time.Second)
	d.Update(tui.RemovalDueMsg(one.ID))
	d.Update(tui.RemovalDueMsg(build.ID))
	d.Until("the removals", func() bool { return len(d.changes()) == 2 })
	d.lacks("U brings")
	d.shows("No sessions yet")
	if got := d.app.Sessions(); len(got) != 0 {
		t.Errorf("still there: %v", got)
	}
}

func TestRemovalThatFailsShowsAgain(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Stopped)
	b := &tuitest.Backend{OnRemove: func(sessions.ID) error { return errors.New("the disk is on fire") }}
	d := withTasks(t, 80, 24, b, []sessions.Session{one})
	d.Press("X")
	d.lacks("■ one")
	d.now = d.now.Add(time.Minute)
	d.Update(tui.RemovalDueMsg(one.ID))
	d.shows("the disk is on fire")
	d.shows("■ one")
}

func TestRemovedSessionThatRunsAgainIsShown(t *testing.T) {
	t.Parallel()
	one := session(1, "one", sessions.Stopped)
	d := withTasks(t, 80, 24, &tuitest.Backend{}, []sessions.Session{one})
	d.Press("X")
	d.lacks("■ one")
	d.change(later(one, sessions.Starting))
	d.shows("one runs again and is not removed")
	d.shows("… one")
}

func TestRemovalsAreDoneAtQuitAndOnlyThen(t *testing.T) {
	t.Parallel()
	for _, quits := range []bool{true, false} {
		b := &tuitest.Backend{OnRemove: func(id sessions.ID) error {
			if id == session(2, "", "").ID {
				return errors.New("no")
			}
			return nil
		}}
		d := withTasks(t, 80, 24, b, []sessions.Session{session(1, "one", sessions.Stopped), session(2, "two", sessions.Failed)}, task(3, "build", sessions.TaskLost))
		d.Press("X", "X", "X")
		want := []string(nil)
		if quits {
			d.Press("q")
			want = []string{"remove", "remove", "remove task"}
		}
		done, failed := d.app.FinishRemovals(t.Context())
		calls := d.changes()
		slices.Sort(calls)
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Errorf("quit %v: %s", quits, diff)
		}
		if quits && (done != 2 || failed != 1) {
			t.Errorf("%d done, %d failed", done, failed)
		}
	}
}
