package pgtest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"corral/migrations/pgtest"
)

// victim is set in the environment of the copy of this test binary that is killed.
const victim = "CORRAL_PGTEST_VICTIM"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDatabasesAreApart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, b := pgtest.Pool(t), pgtest.Pool(t)
	if _, err := a.Exec(ctx, `INSERT INTO nodes (name, created_at) VALUES ('here', now())`); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := b.QueryRow(ctx, `SELECT count(*) FROM nodes`).Scan(&n); err != nil || n != 0 {
		t.Fatalf("the other database has %d nodes, %v", n, err)
	}
}

// TestVictim is not a test: it is what TestClusterEndsWithItsProcess kills.
func TestVictim(t *testing.T) {
	if os.Getenv(victim) == "" {
		return
	}
	os.Stdout.WriteString("url " + pgtest.EmptyURL(t) + "\n") //nolint:errcheck // the parent notices
	select {}
}

// A test process that is killed leaves neither a postmaster nor a directory.
func TestClusterEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), victim+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(string(buf[:n]), "url "))
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatalf("%q: %v", url, err)
	}
	pid := postmaster(t, cfg.Host)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	deadline := time.Now().Add(20 * time.Second)
	for _, err := os.Stat(cfg.Host); err == nil; _, err = os.Stat(cfg.Host) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", cfg.Host)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := unix.Kill(pid, 0); err == nil {
		t.Fatalf("postmaster %d is still there", pid)
	}
}

func postmaster(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for _, c := range strings.SplitN(string(text), "\n", 2)[0] {
		pid = pid*10 + int(c-'0')
	}
	return pid
}
