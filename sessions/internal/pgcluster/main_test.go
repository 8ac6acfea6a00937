package pgcluster

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/sessions/internal/store"
)

// limit bounds everything that a test waits for.
const limit = 60 * time.Second

// original is where made makes its cluster.
var original string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	var err error
	if original, err = newHome(); err != nil {
		panic(err)
	}
	defer os.RemoveAll(original) //nolint:errcheck // nothing is left to be told
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n") //nolint:errcheck // where else
		code = 1
	}
	return code
}

// home makes a short directory that PostgreSQL's account can reach, and returns the configuration of a cluster in it
// that does not exist yet. Whatever runs in it at the end of the test is killed.
func home(t *testing.T) Config {
	t.Helper()
	dir, err := newHome()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(dir)
	cfg.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	t.Cleanup(func() {
		if pm, err := New(cfg).running(); err == nil && pm != nil {
			if err := pm.end(limit, syscall.SIGQUIT); err != nil {
				t.Error(err)
			}
			pm.close()
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(cfg.LogDir, "postgres.log"))
			t.Logf("postgres.log:\n%s", log)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return cfg
}

func newHome() (string, error) {
	dir, err := os.MkdirTemp("/tmp", "cpc-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

func config(dir string) Config {
	cfg := Config{
		Dir:       filepath.Join(dir, "pg"),
		SocketDir: filepath.Join(dir, "run", "pg"),
		LogDir:    filepath.Join(dir, "log"),
	}
	if os.Getuid() == 0 {
		cfg.RunAsUser = "postgres"
	}
	return cfg
}

// made makes one stopped cluster, for tests to copy: initdb is what takes long.
var made = sync.OnceValues(func() (string, error) {
	cfg := config(original)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if _, err := New(cfg).Ensure(ctx); err != nil {
		return cfg.Dir, err
	}
	return cfg.Dir, New(cfg).Stop(ctx)
})

// madeHome is home with a cluster in it that has been stopped.
func madeHome(t *testing.T) Config {
	t.Helper()
	from, err := made()
	if err != nil {
		t.Fatal(err)
	}
	cfg := home(t)
	if out, err := exec.Command("cp", "-a", from, cfg.Dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return cfg
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func ensure(t *testing.T, cfg Config) (url string) {
	t.Helper()
	url, err := New(cfg).Ensure(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// pidOf returns the pid of the running postmaster.
func pidOf(t *testing.T, cfg Config) int {
	t.Helper()
	pm, err := New(cfg).running()
	if err != nil || pm == nil {
		t.Fatalf("no postmaster: %v", err)
	}
	defer pm.close()
	return pm.pid
}

// query runs one statement over a fresh connection and returns its one value, if it has one.
func query(ctx context.Context, url, sql string) (string, error) {
	pool, err := store.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	rows, err := pool.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	value := ""
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return "", err
		}
		if len(values) > 0 {
			value, _ = values[0].(string)
		}
	}
	return value, rows.Err()
}

func mustQuery(t *testing.T, url, sql string) string {
	t.Helper()
	value, err := query(testContext(t), url, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// eventually tries until it works: nothing tells a client when a database is back.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	ctx := testContext(t)
	for {
		err := try()
		if err == nil {
			return
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			t.Fatalf("still: %v", err)
		}
	}
}

// watch runs Watch until the test ends.
func watch(t *testing.T, cfg Config) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- New(cfg).Watch(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
}

// sleeper starts a process as the given user and ends it with the test.
func sleeper(t *testing.T, as account) int {
	t.Helper()
	cmd := as.command(t.Context(), "/bin/sleep", strconv.Itoa(int(limit.Seconds())*10))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	return cmd.Process.Pid
}
