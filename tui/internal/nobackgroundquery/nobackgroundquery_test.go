package nobackgroundquery_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/creack/pty"

	_ "corral/tui/internal/nobackgroundquery"
)

const marker = "started"

func TestMain(m *testing.M) {
	if os.Getenv("CORRAL_TEST_INIT") != "" { // the process that TestNothingIsAsked starts in a terminal
		_, _ = os.Stdout.WriteString(marker)
		os.Exit(0)
	}
	_ = tea.Quit // Bubble Tea is linked in, so its init runs
	os.Exit(m.Run())
}

func TestNothingIsAsked(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	// As a terminal emulator starts programs; CI and NO_COLOR would keep Bubble Tea silent by themselves.
	cmd.Env = []string{"CORRAL_TEST_INIT=1", "TERM=xterm-256color", "HOME=/"}
	ptmx, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer ptmx.Close()
	out, err := io.ReadAll(ptmx)
	// EIO is how Linux says that the last process has closed the terminal.
	if err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, fs.ErrClosed) {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != marker {
		t.Errorf("before main %q was written to the terminal", strings.TrimSuffix(got, marker))
	}
}
