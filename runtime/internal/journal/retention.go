package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Limits say what is kept.
type Limits struct {
	Age      time.Duration // segments whose newest record is older go; 0 for no limit
	Total    int64         // bytes of all journals; 0 for no limit
	MinFree  int64         // bytes that stay free on the disk
	MinShare float64       // the same in percent of the disk
}

// Expire removes the oldest segments below root until the limits hold. The newest segment of each journal stays, since
// its name holds the sequence that comes next; when it is too old, and busy does not say that it is being written, an
// empty one takes its place. It returns how many bytes were freed.
func Expire(root string, l Limits, now time.Time, busy func(id string) bool) (freed int64, err error) {
	all, err := everything(root)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, s := range all {
		total += s.size
	}
	closed, newest := ages(all)
	slices.SortFunc(closed, func(a, b aged) int { return a.end.Compare(b.end) })
	for _, s := range closed {
		old := l.Age > 0 && now.Sub(s.end) > l.Age
		if !old && (l.Total == 0 || total <= l.Total) && Enough(root, l) {
			break
		}
		if err := remove(s.segment); err != nil {
			return freed, err
		}
		total -= s.size
		freed += s.size
	}
	for _, s := range newest {
		dir := filepath.Dir(s.path)
		if l.Age == 0 || s.size == 0 || now.Sub(s.end) <= l.Age || busy(filepath.Base(dir)) {
			continue
		}
		if err := replace(dir, s.segment); err != nil {
			return freed, err
		}
		freed += s.size
	}
	return freed, nil
}

// replace puts an empty segment in the place of the newest one.
func replace(dir string, s segment) error {
	w, err := OpenWriter(dir, "", Options{})
	if err != nil {
		return err
	}
	defer w.Close() //nolint:errcheck // nothing was written
	if err := errors.Join(w.file.Close(), w.begin()); err != nil {
		return err
	}
	return remove(s)
}

// aged is a segment with the time of its newest record.
type aged struct {
	segment
	end time.Time
}

// ages tells the closed segments, each of which ended when the next one began, from the newest one of each journal.
func ages(all []segment) (closed, newest []aged) {
	for i, s := range all { // in the order of everything: journal by journal, oldest first
		if i+1 < len(all) && filepath.Dir(s.path) == filepath.Dir(all[i+1].path) {
			closed = append(closed, aged{s, all[i+1].begun})
		} else {
			newest = append(newest, aged{s, s.changed})
		}
	}
	return closed, newest
}

func remove(s segment) error {
	for _, path := range []string{s.path, s.path + strings.TrimPrefix(packedSuffix, plainSuffix)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a segment: %w", err)
		}
	}
	return nil
}

// Unpacked lists the closed segments below root that wait to be compressed: a worker was killed before it could.
func Unpacked(root string) ([]string, error) {
	all, err := everything(root)
	if err != nil {
		return nil, err
	}
	var paths []string
	closed, _ := ages(all)
	for _, s := range closed {
		if !s.packed {
			paths = append(paths, s.path)
		}
	}
	return paths, nil
}

// Enough reports whether the disk that holds root has as much free as the limits ask for.
func Enough(root string, l Limits) bool {
	if l.MinFree == 0 && l.MinShare == 0 {
		return true
	}
	var st unix.Statfs_t
	if err := unix.Statfs(root, &st); err != nil {
		return true // it is not there yet; writing will tell
	}
	free, size := int64(st.Bavail)*st.Bsize, int64(st.Blocks)*st.Bsize //nolint:gosec // a disk of 8 EiB is none
	return free >= l.MinFree && float64(free) >= float64(size)*l.MinShare/100
}
