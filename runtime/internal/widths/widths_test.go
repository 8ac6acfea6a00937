package widths

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"go.uber.org/goleak"

	"corral/runtime/internal/tmux"
	"corral/vt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spare is a Tmux whose spare terminal is given.
type spare struct {
	is  tmux.Spare
	err error
}

func (s spare) Spare(context.Context) (tmux.Spare, error) { return s.is, s.err }

func learned(t *testing.T, source Tmux, dir string) Table {
	t.Helper()
	k := New(source, dir, slog.New(slog.DiscardHandler))
	k.Run(t.Context())
	return k.Table(t.Context())
}

// oddTerminal gives every character that it is asked about two columns.
func oddTerminal(t *testing.T) string {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	var answering sync.WaitGroup
	answering.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			for range strings.Count(string(buf[:n]), "n") { // nothing else has the letter
				if _, err := master.WriteString("\x1b[1;4R"); err != nil {
					return
				}
			}
		}
	})
	t.Cleanup(func() {
		_ = slave.Close()
		answering.Wait() // the last of the other ends was closed
		_ = master.Close()
	})
	return slave.Name()
}

func TestMeasuredOncePerVersion(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "widths")
	tty := oddTerminal(t)
	first := learned(t, spare{is: tmux.Spare{TTY: tty, Version: "9/9", CellBytes: 32}}, dir)
	if first.Text == "" || first.Widths.Rune(0xad) != 2 || first.Widths.CellBytes != 32 {
		t.Fatalf("soft hyphen takes %d columns, cells %d bytes, table of %d bytes", first.Widths.Rune(0xad), first.Widths.CellBytes, len(first.Text))
	}
	if w := vt.WidthsOf(first.Text); w.Rune(0x1f1e6) != 2 {
		t.Errorf("a viewer reads %d columns out of the table", w.Rune(0x1f1e6))
	}
	nowhere := spare{is: tmux.Spare{TTY: "/nonexistent", Version: "9/9", CellBytes: 32}}
	if again := learned(t, nowhere, dir); again.Text != first.Text {
		t.Errorf("the table was not kept: %q", again.Text)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "tmux-9_9" {
		t.Errorf("files %v, error %v", files, err)
	}
	if other := learned(t, spare{is: tmux.Spare{TTY: "/nonexistent", Version: "9.8"}}, dir); other.Text != "" || other.Widths.Rune(0xad) != 1 {
		t.Error("another version's table was taken")
	}
}

func TestDamagedTableIsMeasuredAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tmux-9")
	for _, text := range []string{"", "cell 21\nad", "\x00\xff"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := learned(t, spare{is: tmux.Spare{TTY: oddTerminal(t), Version: "9", CellBytes: 21}}, dir)
		if b, err := os.ReadFile(path); err != nil || string(b) != got.Text || got.Text == "" {
			t.Errorf("after %q the file holds %q, error %v", text, b, err)
		}
	}
}

func TestUnknownWidthsAreTheUsual(t *testing.T) {
	t.Parallel()
	got := learned(t, spare{err: errors.New("down")}, t.TempDir())
	if got.Text != "" || got.Widths.CellBytes != vt.DefaultWidths().CellBytes {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if k := New(spare{}, "", slog.Default()); k.Table(ctx).Widths == nil {
		t.Error("no table before the first was learned")
	}
}

// TestRealTmux measures the tmux of this machine in its spare terminal.
func TestRealTmux(t *testing.T) {
	t.Parallel()
	version, err := exec.Command("tmux", "-V").Output()
	if err != nil {
		t.Fatal("tmux is missing; install the Debian package tmux")
	}
	dir, err := os.MkdirTemp("/tmp", "crw") // short: the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	server, err := tmux.New(t.Context(), tmux.Config{
		Socket: filepath.Join(dir, "run", "t.sock"), ConfPath: filepath.Join(dir, "conf"), StatePath: filepath.Join(dir, "state"),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "LANG=C.UTF-8"}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(ctx) })
	t.Cleanup(func() {
		pid := server.Status().Server.PID
		cancel()
		serving.Wait()
		if pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	table := learned(t, server, filepath.Join(dir, "widths"))
	files, err := os.ReadDir(filepath.Join(dir, "widths"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, error %v", files, err)
	}
	if string(version) == "tmux 3.3a\n" && table.Text != "" {
		t.Errorf("tmux 3.3a is not as it was:\n%s", table.Text)
	}
	if table.Widths.Rune('漢') != 2 || table.Widths.Rune('ä') != 1 {
		t.Error("the table is nonsense")
	}
}
