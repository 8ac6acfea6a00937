package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"corral/e2e/harness"
	"corral/sessions"
)

// asNobody calls do on a thread that has become the user nobody: on Linux a thread can be another user than its
// process. The thread is never given back; it ends with the goroutine.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		_, _, groups := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0)
		_, _, gid := unix.RawSyscall(unix.SYS_SETRESGID, nobody, nobody, nobody)
		_, _, uid := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody)
		for _, errno := range []syscall.Errno{groups, gid, uid} {
			if errno != 0 {
				done <- errno
				return
			}
		}
		do()
	}()
	if err := <-done; err != nil {
		t.Fatalf("become nobody: %v", err)
	}
}

// connect tries to connect to the unix socket at path on the thread it is called on.
func connect(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

// everything returns the paths of all that a Corral has made, with its private PostgreSQL.
func everything(t *testing.T, c *harness.Corral) map[string]fs.FileMode {
	t.Helper()
	roots := []string{c.Data}
	if named, err := os.ReadFile(filepath.Join(c.Data, "postgres.path")); err == nil {
		roots = append(roots, filepath.Dir(strings.TrimSpace(string(named))))
	}
	all := map[string]fs.FileMode{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // PostgreSQL removes files all the time
			}
			if err != nil {
				return err
			}
			if info, err := d.Info(); err == nil {
				all[path] = info.Mode()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestOtherUsersGetNothing: another user of the machine can connect to no socket, read no file, and find no secret in
// what the system shows of our processes.
func TestOtherUsersGetNothing(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	// What hides the tests from others must not be what protects.
	for _, dir := range []string{filepath.Dir(c.Dir), c.Dir} {
		if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // the point of the test
			t.Fatal(err)
		}
	}
	const secret = "hunter2-is-secret"
	c.Setenv("AWS_SECRET", secret+"-inherited")
	s := c.Create("--title", "secret", "--cwd", c.Home, "--env", "TOKEN="+secret, "--", "sh", "-c", "echo ready; sleep 1000")
	c.WaitState(s.ID, harness.Soon, sessions.Detached)
	all := everything(t, c)
	sockets := 0
	for path, mode := range all {
		inPostgres := !strings.HasPrefix(path, c.Data+"/") && path != c.Data
		switch {
		case mode&fs.ModeSymlink != 0: // has no mode of its own
		case mode&fs.ModeSocket != 0:
			sockets++
			if mode.Perm()&0o077 != 0 && !inPostgres { // PostgreSQL's lies in a directory of its own, 0700
				t.Errorf("the socket %s has mode %04o", path, mode.Perm())
			}
		case mode.Perm()&0o077 != 0 && !inPostgres:
			t.Errorf("%s has mode %04o", path, mode.Perm())
		}
	}
	if sockets < 4 {
		t.Errorf("only %d sockets found", sockets)
	}
	if os.Getuid() != 0 {
		t.Log("only root can become somebody else: the modes alone were checked")
		return
	}
	procs := ourProcesses(t, c)
	if err := connect(c.Status().Server.Socket); err != nil {
		t.Fatalf("we ourselves cannot connect, so that nobody's failure proves nothing: %v", err)
	}
	asNobody(t, func() {
		if uid, _, _ := unix.RawSyscall(unix.SYS_GETUID, 0, 0, 0); uid != nobody {
			t.Errorf("the thread is uid %d", uid)
		}
		for path, mode := range all {
			switch {
			case mode&fs.ModeSocket != 0:
				if err := connect(path); err == nil {
					t.Errorf("nobody connects to %s", path)
				}
			case mode.IsRegular() || mode.IsDir():
				f, err := os.Open(path)
				if err == nil {
					_ = f.Close()
				}
				passage := mode.IsDir() && strings.HasPrefix(path, "/var/lib/corral/")
				if err == nil && !passage { // the directory above the cluster lets pass, and holds nothing
					t.Errorf("nobody reads %s", path)
				}
			}
		}
		for _, dir := range procs {
			if _, err := os.ReadFile(filepath.Join(dir, "environ")); err == nil {
				t.Errorf("nobody reads the environment in %s", dir)
			}
			if args, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && strings.Contains(string(args), secret) {
				t.Errorf("ps shows the secret: %q", args)
			}
		}
	})
	for _, role := range []string{"server", "runtime", "recorder", "tmux"} {
		env, err := os.ReadFile(filepath.Join("/proc", pidString(c.PID(role)), "environ"))
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(env), secret) {
			t.Errorf("the environment of the %s has a secret", role)
		}
	}
}

func pidString(pid int) string { return str(&pid) }

// ourProcesses returns the directories in /proc of the daemons and of the session's program.
func ourProcesses(t *testing.T, c *harness.Corral) []string {
	t.Helper()
	var dirs []string
	for _, role := range []string{"server", "runtime", "recorder", "tmux"} {
		dirs = append(dirs, filepath.Join("/proc", pidString(c.PID(role))))
	}
	for _, s := range c.List() {
		dirs = append(dirs, filepath.Join("/proc", pidString(c.PanePID(s.ID))))
	}
	return dirs
}
