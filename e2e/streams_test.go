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
	"corral/sessions"
)

const (
	prefixKey = "\x1c"      // ctrl+\
	focusIn   = "\x1b[I"    // the terminal has the focus again: connections prove that they live
	touchX    = "touch X\r" // eight keys
)

// focusPane gives the keyboard to the shown session, whose shell waits at its prompt.
func focusPane(d *harness.Term) {
	d.WaitFor(harness.Prompt)
	d.Type("\r")
	d.Type("echo fo''cused\r")
	d.WaitFor("focused")
}

// TestStreamsKeysAreNeverLate types while a daemon is stopped and while it is down: the pane counts the keys, and they
// never reach the program.
func TestStreamsKeysAreNeverLate(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.WriteConfig("autostart = false\n")
	server, runtime := c.Start("server", "--foreground"), c.Start("runtime", "--foreground")
	c.Eventually(harness.Startup, func() error {
		if st := c.Status(); st.Runtime.State != sessions.Up || st.Nodes[0].State != sessions.Up {
			return fmt.Errorf("%+v", st)
		}
		return nil
	})
	c.Create("--title", "shell", "--cwd", c.Home)
	d := c.Dashboard(120, 40)
	focusPane(d)
	again := 0
	back := func() {
		t.Helper()
		again++
		d.Type(focusIn) // ends a pause at once
		d.WaitUntil("there is a connection", func(screen string) bool { return !strings.Contains(screen, "connecting") })
		d.Type(fmt.Sprintf("\x15echo ba''ck%d\r", again))
		d.WaitFor(fmt.Sprintf("back%d", again))
		if _, err := os.Stat(filepath.Join(c.Home, "X")); err == nil {
			t.Error("what was typed while there was no connection reached the program")
		}
	}
	for _, daemon := range []int{server.Process.Pid, runtime.Process.Pid}[:rounds.N(1, 2, 2)] {
		t.Cleanup(func() { _ = syscall.Kill(daemon, syscall.SIGCONT) }) // else it does not end
		_ = syscall.Kill(daemon, syscall.SIGSTOP)
		d.Type(touchX)
		d.Type(focusIn)
		d.WaitFor("8 keys dropped")
		_ = syscall.Kill(daemon, syscall.SIGCONT)
		back()
	}
	_ = server.Process.Signal(syscall.SIGTERM)
	d.WaitFor("reconnecting")
	d.Type(touchX)
	d.WaitFor("8 keys dropped")
	c.Start("server", "--foreground")
	back()
}

// TestStreamsHistoryIsWhole prints 30 000 lines as fast as it can: the last 20 000 that have left the screen are in the
// history, exact.
func TestStreamsHistoryIsWhole(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	s := c.Create("--kind", "command", "--title", "lines", "--cwd", c.Home, "--", "sh", "-c", "seq -f 'line %.0f' 30000; exec sleep 1000")
	c.Eventually(harness.Soon, func() error {
		if out := c.OK("screen", string(s.ID)); !strings.Contains(out, "line 30000") {
			return fmt.Errorf("the screen shows %q", out)
		}
		return nil
	})
	first := strings.Split(c.OK("screen", string(s.ID)), "\n")[0]
	top, err := strconv.Atoi(strings.TrimPrefix(first, "line "))
	if err != nil {
		t.Fatalf("the screen begins with %q", first)
	}
	lines := strings.Split(strings.TrimRight(c.OK("history", string(s.ID), "--lines", "20000"), "\n"), "\n")
	if len(lines) != 20000 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		if want := fmt.Sprintf("line %d", top-20000+i); line != want {
			t.Fatalf("line %d is %q, want %q", i, line, want)
		}
	}
}

// TestStreamsDaemonsKilled kills server and runtime at arbitrary moments while a program prints and keys are typed: the
// same dashboard shows what tmux has, the history is whole, and no attach client is left.
func TestStreamsDaemonsKilled(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	stop := filepath.Join(c.Home, "stop")
	s := c.Create("--kind", "command", "--title", "printer", "--cwd", c.Home, "--", "bash", "-c",
		harness.Nap+`stty raw -echo; i=0; while [ ! -e `+stop+` ]; do i=$((i+1)); printf 'line %d\r\n' $i; nap 0.01; done; printf done; exec sleep 1000`)
	d := c.Dashboard(120, 40)
	d.WaitFor("line 20", "DETACHED")
	d.Type("\r")
	d.WaitFor(`ctrl+\ gives the keyboard back`)
	latest := func() int {
		n := 0
		for _, f := range strings.FieldsFunc(d.Screen(), func(r rune) bool { return r == '\n' || r == '│' }) {
			if m, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(f), "line ")); err == nil {
				n = max(n, m)
			}
		}
		return n
	}
	for i := range rounds.N(1, 5, 50) {
		for k, role := range []string{"server", "runtime"} {
			d.Type("typed")
			// Another moment each time.
			<-time.After(time.Duration((i*37+k*61)%100) * time.Millisecond)
			before := latest()
			c.Kill(role)
			d.Type("typed\x1b[I")
			d.WaitUntil("the pane goes on after the "+role+" was killed", func(string) bool { return latest() > before+20 })
		}
	}
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.Type("x") // who types has seen how many keys were dropped, which covers the last row
	d.WaitFor("done")
	capture, err := c.Tmux("capture-pane", "-p", "-t", "=cr-"+string(s.ID)+":")
	if err != nil {
		t.Fatal(capture, err)
	}
	rows := strings.Split(strings.TrimRight(capture, "\n"), "\n")
	d.WaitUntil("the pane shows what tmux has", func(screen string) bool {
		for _, row := range rows {
			at := strings.Index(screen, strings.TrimRight(row, " "))
			if at < 0 {
				return false
			}
			screen = screen[at+len(strings.TrimRight(row, " ")):]
		}
		return true
	})
	all := c.OK("history", string(s.ID), "--lines", "20000") + "\n" + capture
	n := 0
	for line := range strings.Lines(all) {
		if line = strings.TrimRight(line, " \n"); line == "" || line == "done" {
			continue
		}
		if n++; line != fmt.Sprintf("line %d", n) {
			t.Fatalf("line %d is %q", n, line)
		}
	}
	c.Eventually(harness.Soon, func() error {
		clients, err := c.Tmux("list-clients", "-t", "=cr-"+string(s.ID), "-F", "#{client_pid}")
		if err == nil && strings.Count(clients, "\n") > 0 {
			err = fmt.Errorf("attach clients %q", clients)
		}
		return err
	})
}
