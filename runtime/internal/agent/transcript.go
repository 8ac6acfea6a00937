package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	// tailStart is how much of a transcript's end is read at first.
	tailStart = 256 << 10
	// tailStep bounds what is read at once; a line that is longer is skipped.
	tailStep = 4 << 20
)

// tail is what the end of a transcript says; each time is that of the newest line of its kind.
type tail struct {
	interrupted time.Time // the user stopped the agent, or refused a tool
	answered    time.Time // the agent wrote something
	queued      int       // prompts that wait for the end of the turn
}

// transcript follows the file of a conversation.
type transcript struct {
	path   string
	offset int64
	tail
}

var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`) //nolint:gochecknoglobals // a constant

// findTranscript returns the file of a conversation; "" when there is none. The directory's name is made from the working
// directory in a way that cannot be reversed, so all are looked through.
func findTranscript(configDir, conversation string) string {
	if !filepath.IsAbs(configDir) || !validID.MatchString(conversation) {
		return ""
	}
	dirs, err := os.ReadDir(filepath.Join(configDir, "projects"))
	if err != nil {
		return ""
	}
	for _, d := range dirs {
		path := filepath.Join(configDir, "projects", d.Name(), conversation+".jsonl")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// advance reads what was written since the last time.
func (t *transcript) advance() error {
	f, err := os.Open(t.path)
	if err != nil {
		return fmt.Errorf("follow the transcript: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("follow the transcript: %w", err)
	}
	if t.offset == 0 || info.Size() < t.offset {
		t.offset = max(info.Size()-tailStart, 0)
	}
	for t.offset < info.Size() {
		b, err := io.ReadAll(io.NewSectionReader(f, t.offset, min(info.Size()-t.offset, tailStep)))
		if err != nil {
			return fmt.Errorf("follow the transcript: %w", err)
		}
		end := bytes.LastIndexByte(b, '\n') + 1
		if end == 0 {
			if len(b) < tailStep {
				return nil // half a line; the rest is announced by another event
			}
			end = len(b)
		}
		for line := range bytes.Lines(b[:end]) {
			t.line(line)
		}
		t.offset += int64(end)
	}
	return nil
}

// line takes one line. One that cannot be read, as a kill leaves behind, says nothing.
func (t *transcript) line(b []byte) {
	var l struct {
		Type        string    `json:"type"`
		Operation   string    `json:"operation"`
		Timestamp   time.Time `json:"timestamp"`
		IsSidechain bool      `json:"isSidechain"`
		Message     struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(b, &l) != nil || l.IsSidechain || l.Timestamp.After(time.Now().Add(time.Minute)) {
		return
	}
	switch l.Type {
	case "assistant":
		t.answered = later(t.answered, l.Timestamp)
	case "user":
		if bytes.Contains(l.Message.Content, []byte("[Request interrupted by user")) && interruption(l.Message.Content) {
			t.interrupted = later(t.interrupted, l.Timestamp)
			t.queued = 0
		}
	case "queue-operation":
		if l.Operation == "enqueue" {
			t.queued++
		} else {
			t.queued = max(t.queued-1, 0)
		}
	}
}

// interruption reports whether a message says so itself, rather than quoting another one that does.
func interruption(content json.RawMessage) bool {
	is := func(s string) bool {
		return s == "[Request interrupted by user]" || s == "[Request interrupted by user for tool use]"
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return is(strings.TrimSpace(text))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts) // another shape has no such part
	for _, p := range parts {
		if is(strings.TrimSpace(p.Text)) {
			return true
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b.UTC()
	}
	return a
}
