package hook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// eventTimeout is what the agent is told to wait for a hook at most, in seconds. Run needs 0.3 at most; the rest is for
// a machine that is too busy to start a process.
const eventTimeout = 5

// Version is the version of Claude Code; the zero value is the oldest there is.
type Version [3]int

// ParseVersion reads the first number of the form 1.2.3 in text; anything else is the oldest version.
func ParseVersion(text string) Version {
	for _, word := range strings.Fields(text) {
		parts := strings.SplitN(word, ".", 4)
		if len(parts) < 3 {
			continue
		}
		var v Version
		ok := true
		for i := range v {
			n, err := strconv.Atoi(strings.TrimLeft(parts[i], "v"))
			if err != nil || n < 0 {
				ok = false
				break
			}
			v[i] = n
		}
		if ok {
			return v
		}
	}
	return Version{}
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v Version) atLeast(other Version) bool {
	for i := range v {
		if v[i] != other[i] {
			return v[i] > other[i]
		}
	}
	return true
}

// events are the names of the events that version v knows and that say something about its state. A name that it does
// not know would raise a dialog at its start, or make it skip the whole file. Measured with 1.0.128, 2.0.13, 2.0.75,
// 2.1.1, 2.1.131, 2.1.211 and 2.1.332.
func events(v Version) []string {
	names := []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Notification", "Stop", "SubagentStop", "PreCompact"}
	for _, more := range []struct {
		since Version
		names []string
	}{
		{Version{2, 0, 75}, []string{"PermissionRequest", "PostToolUseFailure"}},
		{Version{2, 1, 131}, []string{"StopFailure", "PostToolBatch"}},
	} {
		if v.atLeast(more.since) {
			names = append(names, more.names...)
		}
	}
	return names
}

type matcher struct {
	Matcher string    `json:"matcher,omitempty"`
	Hooks   []command `json:"hooks"`
}

type command struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// line is the shell line that an agent runs. A binary that is gone, as after an upgrade, must not show as a failed hook.
func line(self, dir string) string {
	return "if [ -x " + quote(self) + " ]; then exec " + quote(self) + " hook " + quote(dir) + "; fi"
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Settings writes the settings file that makes Claude Code of version v run `self hook dir` on its events, and returns its
// path. users is the user's own settings of this session, a file or JSON, "" when there are none: of two settings the
// agent takes only the last, so ours are added to them.
func Settings(dir, self string, v Version, users string) (string, error) {
	all := map[string]json.RawMessage{}
	if users != "" {
		var err error
		if all, err = usersSettings(users); err != nil {
			return "", err
		}
	}
	hooks := map[string][]json.RawMessage{}
	if raw, ok := all["hooks"]; ok {
		if err := json.Unmarshal(raw, &hooks); err != nil {
			return "", fmt.Errorf("read the hooks of the settings: %w", err)
		}
	}
	for _, name := range events(v) {
		m := matcher{Hooks: []command{{Type: "command", Command: line(self, dir), Timeout: eventTimeout}}}
		if strings.Contains(name, "Tool") || name == "PermissionRequest" {
			m.Matcher = "*"
		}
		ours, err := json.Marshal(m)
		if err != nil {
			return "", fmt.Errorf("write the agent's settings: %w", err)
		}
		hooks[name] = append(hooks[name], ours)
	}
	var err error
	if all["hooks"], err = json.Marshal(hooks); err != nil {
		return "", fmt.Errorf("write the agent's settings: %w", err)
	}
	if _, ok := all["disableAgentView"]; !ok {
		// Its key moves the conversation into a daemon that outlives the terminal, under another id.
		all["disableAgentView"] = json.RawMessage("true")
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the agent's settings: %w", err)
	}
	return write(filepath.Join(dir, "settings"), append(b, '\n'))
}

// write keeps content in a file of dir that is named by it, so that no running agent's file ever changes.
func write(dir string, content []byte) (string, error) {
	path := filepath.Join(dir, Sum(string(content))+".json")
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("write the agent's settings: %w", err)
	}
	f, err := os.CreateTemp(dir, "new-") // 0600
	if err != nil {
		return "", fmt.Errorf("write the agent's settings: %w", err)
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("write the agent's settings: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return "", fmt.Errorf("write the agent's settings: %w", err)
	}
	return path, nil
}

// Sum is a short name for text.
func Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func usersSettings(given string) (map[string]json.RawMessage, error) {
	text := []byte(given)
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		var err error
		if text, err = os.ReadFile(given); err != nil {
			return nil, fmt.Errorf("read the settings: %w", err)
		}
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	if all == nil {
		all = map[string]json.RawMessage{} // they were null
	}
	return all, nil
}
