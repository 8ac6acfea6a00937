package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is whom PostgreSQL runs as.
type account struct {
	name     string
	uid, gid int
	other    bool // not ourselves: we are root and change to it
}

func (c *Cluster) account() (account, error) {
	me := os.Geteuid()
	if c.cfg.RunAsUser == "" {
		if me == 0 {
			return account{}, problem("PostgreSQL refuses to run as root", "run it as the user postgres", nil)
		}
		u, err := user.LookupId(strconv.Itoa(me))
		if err != nil {
			return account{}, problem(fmt.Sprintf("the user with the number %d has no name, and PostgreSQL needs one", me),
				"add it to /etc/passwd", err)
		}
		return newAccount(u, false)
	}
	u, err := user.Lookup(c.cfg.RunAsUser)
	if err != nil {
		return account{}, problem("there is no user "+c.cfg.RunAsUser+" for PostgreSQL to run as",
			"apt-get install postgresql makes it", err)
	}
	a, err := newAccount(u, me == 0)
	if err == nil && !a.other && a.uid != me {
		return account{}, problem("only root can run PostgreSQL as the user "+a.name, "run it as yourself", nil)
	}
	return a, err
}

func newAccount(u *user.User, other bool) (account, error) {
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return account{}, fmt.Errorf("read user %s: %w", u.Username, err)
	}
	if other && uid == 0 {
		return account{}, problem("PostgreSQL refuses to run as root", "run it as the user postgres", nil)
	}
	return account{name: u.Username, uid: uid, gid: gid, other: other}, nil
}

// command prepares one of PostgreSQL's programs to run as the account, with an environment that has nothing of ours:
// PG* variables of whoever started us must not change what the cluster is.
func (a account) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=" + filepath.Dir(path) + ":/usr/bin:/bin", "HOME=/", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if a.other {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return cmd
}

// parentMode is the mode of directories made above those of the account: one that is not ourselves must pass through.
func (a account) parentMode() fs.FileMode {
	if a.other {
		return 0o711
	}
	return 0o700
}

// makeParents makes the directories that the cluster lives in.
func (c *Cluster) makeParents(as account) error {
	for _, dir := range []string{filepath.Dir(c.cfg.Dir), filepath.Dir(c.cfg.SocketDir)} {
		if err := os.MkdirAll(dir, as.parentMode()); err != nil {
			return problem("a directory for the database cannot be made: "+dir, "correct the permissions above it", err)
		}
	}
	if err := os.MkdirAll(c.cfg.LogDir, 0o700); err != nil {
		return problem("the log's directory cannot be made: "+c.cfg.LogDir, "correct the permissions above it", err)
	}
	return nil
}

// makeSocketDir makes the socket's directory, whose mode is what keeps strangers out, and gives it to the account.
func (c *Cluster) makeSocketDir(as account) error {
	dir := c.cfg.SocketDir
	if err := os.MkdirAll(filepath.Dir(dir), as.parentMode()); err != nil { // whoever deleted the run directory deleted it too
		return problem("a directory for the database's socket cannot be made: "+dir, "correct the permissions above it", err)
	}
	err := os.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return problem("the database's socket directory cannot be made: "+dir, "correct the permissions above it", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return problem("the database's socket directory cannot be read: "+dir, "correct the permissions above it", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != as.uid && int(st.Uid) != os.Geteuid() {
		return problem("the database's socket directory belongs to somebody else: "+dir, "remove it, or set CR_RUN_DIR", nil)
	}
	if as.other {
		err = os.Chown(dir, as.uid, as.gid)
	}
	if err := errors.Join(err, os.Chmod(dir, 0o700)); err != nil {
		return problem("the database's socket directory cannot be made private: "+dir, "remove it, or set CR_RUN_DIR", err)
	}
	return nil
}

// checkReach says so when the account cannot pass through a directory on the way to path. Permission bits give the
// suspicion and the name; the kernel, asked through probe, has the last word (access lists can allow what bits do not).
func (a account) checkReach(ctx context.Context, probe, path string) error {
	if !a.other {
		return nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && !a.mayPass(info) {
			cmd := a.command(ctx, probe, "--version")
			cmd.Dir = dir
			if err := cmd.Run(); errors.Is(err, os.ErrPermission) {
				return problem(fmt.Sprintf("the user %s cannot reach %s: %s is closed to it", a.name, path, dir),
					"chmod o+x "+dir+", or set CR_DATA_DIR and CR_RUN_DIR to places that it can reach", err)
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (a account) mayPass(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	switch mode := info.Mode().Perm(); {
	case int(st.Uid) == a.uid:
		return mode&0o100 != 0
	case int(st.Gid) == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
