package agent

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"corral/runtime/internal/inotify"
	"corral/runtime/internal/procfs"
)

// sessionsDir is where Claude Code keeps a file for each of its processes.
func sessionsDir(configDir string) string { return filepath.Join(configDir, "sessions") }

// follow chooses the transcript to read: the file that the hook named, where it exists, else the conversation's. A path is
// believed only inside the agent's own directory.
func (w *Watcher) follow(a *tracked, named string) {
	conversation := a.known()
	path := filepath.Clean(named)
	projects := filepath.Join(a.configDir, "projects") + string(filepath.Separator)
	if !strings.HasPrefix(path, projects) || filepath.Base(path) != conversation+".jsonl" {
		path = ""
	}
	if _, err := os.Stat(path); path == "" || err != nil {
		if found := findTranscript(a.configDir, conversation); found != "" {
			path = found
		}
	}
	if path != "" && (a.transcript == nil || a.transcript.path != path) {
		a.transcript = &transcript{path: path}
		a.setTail(tail{})
	}
}

// sync watches what the agents' evidence lies in. For what does not exist yet, the nearest directory above it is watched.
func (w *Watcher) sync() {
	w.stale = false
	want := map[string]uint32{}
	clear(w.missing)
	for _, a := range w.agents {
		if a.Dead || !filepath.IsAbs(a.configDir) {
			continue
		}
		w.want(want, sessionsDir(a.configDir), inotify.Names|inotify.Written)
		if a.transcript != nil && a.file == nil {
			w.want(want, a.transcript.path, inotify.Written)
		}
	}
	for path := range w.watched {
		if _, ok := want[path]; !ok {
			w.notify.Remove(path)
			delete(w.watched, path)
		}
	}
	for path, mask := range want {
		if w.watched[path] == mask {
			continue
		}
		if err := w.notify.Add(path, mask); err != nil {
			w.cfg.Log.Debug("evidence not watched", "err", err)
			continue
		}
		w.watched[path] = mask
		w.look(path) // what came before the watch
	}
}

func (w *Watcher) want(want map[string]uint32, path string, mask uint32) {
	for path != "/" {
		if _, err := os.Stat(path); err == nil {
			want[path] |= mask
			return
		}
		path, mask = filepath.Dir(path), inotify.Names
		w.missing[path] = true
	}
}

// event takes what the kernel says.
func (w *Watcher) event(e inotify.Event) {
	switch {
	case e.Path == "": // some were lost
		for path := range maps.Clone(w.watched) {
			w.look(path)
		}
		w.stale = true
		return
	case e.Name != "" && filepath.Base(e.Path) == "sessions":
		w.sessionFile(filepath.Join(e.Path, e.Name))
	case e.Name == "":
		w.look(e.Path)
	}
	if w.missing[e.Path] {
		w.stale = true
	}
}

// look reads the evidence at a path.
func (w *Watcher) look(path string) {
	for _, a := range w.agents {
		if a.transcript != nil && a.transcript.path == path {
			if err := a.transcript.advance(); err != nil {
				w.cfg.Log.Debug("transcript not read", "err", err)
			}
			a.setTail(a.transcript.tail)
		}
	}
	if filepath.Base(path) != "sessions" {
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return
	}
	for _, e := range entries {
		w.sessionFile(filepath.Join(path, e.Name()))
	}
}

// sessionFile reads a session file and gives it to the agent that wrote it.
func (w *Watcher) sessionFile(path string) {
	pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".json"))
	if err != nil {
		return
	}
	a := w.writer(filepath.Dir(path), pid)
	if a == nil {
		return
	}
	f, err := readSessionFile(path)
	switch {
	case err == nil:
		if a.file != nil && a.filePath != path && pid != a.pid && a.file.alive() {
			return // another one that the agent started
		}
		first := a.file == nil
		a.filePath = path
		a.setFile(f)
		a.filedConversation(f)
		if a.pid == 0 {
			a.pid = pid
		}
		if first {
			w.stale = true // the transcript is not needed any more
		}
	case a.filePath == path && (errors.Is(err, fs.ErrNotExist) || a.file != nil && !a.file.alive()):
		a.setFile(nil)
		w.stale = true
	}
}

// writer returns the agent whose process pid is.
func (w *Watcher) writer(dir string, pid int) *tracked {
	for _, a := range w.agents {
		if !a.Dead && sessionsDir(a.configDir) == dir && (pid == a.pid || pid == a.PID || a.filePath != "" && filepath.Base(a.filePath) == strconv.Itoa(pid)+".json" || descends(pid, a.PID)) {
			return a
		}
	}
	return nil
}

// filedConversation takes the conversation of a session file, unless a hook that it may not have followed yet said
// otherwise.
func (a *tracked) filedConversation(f *sessionFile) {
	if !validID.MatchString(f.SessionID) || f.SessionID == a.conversation || !f.updated().After(a.conversed.Add(fileFollows)) {
		return
	}
	a.conversation, a.change = f.SessionID, "session file"
}

// maxDepth bounds the way from an agent's process up to the pane's.
const maxDepth = 16

// descends reports whether process pid was started by process by, or by one that was.
func descends(pid, by int) bool {
	for range maxDepth {
		if pid == by {
			return true
		}
		st, err := procfs.ReadStat(pid)
		if err != nil || pid <= 1 {
			return false
		}
		pid = st.PPID
	}
	return false
}

// configDirOf guesses an agent's configuration directory from the environment of its process; its hooks tell it exactly.
func configDirOf(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	dir := ""
	for kv := range strings.SplitSeq(string(b), "\x00") {
		if v, ok := strings.CutPrefix(kv, "CLAUDE_CONFIG_DIR="); ok && filepath.IsAbs(v) {
			return filepath.Clean(v)
		}
		if v, ok := strings.CutPrefix(kv, "HOME="); ok && filepath.IsAbs(v) {
			dir = filepath.Join(v, ".claude")
		}
	}
	return dir
}

// clockTicks is the unit of process start times, USER_HZ, which is 100 on every architecture of Linux that Go knows.
const clockTicks = 100

// startOf is when process pid started; zero when it cannot be told, or is so long ago that a sign of the agent may have
// been given to an earlier runtime.
func startOf(pid int, now time.Time) time.Time {
	st, err := procfs.ReadStat(pid)
	if err != nil {
		return time.Time{}
	}
	b, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return time.Time{}
	}
	up, _, _ := strings.Cut(string(b), " ")
	seconds, err := strconv.ParseFloat(up, 64)
	if err != nil {
		return time.Time{}
	}
	age := time.Duration(seconds*float64(time.Second)) - time.Duration(st.Start)*(time.Second/clockTicks)
	if age >= noSign {
		return time.Time{}
	}
	return now.Add(-max(age, 0))
}
