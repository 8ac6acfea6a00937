package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"corral/e2e/program"

	"corral/sessions"
)

const nobody = 65534 // Debian's uid and gid of nobody

// asUser runs a test of this package again as another user, by name, with dir as its ground.
func asUser(t *testing.T, uid int, test, dir string) {
	t.Helper()
	// The directory in which `go test` builds is closed to other users.
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(shared(t, uid), "paths.test")
	program.Write(t, bin, self)
	cmd := exec.Command(bin, "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), "PATHS_TEST_DIR="+dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("as uid %d: %v\n%s", uid, err, out)
	}
}

// shared returns a directory that other users can enter; t.TempDir is not one.
func shared(t *testing.T, owner int) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "corral-paths-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, owner, owner)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func prepare(t *testing.T, data string) (Paths, error) {
	t.Helper()
	e, err := environment(t, "HOME=/h", "CR_DATA_DIR="+data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Paths()
	if err != nil {
		return p, err
	}
	return p, p.Prepare()
}

func TestPrepareMakesPrivateDirectories(t *testing.T) {
	t.Parallel()
	data := filepath.Join(shared(t, os.Getuid()), "a", "b")
	p, err := prepare(t, data)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if os.Getuid() == 0 {
		if b, err := os.ReadFile(filepath.Join(data, "postgres.path")); err != nil || string(b) != p.Postgres.Dir+"\n" {
			t.Errorf("postgres.path: %q, %v", b, err)
		}
	}
	if err := p.Prepare(); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestCheckCreatesNothing(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "d")
	e, err := environment(t, "HOME=/h", "CR_DATA_DIR="+data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Paths()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the data directory is there: %v", err)
	}
}

func TestOpenDirectoriesAreRefused(t *testing.T) {
	t.Parallel()
	for _, below := range []string{"", "run", "log", "lock"} {
		for _, mode := range []fs.FileMode{0o777, 0o750, 0o701} {
			t.Run(fmt.Sprintf("%s %o", below, mode), func(t *testing.T) {
				t.Parallel()
				data := filepath.Join(t.TempDir(), "d")
				dir := filepath.Join(data, below)
				if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, mode)); err != nil {
					t.Fatal(err)
				}
				_, err := prepare(t, data)
				if sessions.CodeOf(err) != sessions.CodeForbidden || !strings.Contains(err.Error(), "chmod 700 "+dir) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

func TestUnusableDirectories(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ data, want string }{
		"a file":            {file, "not a directory"},
		"below a file":      {file + "/d", "not a directory"},
		"cannot be written": {"/proc/corral", "cannot make /proc/corral"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := prepare(t, c.data)
			var e *sessions.Error
			if !errors.As(err, &e) || !strings.Contains(e.Message, c.want) || e.Hint == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestOtherUsersDirectories needs two users: run by root it runs itself again as nobody.
func TestOtherUsersDirectories(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("PATHS_TEST_DIR"); dir != "" {
		_, err := prepare(t, filepath.Join(dir, "roots"))
		if sessions.CodeOf(err) != sessions.CodeForbidden || !strings.Contains(err.Error(), "belongs to uid 0 and you are uid 65534") {
			t.Errorf("somebody else's: %v", err)
		}
		if _, err := prepare(t, filepath.Join(dir, "roots", "below")); sessions.CodeOf(err) == "" {
			t.Error("below somebody else's: no error")
		}
		if _, err := prepare(t, filepath.Join(dir, "mine")); err != nil {
			t.Errorf("my own: %v", err)
		}
		return
	}
	if os.Getuid() != 0 {
		// Only root can become somebody else; as anybody else, root's directory is the stranger's.
		_, err := prepare(t, "/root/corral")
		if sessions.CodeOf(err) == "" {
			t.Error("root's directory: no error")
		}
		return
	}
	dir := shared(t, nobody)
	roots, mine := filepath.Join(dir, "roots"), filepath.Join(dir, "mine")
	if err := errors.Join(os.Mkdir(roots, 0o700), os.Mkdir(mine, 0o700), os.Chown(mine, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	asUser(t, nobody, "TestOtherUsersDirectories", dir)
	if _, err := prepare(t, mine); sessions.CodeOf(err) != sessions.CodeForbidden || !strings.Contains(err.Error(), "belongs to uid 65534") {
		t.Errorf("root in a user's directory: %v", err)
	}
}
