package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
)

// TestStreamsSSHCut works through a real OpenSSH server. The connection breaks in the middle of a line; who comes back
// finds the same session in focus, with the half line, once.
func TestStreamsSSHCut(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.Create("--title", "other", "--cwd", c.Home)
	c.Create("--title", "mine", "--cwd", c.Home)
	ssh := c.SSHServer(0)
	d := ssh.Dashboard(120, 40)
	focusPane(d)
	d.Type("echo half a li")
	d.WaitFor("echo half a li")
	ssh.Cut()
	d.Exit()
	d = ssh.Dashboard(120, 40)
	d.WaitFor("echo half a li")
	if n := strings.Count(d.Screen(), "echo half a li"); n != 1 {
		t.Errorf("the half line shows %d times:\n%s", n, d.Screen())
	}
	d.Type("\r")
	d.Type("ne\r")
	d.WaitFor("half a line\n")
	d.Type(prefixKey)
	d.Type("q")
	d.Exit()
}

// stray is what a program's terminal must never get as input: answers to questions that nobody in it asked.
var stray = regexp.MustCompile(`rgb:|\^\[|\[\?\d|\d+;\d+R`)

// TestStreamsSSHFarAway is the same at a round trip of 300 ms: answers of the user's terminal come late, and reach no
// program; nothing is cleared once it is shown.
func TestStreamsSSHFarAway(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.Create("--title", "far", "--cwd", c.Home)
	d := c.SSHServer(150*time.Millisecond).Dashboard(100, 30)
	focusPane(d)
	begun := d.Received()
	d.Type("cat -v\r")
	d.WaitFor("cat -v")
	d.Type("hello\r")
	d.WaitUntil("the line and its answer", func(screen string) bool { return strings.Count(screen, "hello") == 2 })
	d.Type("\x03")
	d.WaitUntil("the prompt again", func(screen string) bool { return strings.Count(screen, harness.Prompt) >= 3 })
	if got := stray.FindString(d.Screen()); got != "" {
		t.Errorf("%q reached the program:\n%s", got, d.Screen())
	}
	if flicker := d.Tail(d.Received() - begun); strings.Contains(flicker, "\x1b[2J") || strings.Contains(flicker, "\x1b[H\x1b[J") {
		t.Errorf("the screen was cleared while it was used")
	}
	d.Type(prefixKey)
	d.Type("q")
	d.Exit()
}
