package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"corral/e2e/harness"
	"corral/sessions"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// step is one command and what it must say. Output is matched by regular expressions; "" demands silence.
type step struct {
	args     []string
	code     int
	out, err string
}

func args(s ...string) []string { return s }

func play(t *testing.T, c *harness.Corral, steps ...step) {
	t.Helper()
	for _, s := range steps {
		r := c.Run(s.args...)
		if r.Code != s.code {
			t.Errorf("corral %q: exit %d, want %d\n%s%s", s.args, r.Code, s.code, r.Stdout, r.Stderr)
		}
		for what, both := range map[string][2]string{"stdout": {r.Stdout, s.out}, "stderr": {r.Stderr, s.err}} {
			got, want := both[0], both[1]
			if matched, err := regexp.MatchString("(?s)"+want, got); err != nil || !matched || want == "" && got != "" {
				t.Errorf("corral %q: %s %q, want %q", s.args, what, got, want)
			}
		}
		// Never more than a sentence, but for the candidates of an ambiguous name.
		if lines := strings.Count(r.Stderr, "\n"); lines > 1 && !strings.Contains(r.Stderr, "names ") || strings.Contains(r.Stderr, "Usage:") {
			t.Errorf("corral %q: %d lines on stderr: %s", s.args, lines, r.Stderr)
		}
	}
}

// says reports whether a verb succeeds and prints a text.
func says(c *harness.Corral, want string, verb ...string) error {
	r := c.Run(verb...)
	if r.Code == 0 && strings.Contains(r.Stdout, want) {
		return nil
	}
	return fmt.Errorf("corral %q: exit %d, %q, %q", verb, r.Code, r.Stdout, r.Stderr)
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	c := harness.Empty(t)
	play(t, c,
		step{args("lss"), 2, "", `^corral: there is no verb "lss"; did you mean corral ls\?\n$`},
		step{args("\x1b[31mfrobnicate\n"), 2, "", `^corral: there is no verb "\[31mfrobnicate"; see corral --help\n$`},
		step{args("ls", "--bogus"), 2, "", `unknown flag: --bogus; see corral ls --help`},
		step{args("ls", "extra"), 2, "", `corral ls takes no argument`},
		step{args("show"), 2, "", `corral show takes ID`},
		step{args("rename", "x"), 2, "", `corral rename takes ID TITLE`},
		step{args("new", "make", "test"), 2, "", `takes its command after --; as in: corral new -- make test`},
		step{args("new", "--env", "SECRET"), 2, "", `^corral: --env wants K=V; as in: --env LANG=C.UTF-8\n$`},
		step{args("wait", "x"), 2, "", `needs a state to wait for`},
		step{args("wait", "x", "--state", "asleep"), 2, "", `there is no state "asleep"; the states are STARTING`},
		step{args("wait", "x", "--state", "STOPPED", "--timeout", "soon"), 2, "", `invalid argument "soon"`},
		step{args("send", "x"), 2, "", `there is nothing to send`},
		step{args("history", "x", "--lines", "-1"), 2, "", `--lines wants 0 or more`},
		step{args("lss", "--json"), 2, "", `^{"error":{"code":"invalid","message":"there is no verb`},
		step{args("--help"), 0, `(?i)usage:`, ""},
		step{args("new", "--help"), 0, `--title`, ""},
		step{args("version"), 0, `^corral \S+, API 1\.`, ""},
	)
	nothingMade(t, c)
}

func nothingMade(t *testing.T, c *harness.Corral) {
	t.Helper()
	if _, err := os.Stat(c.Data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the data directory was made: %v", err)
	}
}

func TestStatusAndDownStartNothing(t *testing.T) {
	t.Parallel()
	c := harness.Empty(t)
	play(t, c,
		step{args("status"), 0, `server +DOWN.*runtime +DOWN.*tmux +DOWN.*corral up`, ""},
		step{args("down"), 0, `stopped`, ""},
	)
	var st sessions.Status
	c.JSON(&st, "status")
	if st.Server.State != sessions.Down || len(st.Nodes) != 1 || st.Nodes[0].State != sessions.Offline || st.Tmux.Socket == "" {
		t.Errorf("%+v", st)
	}
	nothingMade(t, c)
}

func TestNobodyStartsAnybody(t *testing.T) {
	t.Parallel()
	c := harness.Empty(t)
	if err := os.Mkdir(c.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	play(t, c,
		step{args("down"), 0, `stopped`, ""},
		step{args("ls"), 4, "", `stopped by corral down; start it again with: corral up`},
		step{args("status"), 0, `stopped by corral down`, ""},
	)
	c.WriteConfig("autostart = false\n")
	play(t, c,
		step{args("up"), 4, "", `autostart is off; start it with: corral server`},
		step{args("new"), 4, "", `autostart is off`},
		step{args("status"), 0, `autostart is off`, ""},
	)
	if st := c.Status(); st.Server.PID != 0 || st.Runtime.PID != 0 {
		t.Errorf("%+v", st)
	}
}

func TestBadSurroundings(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]struct {
		prepare func(t *testing.T, c *harness.Corral)
		step    step
	}{
		"open data directory": {
			func(t *testing.T, c *harness.Corral) { mkdir(t, c.Data, 0o777) },
			step{args("ls"), 1, "", `is open to other users \(mode 0777\); run chmod 700 `},
		},
		"data directory is a file": {
			func(t *testing.T, c *harness.Corral) {
				if err := os.WriteFile(c.Data, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			step{args("ls"), 1, "", `not a directory`},
		},
		"data directory cannot be made": {
			func(_ *testing.T, c *harness.Corral) { c.Setenv("CR_DATA_DIR", "/proc/nowhere") },
			step{args("new"), 1, "", `cannot make /proc/nowhere: no such file or directory; `},
		},
		"run directory too long": {
			func(_ *testing.T, c *harness.Corral) { c.Setenv("CR_RUN_DIR", "/tmp/"+strings.Repeat("r", 120)) },
			step{args("ls"), 2, "", `CR_RUN_DIR is too long: a socket's path may have 107 bytes`},
		},
		"unknown key": {
			func(_ *testing.T, c *harness.Corral) { c.WriteConfig("mouse = true\nautostrat = false\n") },
			step{args("ls"), 2, "", `config.toml:2: there is no key autostrat; did you mean autostart\?`},
		},
		"broken configuration": {
			func(_ *testing.T, c *harness.Corral) { c.WriteConfig("mouse = \n") },
			step{args("status"), 2, "", `config.toml:1: `},
		},
		"absent configuration": {
			func(_ *testing.T, c *harness.Corral) { c.Setenv("CR_CONFIG", "/nowhere.toml") },
			step{args("status"), 2, "", `/nowhere.toml cannot be read: no such file`},
		},
		"password in the URL": {
			func(_ *testing.T, c *harness.Corral) { c.Setenv("CR_DATABASE_URL", "postgres://a:hunter2@db/x") },
			step{args("ls"), 2, "", `^corral: CR_DATABASE_URL holds a password[^2]*$`},
		},
		"server that is not there": {
			func(_ *testing.T, c *harness.Corral) { c.Setenv("CR_SERVER", "unix:///nowhere.sock") },
			step{args("ls"), 4, "", `.`},
		},
		"server of another kind": {
			func(_ *testing.T, c *harness.Corral) { c.Setenv("CR_SERVER", "gopher://x") },
			step{args("ls"), 2, "", `CR_SERVER names a server that this version cannot reach`},
		},
		"foreign process on the socket": {foreign, step{args("ls"), 4, "", `process \d+ listens on .*server.sock and is no Corral server`}},
		"file in the socket's place": {
			func(t *testing.T, c *harness.Corral) {
				mkdir(t, filepath.Join(c.Data, "run"), 0o700)
				if err := os.WriteFile(filepath.Join(c.Data, "run", "server.sock"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			step{args("ls"), 1, "", `server.sock is in the way and is no socket`},
		},
		"no terminal": {
			func(_ *testing.T, c *harness.Corral) { c.WriteConfig("autostart = false\n") },
			step{nil, 2, "", `terminal`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := harness.Empty(t)
			bad.prepare(t, c)
			play(t, c, bad.step)
			if len(bad.step.args) == 0 {
				return
			}
			// The same as JSON, with the same code.
			r := c.Run(append(args(bad.step.args...), "--json")...)
			var body sessions.ErrorBody
			if err := json.Unmarshal([]byte(r.Stderr), &body); err != nil || body.Error == nil || r.Code != bad.step.code {
				t.Errorf("as JSON: exit %d, %q", r.Code, r.Stderr)
			}
		})
	}
}

func mkdir(t *testing.T, dir string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, mode)); err != nil {
		t.Fatal(err)
	}
}

// foreign listens where the server would, and says nothing that a server would say.
func foreign(t *testing.T, c *harness.Corral) {
	t.Helper()
	mkdir(t, filepath.Join(c.Data, "run"), 0o700)
	l, err := net.Listen("unix", filepath.Join(c.Data, "run", "server.sock"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("220 welcome\r\n"))
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
}
