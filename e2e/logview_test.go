package e2e

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"corral/e2e/harness"
	"corral/sessions"
)

// chatty is a program whose log has something for every part of the viewer. It waits for the file $1 before it says more.
const chatty = `for i in $(seq 1 3000); do
	echo "line $i of the log"
	[ $((i % 1000)) = 7 ] && printf '\033[31merror\033[m number %d\n' $i
done
for p in $(seq 1 500); do printf '\rdownloading %d of 500' $p; done; echo
printf 'bell\007 nul\000 bad\377 title\033]0;evil\007 end\n'
while [ ! -e "$1" ]; do sleep 0.05; done
seq 1 5 | sed 's/^/late /'
while [ ! -e "$1.end" ]; do sleep 0.05; done
exit 7
`

// TestLogView reads the log of a task in the dashboard, in two sizes.
func TestLogView(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	for _, size := range []struct{ cols, rows int }{{80, 24}, {200, 50}} {
		name := fmt.Sprintf("chatty%d", size.cols)
		script, gate := filepath.Join(c.Dir, name), filepath.Join(c.Dir, name+".gate")
		if err := os.WriteFile(script, []byte(chatty), 0o600); err != nil {
			t.Fatal(err)
		}
		d := c.Dashboard(size.cols, size.rows)
		d.WaitFor("task")
		d.Type("t")
		d.WaitFor("Run a task")
		d.Type("sh " + script + " " + gate + "\x1b[B\x1b[B" + name + "\r")
		d.WaitFor(name, "RUNNING", "line 3000 of the log")

		// The end, with progress folded and hostile bytes made harmless.
		d.WaitFor("downloading 500 of 500", "bell␇ nul␀ bad\ufffd title end", "following")
		if strings.Contains(d.Screen(), "downloading 499") {
			t.Errorf("the progress is not folded:\n%s", d.Screen())
		}

		d.Type("l")
		d.WaitFor("q back")
		d.Type("k")
		d.WaitGone("following")
		touch(t, gate)
		d.WaitFor("5 new lines below; G follows")
		d.Type("G")
		d.WaitFor("late 5", "following")
		d.Type("y")
		d.WaitFor("copied late 5")
		put := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte("late 5"))
		c.Eventually(harness.Soon, func() error { // the notice may be drawn first
			if !strings.Contains(d.Tail(1<<16), put) {
				return errors.New("the terminal was not told what to put into the clipboard")
			}
			return nil
		})

		d.Type("/error number\r")
		d.WaitFor("is nowhere") // the colours lie between
		d.Type("/ number\r")
		d.WaitFor("error number 2007", "3 of 3")
		d.Type("NN")
		d.WaitFor("error number 7", "1 of 3", "line 8 of the log")
		d.Type("/\x12line 1\\d*7 of\r") // ctrl+r: a regular expression
		d.WaitFor("line 17 of the log", "of 111")
		d.Type("/\x12\x15\r")
		d.WaitGone("of 111")

		d.Type("&error\r")
		d.WaitFor("error number 7", "error number 1007", "error number 2007")
		d.WaitGone("line 8 of the log")
		d.Type("+")
		d.WaitFor("line 7 of the log", "line 8 of the log", "line 2008 of the log")
		d.Type("&\r")
		d.WaitFor("line 9 of the log")

		d.Type(":2500\r")
		d.WaitFor("line 2497 of the log", "line 2498 of the log") // three errors came before
		d.WaitGone("line 2496 of the log")
		d.Type("g")
		d.WaitFor("line 1 of the log", "line 2 of the log")
		d.Type(":50%\r")
		d.WaitFor("line 1805 of the log")
		d.Type("z")
		d.WaitGone("Tasks")
		d.Type("z")
		d.WaitFor("Tasks")
		d.Type("q")
		d.WaitFor("l log")

		touch(t, gate+".end")
		d.WaitFor("FAILED 7")
		d.Type("X")
		d.WaitFor("removed " + name + "; U brings it back")
		d.Type("U")
		d.WaitFor(name + " is back")
		d.Type("X")
		d.WaitGone("FAILED 7")
		quit(c, d, "1 removed")
		var left []sessions.Task
		if c.JSON(&left, "task", "ls"); len(left) != 0 {
			t.Errorf("what was removed is still there: %v", left)
		}
	}
}

// TestLogViewCancel cancels a task from the dashboard, after it was asked.
func TestLogViewCancel(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	made := runTask(c, "--title", "sleeper", "--", "sh", "-c", "echo begun; sleep 1000")
	runTask(c, "--title", "later", "--after", string(made.ID), "--", "true")
	d := c.Dashboard(120, 40)
	d.WaitFor("later", "QUEUED", "nothing printed yet")
	d.Type("j")
	d.WaitFor("sleeper", "begun", "RUNNING")
	d.Type("x")
	d.WaitFor("Cancel")
	d.Type("n")
	d.WaitGone("Cancel \"sleeper\"?")
	if got := task(c, made.ID); got.State != sessions.TaskRunning {
		t.Fatalf("the task is %s although nobody confirmed", got.State)
	}
	d.Type("x")
	d.WaitFor("Cancel \"sleeper\"?")
	d.Type("y")
	d.WaitFor("CANCELLED")
	waitTask(c, made.ID, sessions.TaskCancelled)
	quit(c, d, "")
}
