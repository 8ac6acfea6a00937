package sock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"corral/e2e/rounds"
)

func TestLockIsHeldByOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	if pid, err := Holder(path); pid != 0 || err != nil {
		t.Errorf("no file: %d, %v", pid, err)
	}
	l, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := Holder(path); pid != os.Getpid() || err != nil {
		t.Errorf("held: %d, %v", pid, err)
	}
	_, err = Acquire(path)
	var held *HeldError
	if !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("a second time: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if pid, err := Holder(path); pid != 0 || err != nil {
		t.Errorf("released: %d, %v", pid, err)
	}
	again, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestKillReleasesTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	cmd, said := play(t, os.Getuid(), "child-lock", path)
	if said != "<nil>" {
		t.Fatal(said)
	}
	if pid, err := Holder(path); pid != cmd.Process.Pid || err != nil {
		t.Errorf("held: %d, %v; the process is %d", pid, err, cmd.Process.Pid)
	}
	if _, second := play(t, os.Getuid(), "child-lock", path); !strings.Contains(second, "is held by process") {
		t.Errorf("another process: %s", second)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = cmd.Process.Wait()
	l, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Release()
}

// TestLooksDoNotDisturb: however often somebody asks who holds the lock, who wants it gets it.
func TestLooksDoNotDisturb(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	stop := make(chan struct{})
	var g sync.WaitGroup
	for range 2 {
		g.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = Holder(path)
				}
			}
		})
	}
	for range rounds.N(500, 2000, 20000) {
		l, err := Acquire(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	g.Wait()
}

// TestOneWinsAlsoWhenTheFileIsDeleted: the file may vanish at any moment without two holders of one name at the start.
func TestOneWinsAlsoWhenTheFileIsDeleted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var holders atomic.Int32
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			for range rounds.N(200, 1000, 5000) {
				l, err := Acquire(path)
				if err != nil {
					continue
				}
				if holders.Add(1) != 1 {
					t.Error("two holders")
				}
				holders.Add(-1)
				_ = os.Remove(path) // while held, as the last act
				_ = l.Release()
			}
		})
	}
	g.Wait()
}
