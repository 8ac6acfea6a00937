package e2e

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// TestLookBack reads the history of a session in the dashboard, in two sizes: exact to the line, searched, copied, and not
// moved by what the session prints meanwhile.
func TestLookBack(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	const lines = 3000
	s := c.Create("--kind", "command", "--title", "talker", "--cwd", "/usr", "--",
		"sh", "-c", fmt.Sprintf("i=0; while [ $((i+=1)) -le %d ]; do echo line $i.; done; printf 'asks> '; exec cat", lines))
	for _, size := range []struct{ cols, rows int }{{80, 24}, {200, 50}} {
		d := c.Dashboard(size.cols, size.rows)
		d.WaitFor("asks>", " live\n")
		d.Type("l")
		d.WaitFor("history, live", " end ", "asks>")

		d.Type("/line 1234.\r")
		d.WaitFor(`"line 1234." 1 of 1`, "│line 1233.", "│line 1234.", "│line 1235.")
		d.Type("g")
		d.WaitFor("│line 1.", "│line 2.", "begin")
		if rounds.Now() == rounds.Full {
			everyLineOnce(t, d, lines)
		}
		d.Type("G")
		d.WaitFor(" end ", "asks>")

		// What is printed meanwhile is counted and moves nothing.
		d.Type("\x1b[5~")
		d.WaitGone("asks>")
		before := d.Screen()
		c.OK("send", string(s.ID), "once more", "--enter")
		d.WaitFor("2 new lines below") // what the terminal echoes, and what cat says
		if was, now := inPane(before, 10), inPane(d.Screen(), 10); was != now {
			t.Errorf("the view moved: %q, now %q", was, now)
		}
		d.Type("q")
		d.WaitFor("│once more", " live\n")
		d.WaitGone("history")

		// The wheel looks back while the session has the keyboard, and typing comes back.
		d.Type("\r")
		d.WaitFor("gives the keyboard back")
		d.Type(strings.Repeat("\x1b[<64;60;10M", 3))
		d.WaitFor("history, live", "9 lines up")
		word := fmt.Sprint("typed", size.cols)
		d.Type(word + "\r")
		d.WaitUntil("what was typed, and cat's answer", func(screen string) bool { return strings.Count(screen, "│"+word) == 2 })
		d.WaitFor(" live\n")
		d.WaitGone("lines up")

		// A drag copies what is under it, and the screen goes on.
		y := 0
		for i, row := range strings.Split(d.Screen(), "\n") {
			if strings.Contains(row, "│line 2999.") {
				y = i + 1
			}
		}
		x := 26 // the first column of the pane
		if size.cols == 200 {
			x = 34
		}
		d.Type(fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<32;%d;%dM\x1b[<32;%d;%dM\x1b[<0;%d;%dm", x+5, y, x+6, y, x+3, y+1, x+3, y+1))
		d.WaitFor("copied 2 lines")
		put := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte("2999.\nline"))
		c.Eventually(harness.Soon, func() error { // the notice may be drawn first
			if tail := d.Tail(1 << 20); !strings.Contains(tail, put) {
				_, copied, _ := strings.Cut(tail, "\x1b]52;")
				return fmt.Errorf("the terminal was told to copy %.100q, want %q", copied, put)
			}
			return nil
		})
		d.Type(prefix)
		d.WaitGone("gives the keyboard back")
		quit(c, d, "1 session")
	}
}

// everyLineOnce pages from the first line of the history to the last, each row once.
func everyLineOnce(t *testing.T, d *harness.Term, lines int) {
	t.Helper()
	for n := 1; n <= lines; n++ {
		line := fmt.Sprintf("│line %d.", n)
		if strings.Contains(d.Screen(), line) {
			continue
		}
		d.Type(" ")
		d.WaitFor(line, fmt.Sprintf("│line %d.", n-1)) // a page keeps the last row of the one before
	}
}

// inPane returns the text of a row of the pane.
func inPane(screen string, row int) string {
	_, text, _ := strings.Cut(strings.Split(screen, "\n")[row], "│")
	return text
}

// TestViewersAreToldAndCounted has a session looked at, zoomed and attached to, and viewers die: who else is there is told
// to all, the size follows who types, and every count is right within a second.
func TestViewersAreToldAndCounted(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.Create("--kind", "command", "--title", "other", "--cwd", "/usr", "--", "cat")
	s := c.Create("--kind", "command", "--title", "shared", "--cwd", "/usr", "--", "sh", "-c", "printf 'asks> '; exec cat")
	counted := func(attached, watching int) {
		t.Helper()
		began := time.Now()
		c.Eventually(harness.Soon, func() error {
			if s := c.Session(s.ID); s.Attached != attached || s.Watching != watching {
				return fmt.Errorf("%d attached, %d watching, want %d and %d", s.Attached, s.Watching, attached, watching)
			}
			return nil
		})
		if took := time.Since(began); rounds.Timing() && took > time.Second {
			t.Errorf("the counts were right after %v", took)
		}
	}
	window := func(want string) {
		t.Helper()
		c.Eventually(harness.Soon, func() error {
			out, err := c.Tmux("display-message", "-p", "-t", "=cr-"+string(s.ID)+":", "#{window_width}x#{window_height}")
			if err != nil || out != want {
				return fmt.Errorf("the window is %s (%v), want %s", out, err, want)
			}
			return nil
		})
	}
	a := c.Dashboard(120, 30)
	a.WaitFor("other", "shared")
	a.Type("G")
	a.WaitFor("│ shared", "asks>", " live\n")
	counted(0, 1)
	a.Type("\r")
	a.WaitFor("gives the keyboard back")
	counted(1, 0)
	window("87x28")

	// Another one attaches: it is told of, and the size is its own as soon as it types.
	b := c.Dashboard(100, 20, "attach", "shared")
	b.WaitFor("asks>")
	a.WaitFor("+1 attached, your size")
	counted(2, 0)
	window("87x28")
	b.Type("hello\r")
	a.WaitFor("hello", "+1 attached, their size", "87x20 of 100x20")
	window("100x20")
	a.Type("mine\r") // taken over by typing
	a.WaitFor("mine", "+1 attached, your size")
	window("87x28")

	c.KillPID(b.PID())
	a.WaitGone("+1 attached")
	counted(1, 0)

	// The whole terminal: one viewer still.
	a.Type(prefix)
	a.WaitGone("gives the keyboard back")
	a.Type("z")
	a.WaitGone("│")
	a.WaitFor("mine")
	counted(1, 0)
	window("120x30")
	a.Type("raw\r")
	a.WaitUntil("the echo", func(screen string) bool { return strings.Count(screen, "raw") == 2 })
	a.Type(prefix)
	a.WaitFor("│ shared", " live\n", "of 120x30")
	counted(0, 1)

	// The next dashboard begins where this one was left.
	quit(c, a, "2 sessions")
	a = c.Dashboard(80, 24)
	a.WaitFor("│ shared", " live\n")
	c.KillPID(a.PID())
	counted(0, 0)
}

// TestPreviewsChangeNothing walks over many sessions: none changes its size or its state, and a second look at one is there
// at once.
func TestPreviewsChangeNothing(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	n := rounds.N(3, 10, 20)
	var last sessions.Session
	for i := range n {
		last = c.Create("--kind", "command", "--title", fmt.Sprintf("s%d", i), "--cwd", "/usr", "--", "sh", "-c", fmt.Sprintf("echo screen of s%d; exec cat", i))
	}
	for _, s := range c.List() {
		c.WaitState(s.ID, harness.Soon, sessions.Detached)
	}
	sizes := func() string {
		out, err := c.Tmux("list-windows", "-a", "-F", "#{session_name} #{window_width}x#{window_height}")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := sizes()
	d := c.Dashboard(100, 30)
	d.WaitFor("│ s0", "screen of s0")
	for i := 1; i < n; i++ {
		d.Type("j")
		d.WaitFor(fmt.Sprintf("screen of s%d\n", i), " live\n")
	}
	d.Type("k")
	d.WaitFor(fmt.Sprintf("screen of s%d\n", n-2))
	if after := sizes(); after != before {
		t.Errorf("looking changed the sizes:\n%s\nwere\n%s", after, before)
	}
	for _, s := range c.List() {
		if s.State != sessions.Detached || s.Attached != 0 {
			t.Errorf("looking changed %s: %s, %d attached", s.Title, s.State, s.Attached)
		}
	}
	if got := c.Transitions(last.ID); len(got) > 2 {
		t.Errorf("looking left its marks: %v", got)
	}
	d.Type("q")
	d.Exit()
}
