package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"corral/sessions"
)

// Transcripts are the conversations that an agent keeps on disk.
type Transcripts struct {
	pattern string // with {id} and {cwd}
	cwd     string // as the agent spells it
}

// Transcript is one of them.
type Transcript struct {
	ID   string
	Path string
	At   time.Time // when it was last written
}

// NewTranscripts returns the conversations of a profile whose transcripts lie below root. CWD is the session's directory.
func NewTranscripts(p sessions.Profile, root, cwd string) Transcripts {
	_, _, rest := p.TranscriptRoot()
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	return Transcripts{pattern: escapeGlob(filepath.Clean(root)) + "/" + rest, cwd: spell(cwd)}
}

// globMeta are the characters that filepath.Glob gives a meaning to.
const globMeta = `*?[\`

func escapeGlob(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if strings.IndexByte(globMeta, path[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// spelled is the length to which Claude Code cuts the spelling of a directory; a hash of the whole follows then.
const spelled = 200

// spell writes a directory as Claude Code names the folder of its conversations: each UTF-16 unit that is no ASCII letter
// or digit becomes a dash. The hash of a long one is left to the pattern.
func spell(dir string) string {
	var b strings.Builder
	for i, u := range utf16.Encode([]rune(dir)) {
		switch {
		case i == spelled:
			return b.String() + "-*"
		case u >= 'a' && u <= 'z', u >= 'A' && u <= 'Z', u >= '0' && u <= '9':
			b.WriteByte(byte(u))
		default:
			b.WriteByte('-')
		}
	}
	return b.String()
}

// Find looks for a conversation by its id, wherever it was held. Nothing found is no error.
func (t Transcripts) Find(id string) (found Transcript, ok bool, err error) {
	if id == "" || strings.ContainsAny(id, globMeta+"/\x00") {
		return Transcript{}, false, nil
	}
	all, err := t.glob("*", id)
	if err != nil || len(all) == 0 {
		return Transcript{}, false, err
	}
	return all[0], true, nil
}

// Latest returns the conversation of the directory that was written last, of those that usable admits.
func (t Transcripts) Latest(usable func(id string) bool) (found Transcript, ok bool, err error) {
	if !strings.Contains(t.pattern, sessions.ProfileCWD) {
		return Transcript{}, false, nil
	}
	all, err := t.glob(t.cwd, "*")
	if err != nil {
		return Transcript{}, false, err
	}
	for _, c := range all {
		if usable(c.ID) {
			return c, true, nil
		}
	}
	return Transcript{}, false, nil
}

// glob returns the regular files that match, newest first.
func (t Transcripts) glob(cwd, id string) ([]Transcript, error) {
	filled := strings.ReplaceAll(strings.ReplaceAll(t.pattern, sessions.ProfileCWD, cwd), sessions.ProfileID, id)
	paths, err := filepath.Glob(filled)
	if err != nil {
		return nil, fmt.Errorf("look for conversations as %s: %w", filled, err)
	}
	before, after, _ := strings.Cut(filepath.Base(t.pattern), sessions.ProfileID)
	var all []Transcript
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at a conversation: %w", err)
		}
		if !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		c := Transcript{ID: id, Path: path, At: info.ModTime()}
		if id == "*" {
			c.ID = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), before), after)
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b Transcript) int { return b.At.Compare(a.At) })
	return all, nil
}

const (
	// promptTail is how much of a transcript's end is searched for its last prompt.
	promptTail = 1 << 20
	// maxPrompt bounds a prompt that is shown, in bytes.
	maxPrompt = 200
)

// LastPrompt returns what the user said last in a transcript of Claude Code, in one clean line; "" when that cannot be
// told.
func LastPrompt(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if over := info.Size() - promptTail; over > 0 {
		if _, err := f.Seek(over, io.SeekStart); err != nil {
			return ""
		}
	}
	last := ""
	lines := bufio.NewReader(io.LimitReader(f, promptTail))
	for {
		line, err := lines.ReadBytes('\n')
		if p := promptOf(line); p != "" {
			last = p
		}
		if err != nil {
			return last
		}
	}
}

// promptOf returns the prompt in a line of a transcript, "" when it holds none: what a tool answered, what the program
// says for the user, and torn lines are not prompts.
func promptOf(line []byte) string {
	if !bytes.Contains(line, []byte(`"user"`)) {
		return ""
	}
	var entry struct {
		Type      string `json:"type"`
		Meta      bool   `json:"isMeta"`
		Sidechain bool   `json:"isSidechain"`
		Summary   bool   `json:"isCompactSummary"`
		Message   struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &entry) != nil || entry.Type != "user" || entry.Meta || entry.Sidechain || entry.Summary {
		return ""
	}
	var text string
	if json.Unmarshal(entry.Message.Content, &text) != nil {
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(entry.Message.Content, &parts) != nil {
			return ""
		}
		for _, p := range parts {
			if p.Type == "text" {
				text += p.Text + " "
			}
		}
	}
	text = sessions.CleanLine(text, maxPrompt)
	if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "[Request interrupted by user") {
		return ""
	}
	return text
}
