package procfs

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// Descendants lists the living processes below root, in no order. One that starts or ends meanwhile may be missing.
func Descendants(root int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close() //nolint:errcheck // nothing was written
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	gone := map[int]bool{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		st, err := ReadStat(pid)
		if err != nil {
			continue // it has ended
		}
		children[st.PPID] = append(children[st.PPID], pid)
		gone[pid] = st.Gone()
	}
	var found []int
	for next := children[root]; len(next) > 0; {
		pid := next[len(next)-1]
		next = append(next[:len(next)-1:len(next)-1], children[pid]...)
		if !gone[pid] {
			found = append(found, pid)
		}
	}
	return found
}

// WithVariable lists the living processes that were started with the variable K=V in their environment, of those whose
// environment we may read.
func WithVariable(kv string) []int {
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil // not with this pattern
	}
	var found []int
	for _, name := range names {
		env, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+kv+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}
