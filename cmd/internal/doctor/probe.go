package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"corral/sessions"
)

// existing returns the nearest directory on the way up from path that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// CanWrite returns an error when path, or the nearest directory above it that exists, cannot be written.
func CanWrite(path string) error {
	dir := existing(path)
	err := unix.Access(dir, unix.W_OK|unix.X_OK)
	if err == nil {
		return nil
	}
	hint := "check who owns it, or set CR_DATA_DIR to a place of your own"
	if errors.Is(err, syscall.EROFS) {
		hint = "set CR_DATA_DIR to a place that can be written"
	}
	return &sessions.Error{
		Code: sessions.CodeForbidden, Cause: err,
		Message: fmt.Sprintf("%s cannot be written: %v", dir, err), Hint: hint,
	}
}

// DiskOf returns the room where path is, or would be.
func DiskOf(name, path string) Disk {
	d := Disk{Name: name, Path: existing(path)}
	var st unix.Statfs_t
	if d.Err = unix.Statfs(d.Path, &st); d.Err != nil {
		return d
	}
	block := uint64(st.Bsize) //nolint:gosec // a size
	d.Free, d.All = st.Bavail*block, st.Blocks*block
	d.FreeInodes, d.AllInodes = st.Ffree, st.Files
	return d
}

// ClockOf returns what the kernel says of the clock, and the youngest of the files, which may be missing.
func ClockOf(files ...string) Clock {
	c := Clock{Now: time.Now()}
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err == nil { // with no modes set it only reads (adjtimex(2))
		c.Synchronized = t.Status&unix.STA_UNSYNC == 0
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.ModTime().After(c.Newest) {
			c.Newest = info.ModTime()
		}
	}
	return c
}
