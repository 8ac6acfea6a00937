package e2e

import (
	"fmt"
	"strings"
	"testing"

	"corral/e2e/harness"
	"corral/sessions"
)

// TestLists works on the dashboard's lists as their user does: filter, sort, another project, why a session is in its
// state, removal and its undo, and the mark of a task that ended unseen, which outlives runtime and dashboard.
func TestLists(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.Create("--title", "server", "--project", "web")
	broken := c.Create("--title", "broken", "--project", "api", "--", "sh", "-c", "exit 7")
	ended := runTask(c, "--title", "backup", "--", "true")
	c.WaitState(broken.ID, harness.Soon, sessions.Failed)
	waitTask(c, ended.ID, sessions.TaskSucceeded)
	c.Kill("runtime")

	d := c.Dashboard(120, 40)
	d.WaitFor("FAILED 7", "•✓ backup", "Tasks")
	d.Type("G")
	d.WaitFor("▌✓ backup", "nothing printed yet")
	c.Eventually(harness.Soon, func() error {
		if !task(c, ended.ID).Seen {
			return fmt.Errorf("the task is not noted as seen")
		}
		return nil
	})
	c.Kill("runtime")
	d.WaitGone("is offline")

	d.Type("/web\r")
	d.WaitFor(" /web", "1 of 3", "server")
	d.WaitGone("broken")
	d.Type("\x1b")
	d.WaitFor("broken", "backup")
	d.Type("ff") // what wants you, then what lives
	d.WaitFor(" live", "1 of 3")
	d.Type("f")
	d.WaitFor(" ended", "2 of 3")
	d.Type("f")
	d.WaitFor("server")
	d.Type("s")
	d.WaitFor("Sessions by attention")
	d.WaitUntil("what failed to come first", func(s string) bool {
		return strings.Index(s, "broken") < strings.Index(s, "server")
	})
	d.Type("sss")
	d.WaitGone(" by ")

	d.Type("g")
	d.WaitFor("▌✗ broken", "exited 7")
	d.Type("i")
	d.WaitFor("state", "since", "evidence", "What led here")
	d.Type("\x1b")
	d.WaitGone("What led here")
	d.Type("r")
	d.WaitFor("Title and project")
	d.Type("\x1b[B\x15we\t\r") // the other field, emptied, and completed
	d.WaitGone("Title and project")
	c.Eventually(harness.Soon, func() error {
		if got := c.Session(broken.ID).Project; got != "web" {
			return fmt.Errorf("its project is %q", got)
		}
		return nil
	})

	d.Type("X")
	d.WaitFor("removed broken; U brings it back")
	d.WaitGone("FAILED 7")
	d.Type("U")
	d.WaitFor("broken is back", "FAILED 7")
	c.Session(broken.ID)
	d.Type("X")
	d.WaitGone("FAILED 7")
	quit(c, d, "1 session keeps running (1 removed)")
	for _, s := range c.List() {
		if s.ID == broken.ID {
			t.Error("what was removed is still there")
		}
	}

	d = c.Dashboard(80, 24)
	d.WaitFor("✓ backup")
	d.Type("gX") // of the live session
	d.WaitFor("only an ended session can be removed")
	d.Type("GX")
	d.WaitFor("removed backup")
	d.Hangup()
	if got := task(c, ended.ID); got.State != sessions.TaskSucceeded {
		t.Errorf("a terminal that went away removed for good: %+v", got)
	}
}

// TestDaemonLogs reads the logs of the daemons in the dashboard and without it.
func TestDaemonLogs(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.Create("--title", "one")
	d := c.Dashboard(80, 24)
	d.WaitFor("one", "DETACHED")
	d.Type("L")
	d.WaitFor("log of the server", "following", "INFO")
	d.Type("/server started\r")
	d.WaitFor(`"server started" 1 of 1`)
	d.Type("L")
	d.WaitFor("log of the runtime", "INFO")
	d.Type("q")
	d.WaitGone("log of the runtime")
	quit(c, d, "1 session")

	d = c.Dashboard(100, 30, "logs", "runtime")
	d.WaitFor("log of the runtime", "? help", "following", "INFO")
	d.Type("t&started\r")
	d.WaitFor("INFO started", "only lines with")
	d.Type("?")
	d.WaitFor("In a log")
	d.Type("\x1b")
	d.WaitGone("In a log")
	d.Type("L")
	d.WaitFor("log of the recorder")
	d.Type("q")
	if code := d.Exit(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}
