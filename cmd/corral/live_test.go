package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"corral/e2e/harness"
	"corral/sessions"
)

// TestVerbs walks through every verb as a user would, on one Corral from its first start to its end.
func TestVerbs(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	dir := filepath.Join(c.Home, "work")
	mkdir(t, dir, 0o700)

	play(t, c,
		step{args("ls"), 0, "", `no sessions; make one with: corral new`},
		step{args("ls", "--json"), 0, `^\[\]\n$`, ""},
		step{args("attach"), 3, "", `no session is running; make one with: corral new`},
		step{args("new", "--cwd", "/nowhere"), 2, "", `/nowhere`},
		step{args("new", "--kind", "spaceship"), 2, "", `spaceship`},
		step{args("new", "--title", "one", "--cwd", dir, "--project", "p"), 0, `^\w{8}  one in \S+/work; attach with: corral attach \w{8}\n$`, ""},
		step{args("new", "--title", "tw\x1b[31mo", "--cwd", dir, "--env", "WORD=hidden", "--", "sh", "-c", "echo $WORD; read x; exit 7"), 0, `tw \[31mo in `, ""},
		step{args("ls"), 0, `^ID +STATE +TITLE +PROJECT +DIRECTORY +AGE\n.*DETACHED.*one +p.*\n.*DETACHED`, ""},
		step{args("ls", "--state", "failed"), 0, "", `no sessions`},
		step{args("show", "one"), 0, `^one\nid +[-0-9a-f]{36}\nstate +DETACHED for .*means +alive.*what happened.*\(new\) -> STARTING.*next: corral attach`, ""},
		step{args("show", "nothing-like-it"), 3, "", `^corral: no session is called "nothing-like-it"; see corral ls\n$`},
		step{args("attach", "one"), 2, "", `not a terminal`},
	)
	two := c.List()[1]
	play(t, c,
		step{args("rename", two.ID.Short(), "two"), 0, `two\n$`, ""},
		step{args("send", "one", "echo $((40+2))", "--enter"), 0, "", ""},
		step{args("send", "nobody", "x"), 3, "", `nobody`},
		step{args("send", "one", "--key", "NoSuchKey"), 2, "", `NoSuchKey`},
	)
	c.Eventually(harness.Soon, func() error { return says(c, "\n42", "screen", "one") })
	c.Eventually(harness.Soon, func() error { return says(c, "hidden", "screen", "two") })
	play(t, c,
		step{args("screen", "two", "--ansi"), 0, `hidden`, ""},
		step{args("history", "one", "--lines", "5"), 0, ".*", ""},
		step{args("close", "one"), 1, "", `.`},
		step{args("restart", "one"), 1, "", `.`},
		step{args("rm", "one"), 1, "", `.`},
		step{args("wait", "two", "--state", "STOPPED", "--timeout", "50ms"), 1, "", `.`},
		step{args("send", "two", "--enter"), 0, "", ""},
		step{args("wait", "two", "--state", "FAILED,STOPPED", "--timeout", "20s"), 0, `FAILED 7  two`, ""},
		step{args("ls", "--state", "failed"), 0, `FAILED 7  two`, ""},
		step{args("attach", "two"), 1, "", `is FAILED: nothing runs in it; corral restart \w{8} starts it again`},
		step{args("screen", "two"), 0, `hidden`, ""},
		step{args("restart", "two"), 0, `  two\n$`, ""},
		step{args("wait", "two", "--state", "detached", "--timeout", "20s"), 0, `DETACHED  two`, ""},
		step{args("stop", "two"), 0, `STOPP(ING|ED)  two`, ""},
		step{args("wait", "two", "--state", "STOPPED", "--timeout", "20s"), 0, `STOPPED  two`, ""},
		step{args("events", "two"), 0, `\(new\) -> STARTING.*-> FAILED 7.*FAILED -> STARTING.*STOPPING -> STOPPED`, ""},
		step{args("rm", "two"), 0, `two removed`, ""},
		step{args("show", "two"), 3, "", `two`},
		step{args("server"), 0, `the server runs as process \d+`, ""},
		step{args("server", "--foreground"), 0, `the server runs already, as process \d+`, ""},
		step{args("runtime", "--foreground"), 0, `the runtime runs already, as process \d+`, ""},
		step{args("status"), 0, `server +UP.*runtime +UP.*tmux +UP.*database +UP.*node +UP.*1 DETACHED`, ""},
		step{args("down"), 0, `the sessions run on`, ""},
		step{args("ls"), 4, "", `stopped by corral down`},
		step{args("status"), 0, `server +DOWN.*runtime +DOWN.*recorder +UP.*tmux +UP.*database +DOWN.*stopped by corral down`, ""},
		step{args("up"), 0, `server +UP.*runtime +UP`, ""},
		step{args("screen", "one"), 0, `42`, ""},
		step{args("rm", "one", "--force"), 0, `one removed`, ""},
	)
}

func TestAmbiguousNames(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	a := c.Create("--title", "same", "--cwd", c.Home)
	b := c.Create("--title", "same", "--cwd", c.Home)
	r := c.Run("show", "same")
	if r.Code != 2 || !strings.Contains(r.Stderr, string(a.ID)) || !strings.Contains(r.Stderr, string(b.ID)) {
		t.Errorf("exit %d: %s", r.Code, r.Stderr)
	}
	r = c.Run("show", "--json", "same")
	var body sessions.ErrorBody
	if err := json.Unmarshal([]byte(r.Stderr), &body); err != nil || r.Code != 2 || body.Error.Details["candidates"] == nil {
		t.Errorf("exit %d: %s", r.Code, r.Stderr)
	}
	var s sessions.Session
	c.JSON(&s, "show", string(b.ID))
	if s.ID != b.ID {
		t.Errorf("the whole id found %s", s.ID)
	}
}

// TestSecretsStayOut: what is given with --env is in the session and nowhere else that others could look.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.Setenv("SOME_API_KEY", "swordfish")
	c.Create("--title", "s", "--cwd", c.Home, "--env", "TOKEN=hunter2", "--", "sh", "-c", `printf %s "$TOKEN" | md5sum; read x`)
	// What a program prints is recorded, so it shows that it has the secret without printing it.
	c.Eventually(harness.Soon, func() error { return says(c, "2ab96390c7dbe3439de74d0c9b0b1767", "screen", "s") })
	st := c.Status()
	for role, pid := range map[string]int{"server": st.Server.PID, "runtime": st.Runtime.PID, "recorder": st.Recorder.PID, "tmux": st.Tmux.PID} {
		for _, file := range []string{"environ", "cmdline"} {
			b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
			if err != nil {
				t.Errorf("%s: %v", role, err)
			}
			for _, secret := range []string{"hunter2", "swordfish"} {
				if strings.Contains(string(b), secret) {
					t.Errorf("%s of the %s has %s", file, role, secret)
				}
			}
		}
	}
	err := filepath.WalkDir(c.Data, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if filepath.Base(filepath.Dir(path)) == "env" { // where it is kept for restarts
			if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has the mode %v: %v", path, info.Mode(), err)
			}
			return nil
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "hunter2") || strings.Contains(string(b), "swordfish") {
			t.Errorf("%s has a secret", path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestAttachAndDetach(t *testing.T) {
	t.Parallel()
	const prefix = "\x1c" // ctrl+\
	c := harness.New(t)
	c.Create("--title", "one", "--cwd", c.Home)
	d := c.Dashboard(80, 24, "attach", "one")
	d.WaitFor(harness.Prompt)
	d.Type("echo $((40+2))\r")
	d.WaitFor("\n42")
	d.Type(prefix)
	if code := d.Exit(); code != 0 || !strings.Contains(d.Screen(), "detached from one") {
		t.Errorf("exit %d:\n%s", code, d.Screen())
	}
	d = c.Dashboard(80, 24, "attach")
	d.WaitFor("42")
	d.Type("exit 3\r")
	if code := d.Exit(); code != 0 || !strings.Contains(d.Screen(), "one is FAILED with exit code 3") {
		t.Errorf("exit %d:\n%s", code, d.Screen())
	}
}

func TestFollowPrintsWhatHappensNext(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	c.OK("up")
	cmd := c.Cmd(t.Context(), "events", "--follow", "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := c.Create("--title", "one", "--cwd", c.Home, "--", "true")
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var e sessions.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.SessionID != s.ID {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		if e.To == sessions.Stopped {
			break
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("interrupted: exit %d", code)
	}
}
