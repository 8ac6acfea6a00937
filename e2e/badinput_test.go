package e2e

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"corral/e2e/program"

	"corral/e2e/harness"
	"corral/sessions"
	"corral/sessions/sessionclient"
)

// badInput is something that somebody got wrong, and what one verb must say about it.
type badInput struct {
	name    string
	prepare func(t *testing.T, c *harness.Corral)
	args    []string
	code    int
	says    string // regular expression; the whole of standard error is one line
}

// surroundings are wrong before anything was started.
func surroundings() []badInput {
	root := os.Getuid() == 0
	list := []badInput{
		{"data directory of somebody else", func(t *testing.T, c *harness.Corral) {
			t.Helper()
			if !root { // what belongs to root is somebody else's
				c.Setenv("CR_DATA_DIR", "/usr")
				return
			}
			makeDir(t, c.Data, 0o700)
			if err := os.Chown(c.Data, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}, args("up"), 1, `belongs to uid \d+ and you are uid \d+`},
		{"data directory open to all", func(t *testing.T, c *harness.Corral) {
			t.Helper()
			makeDir(t, c.Data, 0o777)
		}, args("up"), 1, `is open to other users \(mode 0777\); run chmod 700`},
		{"data directory that cannot be made", func(_ *testing.T, c *harness.Corral) {
			c.Setenv("CR_DATA_DIR", "/proc/corral")
		}, args("up"), 1, `cannot make /proc/corral`},
		{"configuration that is a directory", func(_ *testing.T, c *harness.Corral) {
			c.Setenv("CR_CONFIG", c.Dir)
		}, args("up"), 2, `configuration file .* cannot be read: is a directory`},
		{"database that is not there", func(_ *testing.T, c *harness.Corral) {
			c.Setenv("CR_DATABASE_URL", "postgres://me@/corral?host="+c.Home)
		}, args("new"), 4, `PostgreSQL does not answer`},
		{"tmux missing", func(_ *testing.T, c *harness.Corral) {
			c.Setenv("PATH", "/nowhere")
		}, args("new"), 4, `tmux is not installed; .*apt-get install tmux`},
		{"tmux too old", func(t *testing.T, c *harness.Corral) {
			t.Helper()
			bin := filepath.Join(c.Dir, "bin")
			makeDir(t, bin, 0o700)
			program.Write(t, filepath.Join(bin, "tmux"), []byte("#!/bin/sh\necho tmux 3.2a\n"))
			c.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		}, args("new"), 4, `is tmux 3.2a, and Corral needs 3.3a or newer`},
		{"cluster of another major version", func(t *testing.T, c *harness.Corral) {
			t.Helper()
			dir := filepath.Join(c.Data, "postgres")
			makeDir(t, c.Data, 0o700)
			if root {
				// Where the user postgres can get at it; the keeper removes it with the rest.
				dir = filepath.Join(c.Dir, "cluster", "pg")
				if err := os.WriteFile(filepath.Join(c.Data, "postgres.path"), []byte(dir+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			makeDir(t, dir, 0o700)
			if err := os.WriteFile(filepath.Join(dir, "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, args("new"), 4, `was made by PostgreSQL 9, and this machine has \d+.*untouched; apt-get install postgresql-9`},
	}
	if root { // everybody else runs PostgreSQL as himself
		list = append(list, badInput{"directory that the user postgres cannot reach", func(t *testing.T, c *harness.Corral) {
			t.Helper()
			makeDir(t, c.Data, 0o700)
			dir := filepath.Join(c.Dir, "closed", "pg")
			makeDir(t, filepath.Dir(dir), 0o700)
			if err := os.WriteFile(filepath.Join(c.Data, "postgres.path"), []byte(dir+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, args("new"), 4, `the user postgres cannot reach .*/pg: .* is closed to it; chmod o\+x`})
	}
	return append(list, namespaced()...)
}

// namespaced are surroundings that are only made for one process tree, in a mount namespace of its own.
func namespaced() []badInput {
	const programs = "/usr/lib/postgresql"
	list := []badInput{
		{"full disk", func(t *testing.T, c *harness.Corral) {
			t.Helper()
			makeDir(t, c.Data, 0o700)
			c.InNamespace(`mount -t tmpfs -o size=4k,mode=700 none ` + c.Data + ` && echo full >` + c.Data + `/x`)
		}, args("up"), 1, `No space left on device|no space left on device; free some space`},
		{"no PostgreSQL", func(t *testing.T, c *harness.Corral) {
			t.Helper()
			c.InNamespace(`mount -t tmpfs none ` + programs)
		}, args("new"), 4, `PostgreSQL's server programs are not installed; apt-get install postgresql`},
	}
	if os.Getuid() == 0 { // everybody else runs PostgreSQL as himself
		list = append(list, badInput{"no user postgres", func(t *testing.T, c *harness.Corral) {
			t.Helper()
			passwd := filepath.Join(c.Dir, "passwd")
			c.InNamespace(`grep -v ^postgres: /etc/passwd >` + passwd + `; mount --bind ` + passwd + ` /etc/passwd`)
		}, args("new"), 4, `there is no user postgres for PostgreSQL to run as; apt-get install postgresql makes it`})
	}
	return list
}

func args(s ...string) []string { return s }

const nobody = 65534 // Debian's base-passwd

func makeDir(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, mode)); err != nil {
		t.Fatal(err)
	}
}

// play runs one verb and holds what it says to one sentence.
func play(t *testing.T, c *harness.Corral, b badInput) {
	t.Helper()
	r := c.Run(b.args...)
	line := strings.TrimSuffix(r.Stderr, "\n")
	if matched, err := regexp.MatchString(b.says, line); err != nil || !matched || r.Code != b.code {
		t.Errorf("corral %q: exit %d, want %d; %q, want %q", b.args, r.Code, b.code, r.Stderr, b.says)
	}
	if strings.ContainsAny(line, "\n\x1b\t") || !strings.HasPrefix(line, "corral: ") || len(line) > 1100 {
		t.Errorf("corral %q: no sentence: %q", b.args, r.Stderr)
	}
	if r.Stdout != "" {
		t.Errorf("corral %q: stdout %q", b.args, r.Stdout)
	}
}

// TestBadInputSurroundings: each wrong surrounding is one clear sentence, and no session comes of it.
func TestBadInputSurroundings(t *testing.T) {
	t.Parallel()
	for _, b := range surroundings() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c := harness.Empty(t)
			b.prepare(t, c)
			play(t, c, b)
			if out, err := c.TmuxAt(filepath.Join(c.Data, "run", "tmux.sock"), "list-sessions", "-F", "#{session_name}"); err == nil && strings.Contains(out, "cr-") {
				t.Errorf("something was started: %s", out)
			}
		})
	}
}

// TestBadInput is what somebody can get wrong with a Corral that runs: one clear sentence each, and nothing half-made.
func TestBadInput(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	one := c.Create("--title", "same", "--cwd", c.Home)
	c.Create("--title", "same", "--cwd", c.Home)
	file, closed := filepath.Join(c.Dir, "file"), filepath.Join(c.Dir, "closed")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	makeDir(t, closed, 0)
	for _, b := range []badInput{
		{"unknown id", nil, args("show", "nosuch"), 3, `nosuch`},
		{"empty id", nil, args("show", ""), 2, `.`},
		{"hostile id", nil, args("show", "\x1b]0;x\a\n"), 3, `.`},
		{"unknown state", nil, args("ls", "--state", "ASLEEP"), 2, `there is no state`},
		{"unknown kind", nil, args("new", "--kind", "teapot"), 2, `teapot`},
		{"missing directory", nil, args("new", "--cwd", filepath.Join(c.Dir, "missing")), 2, `missing.*does not exist`},
		{"file as directory", nil, args("new", "--cwd", file), 2, `is not a directory`},
		{"directory below a file", nil, args("new", "--cwd", file+"/x"), 2, `cannot be entered: not a directory`},
		{"command without a program", nil, args("new", "--kind", "command"), 2, `.`},
		{"environment without a value", nil, args("new", "--env", "X"), 2, `--env wants K=V`},
		{"environment with a bad name", nil, args("new", "--env", "A B=1"), 2, `.`},
		{"restart of a live session", nil, args("restart", string(one.ID)), 1, `.`},
		{"close of a live session", nil, args("close", string(one.ID)), 1, `.`},
		{"removal of a live session", nil, args("rm", string(one.ID)), 1, `remove it with force`},
		{"bad key", nil, args("send", string(one.ID), "--key", "C-nonsense"), 2, `.`},
	} {
		t.Run(b.name, func(t *testing.T) { play(t, c, b) })
	}
	if os.Getuid() != 0 { // root may enter any directory
		play(t, c, badInput{"closed directory", nil, args("new", "--cwd", closed), 2, `cannot be entered: permission denied`})
	}
	if l := c.List(); len(l) != 2 {
		t.Errorf("sessions came of it: %+v", l)
	}
}

// TestHostileTitles: whatever a title holds, it is shown as text on one line, or refused.
func TestHostileTitles(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	for _, title := range []string{"\x1b[31mred\x1b]0;x\a", "two\nlines\r", "\u202egnp.exe", "\u200b", "a\x00b"[:1], strings.Repeat("é", 50_000), "日本語"} {
		r := c.Run("new", "--json", "--title", title, "--cwd", c.Home)
		if r.Code != 0 && (r.Code != 2 || strings.Count(r.Stderr, "\n") != 1) {
			t.Errorf("%q: exit %d %s", title, r.Code, r.Stderr)
		}
	}
	// More than an argument can hold comes over the API.
	api := sessionclient.New(sessionclient.Config{Socket: filepath.Join(c.Data, "run", "server.sock"), ClientName: "test"})
	defer api.CloseIdleConnections()
	long, err := api.Create(t.Context(), sessions.CreateRequest{Kind: sessions.KindShell, Title: strings.Repeat("\u202e日", 1<<18), CWD: c.Home})
	if err != nil || len(long.Title) > 1000 {
		t.Errorf("a title of 1 MB: %d bytes, %v", len(long.Title), err)
	}
	made := c.List()
	for _, verb := range [][]string{args("ls"), args("status")} {
		out := c.OK(verb...)
		if strings.ContainsAny(out, "\x1b\a\r\u202e\u200b") {
			t.Errorf("%q prints %q", verb, out)
		}
	}
	if lines := strings.Count(c.OK("ls"), "\n"); lines != len(made)+1 {
		t.Errorf("%d lines for %d sessions", lines, len(made))
	}
	d := c.Dashboard(100, 24)
	d.WaitFor("日本語")
	if strings.ContainsAny(d.Screen(), "\u202e\u200b\a") {
		t.Errorf("the dashboard shows %q", d.Screen())
	}
	quit(c, d, "")
}

// TestBadTerminals: a dashboard that cannot be shown says so at the prompt, and leaves the terminal as it was.
func TestBadTerminals(t *testing.T) {
	t.Parallel()
	for _, b := range []struct{ name, key, value, says string }{
		{"TERM empty", "TERM", "", "TERM is not set"},
		{"TERM dumb", "TERM", "dumb", "TERM=dumb cannot show a full screen"},
		{"TERM unknown", "TERM", "unknown", "TERM=unknown cannot show a full screen"},
		{"not UTF-8", "LC_ALL", "de_DE.ISO-8859-1", "de_DE.ISO-8859-1 is not UTF-8"},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c := harness.Empty(t)
			c.WriteConfig("autostart = false\n")
			c.Setenv(b.key, b.value)
			d := c.Dashboard(100, 24)
			d.WaitFor(b.says)
			if code := d.Exit(); code != 2 {
				t.Errorf("exit %d", code)
			}
			if strings.Contains(d.Tail(1<<10), "\x1b") {
				t.Errorf("it wrote %q", d.Tail(1<<10))
			}
		})
	}
}

// TestStaleRemains: sockets and locks of processes that are gone, of all roles, are healed by the next start.
func TestStaleRemains(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	run, lock := filepath.Join(c.Data, "run"), filepath.Join(c.Data, "lock")
	makeDir(t, run, 0o700)
	makeDir(t, lock, 0o700)
	for _, role := range []string{"server", "runtime", "recorder", "tmux"} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(run, role+".sock"), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		_ = l.Close()
		if err := os.WriteFile(filepath.Join(lock, role), []byte("4194303\n"), 0o600); err != nil { // no such process
			t.Fatal(err)
		}
	}
	s := c.Create("--title", "healed", "--cwd", c.Home)
	c.WaitState(s.ID, harness.Soon, sessions.Detached)
	for role, n := range c.Roles() {
		if n != 1 {
			t.Errorf("%d processes for the %s", n, role)
		}
	}
}

// TestForeignProcessOnTheSocket: somebody else's program in the server's place is named, and left alone.
func TestForeignProcessOnTheSocket(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	makeDir(t, filepath.Join(c.Data, "run"), 0o700)
	l, err := net.Listen("unix", filepath.Join(c.Data, "run", "server.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	play(t, c, badInput{"foreign", nil, args("ls"), 4, `process \d+ listens on .*server.sock and is no Corral server`})
}
