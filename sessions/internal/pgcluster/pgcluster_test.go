package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"corral/e2e/rounds"
	"corral/sessions"
)

func TestStartedStoppedAndStartedAgain(t *testing.T) {
	t.Parallel()
	cfg := madeHome(t)
	url := ensure(t, cfg)
	if got := mustQuery(t, url, `SELECT current_user || ' ' || current_database()`); got != "corral corral" {
		t.Errorf("we are %q", got)
	}
	mustQuery(t, url, `CREATE TABLE kept AS SELECT 'still here' AS word`)
	for name, want := range map[string]string{
		"fsync": "on", "listen_addresses": "", "server_encoding": "UTF8", "wal_level": "minimal", "max_connections": "20",
	} {
		if got := mustQuery(t, url, `SELECT current_setting('`+name+`')`); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	c := New(cfg)
	if err := c.Stop(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if pm, err := c.running(); pm != nil || err != nil {
		t.Fatalf("after stop: %+v, %v", pm, err)
	}
	if err := c.Stop(testContext(t)); err != nil {
		t.Errorf("a second stop: %v", err)
	}
	start := time.Now()
	ensure(t, cfg)
	if took := time.Since(start); rounds.Timing() && took > time.Second {
		t.Errorf("a clean start took %v", took)
	}
	if got := mustQuery(t, url, `SELECT word FROM kept`); got != "still here" {
		t.Errorf("got %q", got)
	}
	checkPrivate(t, cfg)
}

func checkPrivate(t *testing.T, cfg Config) {
	t.Helper()
	for _, path := range []string{cfg.Dir, cfg.SocketDir, filepath.Join(cfg.LogDir, "postgres.log")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
}

// A server that starts beside a running cluster, as after kill -9 of the one before, adopts it; so do several at once.
func TestAdopted(t *testing.T) {
	t.Parallel()
	cfg := madeHome(t)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			_, err := New(cfg).Ensure(testContext(t))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	pid := pidOf(t, cfg)
	ensure(t, cfg)
	if got := pidOf(t, cfg); got != pid {
		t.Errorf("the postmaster changed from %d to %d", pid, got)
	}
	log, err := os.ReadFile(filepath.Join(cfg.LogDir, "postgres.log"))
	if err != nil || strings.Count(string(log), "starting PostgreSQL") != 1 || strings.Contains(string(log), "FATAL") {
		t.Errorf("log: %s, %v", log, err)
	}
}

// A try to make the cluster that is cut short leaves nothing that looks like one; then two at once make one.
func TestMadeWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	cfg := home(t)
	if err := os.MkdirAll(cfg.Dir+".init-123/base", 0o700); err != nil { // from a try that was killed
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := New(cfg).Ensure(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(cfg.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is something: %v", err)
	}
	var g errgroup.Group
	for range 2 {
		g.Go(func() error {
			_, err := New(cfg).Ensure(testContext(t))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(cfg.Dir + ".init-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestKilledPostmasterComesBack(t *testing.T) {
	t.Parallel()
	cfg := madeHome(t)
	url := ensure(t, cfg)
	mustQuery(t, url, `CREATE TABLE kept AS SELECT 'committed' AS word`)
	watch(t, cfg)
	for round := range rounds.N(1, 3, 4) {
		pid := pidOf(t, cfg)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		eventually(t, func() error {
			got, err := query(t.Context(), url, `SELECT word FROM kept`)
			if err == nil && got != "committed" {
				t.Fatalf("got %q", got)
			}
			return err
		})
		if took := time.Since(start); round == 0 && rounds.Timing() && took > 5*time.Second { // later ones are held back
			t.Errorf("back after %v", took)
		}
		if got := pidOf(t, cfg); got == pid {
			t.Errorf("the same postmaster %d", got)
		}
	}
}

// kill -9 of the postmaster while nobody watched, then at once a start: one of its children is slow to leave and holds
// the shared memory.
func TestStartRightAfterKill(t *testing.T) {
	t.Parallel()
	cfg := madeHome(t)
	url := ensure(t, cfg)
	pm, err := New(cfg).running()
	if err != nil || pm == nil {
		t.Fatalf("no postmaster: %v", err)
	}
	defer pm.close()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pm.pid, pm.pid))
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.Fields(string(children))[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := pm.end(limit, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() { _, err := New(cfg).Ensure(context.Background()); started <- err }()
	eventually(t, func() error { // until a start was refused
		log, err := os.ReadFile(filepath.Join(cfg.LogDir, "postgres.log"))
		if err == nil && !strings.Contains(string(log), "is still in use") {
			err = errors.New("no start was refused")
		}
		return err
	})
	if err := syscall.Kill(child, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	mustQuery(t, url, `SELECT 1`)
}

func TestStalePidFile(t *testing.T) {
	t.Parallel()
	as, err := New(home(t)).account()
	if err != nil {
		t.Fatal(err)
	}
	dead := exec.Command("/bin/true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	cfg := madeHome(t)
	for name, pid := range map[string]int{
		"a dead process":                      dead.Process.Pid,
		"ourselves":                           os.Getpid(),
		"a process of PostgreSQL's own user":  sleeper(t, as),
		"what a single-user server calls one": -dead.Process.Pid,
	} {
		text := fmt.Sprintf("%d\n%s\n%d\n5432\n%s\n\n  4711 0\nready   \n", pid, cfg.Dir, time.Now().Unix(), cfg.SocketDir)
		writeAs(t, as, filepath.Join(cfg.Dir, "postmaster.pid"), text)
		if _, err := New(cfg).Ensure(testContext(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := New(cfg).Stop(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func writeAs(t *testing.T, as account, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if as.other {
		if err := os.Chown(path, as.uid, as.gid); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSocketDirectoryDeleted(t *testing.T) {
	t.Parallel()
	cfg := madeHome(t)
	url := ensure(t, cfg)
	watch(t, cfg)
	for _, victim := range []string{
		filepath.Join(cfg.SocketDir, socketName), cfg.SocketDir, filepath.Dir(cfg.SocketDir),
	} {
		eventually(t, func() error { _, err := query(t.Context(), url, `SELECT 1`); return err })
		if err := os.RemoveAll(victim); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		eventually(t, func() error { _, err := query(t.Context(), url, `SELECT 1`); return err })
		if took := time.Since(start); rounds.Timing() && took > 2*time.Second {
			t.Errorf("%s: back after %v", victim, took)
		}
	}
	checkPrivate(t, cfg)
}

// The socket was lost while nobody watched, or is in another place than it should be now.
func TestAdoptedWithoutItsSocket(t *testing.T) {
	t.Parallel()
	cfg := madeHome(t)
	url := ensure(t, cfg)
	if err := os.RemoveAll(cfg.SocketDir); err != nil {
		t.Fatal(err)
	}
	ensure(t, cfg)
	mustQuery(t, url, `SELECT 1`)
	cfg.SocketDir += strings.Repeat("x", maxSocketDir-len(cfg.SocketDir)) // the longest that may be
	mustQuery(t, ensure(t, cfg), `SELECT 1`)
}

func TestAnotherMajorVersionIsRefused(t *testing.T) {
	t.Parallel()
	cfg := madeHome(t)
	version := filepath.Join(cfg.Dir, "PG_VERSION")
	if err := os.WriteFile(version, []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := fingerprint(t, cfg.Dir)
	_, err := New(cfg).Ensure(testContext(t))
	checkProblem(t, err, "made by PostgreSQL 9", "postgresql-9")
	if after := fingerprint(t, cfg.Dir); after != before {
		t.Errorf("the data was touched:\n%s\n%s", before, after)
	}
}

// fingerprint lists every file with its size and time.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func checkProblem(t *testing.T, err error, words ...string) {
	t.Helper()
	var e *sessions.Error
	if !errors.As(err, &e) || e.Code != sessions.CodeDatabaseUnavailable {
		t.Errorf("got %v", err)
		return
	}
	for _, word := range words {
		if !strings.Contains(e.Error(), word) {
			t.Errorf("%q does not say %q", e.Error(), word)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*testing.T, *Config)
		words []string
	}{
		"no programs": {
			func(t *testing.T, cfg *Config) { cfg.BinDirs = []string{t.TempDir()} }, []string{"apt-get install postgresql"},
		},
		"no such user": {
			func(_ *testing.T, cfg *Config) { cfg.RunAsUser = "nobody-by-this-name" }, []string{"no user", "apt-get install postgresql"},
		},
		"root": {
			func(_ *testing.T, cfg *Config) { cfg.RunAsUser = "root" }, []string{"root"},
		},
		"long socket directory": {
			func(_ *testing.T, cfg *Config) { cfg.SocketDir = "/" + strings.Repeat("x", maxSocketDir) }, []string{"too long", "CR_RUN_DIR"},
		},
		"comma": {
			func(_ *testing.T, cfg *Config) { cfg.SocketDir += ",x" }, []string{"comma"},
		},
		"relative": {
			func(_ *testing.T, cfg *Config) { cfg.Dir = "pg" }, []string{"absolute"},
		},
		"something else in its place": {
			func(t *testing.T, cfg *Config) {
				if err := os.MkdirAll(filepath.Join(cfg.Dir, "photos"), 0o700); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"not made by PostgreSQL", "move it away"},
		},
		"a file in its place": {
			func(t *testing.T, cfg *Config) {
				if err := os.WriteFile(cfg.Dir, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"cannot be read"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := home(t)
			c.spoil(t, &cfg)
			_, err := New(cfg).Ensure(testContext(t))
			checkProblem(t, err, c.words...)
		})
	}
}

// What PostgreSQL itself says is passed on in one sentence.
func TestStartThatFails(t *testing.T) {
	t.Parallel()
	cfg := madeHome(t)
	if err := os.WriteFile(filepath.Join(cfg.Dir, "postgresql.conf"), []byte("nonsense = on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err := New(cfg).Ensure(testContext(t))
	checkProblem(t, err, "does not start", "contains errors", "postgres.log")
	if took := time.Since(start); rounds.Timing() && took > 2*time.Second {
		t.Errorf("said so after %v", took)
	}
}

func TestDirectoryClosedToPostgres(t *testing.T) {
	t.Parallel()
	needRoot(t, func() {
		cfg := home(t)
		closed := filepath.Join(filepath.Dir(cfg.Dir), "closed")
		if err := os.Mkdir(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		cfg.Dir = filepath.Join(closed, "pg")
		_, err := New(cfg).Ensure(testContext(t))
		checkProblem(t, err, "cannot reach", closed)
	})
}

// Another user gets in neither through the socket's directory nor, were that open, past peer authentication.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	needRoot(t, func() {
		cfg := madeHome(t)
		ensure(t, cfg)
		stranger := account{name: "nobody", uid: 65534, gid: 65534, other: true}
		psql := func() string {
			cmd := stranger.command(testContext(t), "/usr/bin/psql", "-h", cfg.SocketDir, "-U", role, "-c", "SELECT 1", database)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Errorf("a stranger got in: %s", out)
			}
			return string(out)
		}
		if out := psql(); !strings.Contains(out, "Permission denied") {
			t.Errorf("got %s", out)
		}
		for _, path := range []string{cfg.SocketDir, filepath.Join(cfg.SocketDir, socketName)} {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if out := psql(); !strings.Contains(out, "eer authentication failed") {
			t.Errorf("got %s", out)
		}
	})
}

// needRoot runs f when the test runs as root. A normal user has no second account to try with; what f checks does not
// exist for it.
func needRoot(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() == 0 {
		f()
	}
}

// As root, the tests of the whole life run once more as a normal user.
func TestAsNormalUser(t *testing.T) {
	t.Parallel()
	needRoot(t, func() {
		dir, err := newHome()
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // the test is over
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		binary := filepath.Join(dir, "test") // go test's own directory is closed to others
		if err := copyFile(binary, self); err != nil {
			t.Fatal(err)
		}
		nobody := account{name: "nobody", uid: 65534, gid: 65534, other: true}
		names := "^TestStartedStopped"
		if rounds.Now() > rounds.Quick {
			names += "|^TestKilledPostmaster|^TestSocketDirectoryDeleted|^TestStalePidFile"
		}
		cmd := nobody.command(testContext(t), binary, "-test.run="+names)
		cmd.Env = append(cmd.Env, "CORRAL_TEST_LEVEL="+os.Getenv("CORRAL_TEST_LEVEL"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
