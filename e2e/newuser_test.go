package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
)

// builtFromClone makes a clean clone, runs `make build` in it with an empty home and nothing but a PATH, and returns the
// binary. Modules come from this machine's cache where it has them.
func builtFromClone(t *testing.T, c *harness.Corral) string {
	t.Helper()
	harness.Need(t, "git", "git")
	harness.Need(t, "make", "make")
	clone, home := filepath.Join(c.Dir, "clone"), filepath.Join(c.Dir, "builder")
	makeDir(t, home, 0o700)
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, step := range [][]string{
		args("git", "clone", "--quiet", "..", clone),
		args("make", "-C", clone, "build"),
		args("chmod", "-R", "u+w", home), // Go's module cache is read-only, and could not be removed
	} {
		cmd := exec.CommandContext(t.Context(), step[0], step[1:]...)
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home,
			"GOPROXY=file://" + strings.TrimSpace(string(cache)) + "/cache/download,https://proxy.golang.org",
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", step, err, out)
		}
	}
	t.Logf("clone and make build took %v", time.Since(began).Round(time.Second))
	if err := os.Chmod(clone, 0o711); err != nil { //nolint:gosec // a way for the user
		t.Fatal(err)
	}
	return filepath.Join(clone, "bin", "corral")
}

// TestNewUser is a user who has nothing but an empty home and a login's environment: from the first start of the
// binary to a session that answers. As root it is another user than ourselves, with a private PostgreSQL of its own.
func TestNewUser(t *testing.T) {
	t.Parallel()
	c := harness.Empty(t)
	bin := harness.Bin(t)
	if rounds.Now() == rounds.Full {
		bin = builtFromClone(t, c)
	}
	home := filepath.Join(c.Dir, "fresh")
	makeDir(t, home, 0o700)
	cmd := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, args...)
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "SHELL=/bin/bash", "TERM=xterm-256color", "LANG=C.UTF-8"}
		cmd.Dir = home
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		return cmd
	}
	if os.Getuid() == 0 {
		for _, dir := range []string{filepath.Dir(c.Dir), c.Dir, filepath.Dir(bin)} {
			if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // a way for the user
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Chmod(bin, 0o755), os.Chown(home, nobody, nobody)); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	began := time.Now()
	d := harness.Open(t, cmd(), 100, 30)
	d.WaitFor("No sessions yet")
	shown := time.Since(began)
	d.Type("n")
	d.WaitFor("New session", "title")
	d.Type("mine\r")
	d.WaitFor("│ mine")
	d.WaitUntil("the shell shows its prompt", func(s string) bool { return strings.Contains(s, "$\n") })
	d.Type("\r")
	d.Type("echo $((40+2))-live\r")
	d.WaitFor("42-live")
	t.Logf("the dashboard after %v, a live session after %v", shown.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	d.Type(prefix)
	quit(c, d, "1 session")
	if out, err := cmd("down").CombinedOutput(); err != nil {
		t.Errorf("down: %v: %s", err, out)
	}
}
