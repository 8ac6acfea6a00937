package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"corral/runtime/internal/procfs"
	"corral/runtime/rtapi"
)

// maxSessionFile bounds a session file; they have some 500 bytes.
const maxSessionFile = 64 << 10

// sessionFile is <config>/sessions/<pid>.json of Claude Code 2.1.131 and later, which it rewrites in place within 150 ms
// of every change. It is undocumented: whatever is missing or unknown in it means nothing.
type sessionFile struct {
	PID             int    `json:"pid"`
	SessionID       string `json:"sessionId"`
	ProcStart       string `json:"procStart"` // field 22 of /proc/<pid>/stat
	Version         string `json:"version"`
	Kind            string `json:"kind"`
	Entrypoint      string `json:"entrypoint"`
	Spare           bool   `json:"spare"`
	Status          string `json:"status"`
	WaitingFor      string `json:"waitingFor"`
	UpdatedAt       int64  `json:"updatedAt"`       // milliseconds since 1970
	StatusUpdatedAt int64  `json:"statusUpdatedAt"` // likewise

	read time.Time // when it was written, for files without times in them
}

// since is when the status began.
func (f *sessionFile) since() time.Time {
	switch {
	case f.StatusUpdatedAt > 0:
		return time.UnixMilli(f.StatusUpdatedAt).UTC()
	case f.UpdatedAt > 0:
		return time.UnixMilli(f.UpdatedAt).UTC()
	}
	return f.read
}

// updated is when anything in it changed last.
func (f *sessionFile) updated() time.Time {
	if f.UpdatedAt > f.StatusUpdatedAt {
		return time.UnixMilli(f.UpdatedAt).UTC()
	}
	return f.since()
}

// why translates what the file says it waits for; 2.1.131 has "approve Bash" where later versions have the first.
func (f *sessionFile) why() rtapi.WaitingFor {
	switch w := f.WaitingFor; {
	case w == "permission prompt", w == "worker request", w == "sandbox request", strings.HasPrefix(w, "approve "):
		return rtapi.ForPermission
	case w == "input needed":
		return rtapi.ForQuestion
	}
	return rtapi.ForDialog
}

// readSessionFile reads a file and checks that it is of an interactive session of a living process. Half a file, which a
// reader can meet, is an error: the rest is announced by another event.
func readSessionFile(path string) (*sessionFile, error) {
	h, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a session file: %w", err)
	}
	defer h.Close() //nolint:errcheck // nothing was written
	info, err := h.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read a session file: %s is no file: %w", path, err)
	}
	b, err := io.ReadAll(io.LimitReader(h, maxSessionFile))
	if err != nil {
		return nil, fmt.Errorf("read a session file: %w", err)
	}
	var f sessionFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("read a session file: %w", err)
	}
	f.read = info.ModTime().UTC()
	if now := time.Now(); f.since().After(now) {
		f.StatusUpdatedAt, f.UpdatedAt = now.UnixMilli(), now.UnixMilli() // the future would outrank all that comes
	}
	name := strings.TrimSuffix(filepath.Base(path), ".json")
	if name != strconv.Itoa(f.PID) || f.Kind != "interactive" || f.Spare || f.Entrypoint != "" && f.Entrypoint != "cli" {
		return nil, fmt.Errorf("read a session file: %s is not of a session in a terminal", path)
	}
	if !f.alive() {
		return nil, fmt.Errorf("read a session file: the process of %s has ended", path)
	}
	return &f, nil
}

// alive reports whether the very process that wrote the file lives.
func (f *sessionFile) alive() bool {
	st, err := procfs.ReadStat(f.PID)
	if err != nil || st.Gone() {
		return false
	}
	return f.ProcStart == "" || f.ProcStart == strconv.FormatInt(st.Start, 10)
}
