package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"corral/sessions"
)

// Prepare makes the directories that are missing, with mode 0700, and checks each as Check does before it makes anything
// in it.
func (p Paths) Prepare() error {
	for _, dir := range p.directories() {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return unusable("make", dir, err)
		}
		if err := private(dir, p.uid); err != nil {
			return err
		}
	}
	if p.Postgres.RunAs == "" {
		return nil
	}
	return writeOnce(p.postgresPath(), p.Postgres.Dir+"\n")
}

// Check refuses directories that belong to somebody else or that others may enter: whoever can write there could take
// the place of a socket, and whoever can read there could read a session. Directories that do not exist pass.
func (p Paths) Check() error {
	for _, dir := range p.directories() {
		if err := private(dir, p.uid); err != nil {
			return err
		}
	}
	return nil
}

func (p Paths) directories() []string {
	return []string{p.Data, p.Run, filepath.Join(p.Data, "lock"), p.LogDir(), filepath.Join(p.Data, "terminals")}
}

func private(dir string, uid int) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unusable("use", dir, err)
	}
	if !info.IsDir() {
		return forbidden(dir+" is no directory", "move it away, or set CR_DATA_DIR and CR_RUN_DIR to other places")
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != uid {
		return forbidden(fmt.Sprintf("%s belongs to uid %d and you are uid %d", dir, st.Uid, uid),
			"set CR_DATA_DIR and CR_RUN_DIR to directories of your own")
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return forbidden(fmt.Sprintf("%s is open to other users (mode %04o)", dir, info.Mode().Perm()), "run chmod 700 "+dir)
	}
	return nil
}

// writeOnce writes a small file that nothing changes later, whole or not at all.
func writeOnce(path, content string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return unusable("write to", filepath.Dir(path), err)
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return unusable("write", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// unusable explains an error of the file system to a person.
func unusable(verb, path string, err error) error {
	e := &sessions.Error{
		Code: sessions.CodeForbidden, Cause: err,
		Message: fmt.Sprintf("cannot %s %s: %s", verb, path, reason(err)),
		Hint:    "check who owns it, or set CR_DATA_DIR to a place of your own",
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Code, e.Hint = sessions.CodeInternal, "free some space and try again"
	case errors.Is(err, syscall.EROFS):
		e.Hint = "set CR_DATA_DIR to a place that can be written"
	}
	return e
}

// reason returns the operating system's own words, without the call and the path.
func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

func forbidden(message, hint string) *sessions.Error {
	return &sessions.Error{Code: sessions.CodeForbidden, Message: message, Hint: hint}
}
