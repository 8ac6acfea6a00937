package dialog

import (
	"path"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/style"
)

// Completer is a form with a directory to be completed: it asks by DirectoriesWanted.
type Completer interface {
	Dialog
	// SetDirectories takes the directories that begin with prefix.
	SetDirectories(prefix string, directories []string)
}

// directoryForm is a form of which one field is a directory that can be completed.
type directoryForm struct {
	form
	directory int // the field

	asked      string   // the prefix that candidates are wanted for
	candidates []string // directories that begin with asked, once told
}

// handle takes one key press; accept is what the form does when it is filled in.
func (f *directoryForm) handle(m *keys.Map, k tea.KeyMsg, accept func() Action) Action {
	what := m.Lookup(keys.Form, k.String())
	if f.busy != "" && what != keys.Cancel {
		return nil
	}
	switch what {
	case keys.Cancel:
		return Closed{}
	case keys.Accept:
		return accept()
	case keys.Complete:
		if f.at == f.directory && f.complete() {
			return f.ask()
		}
		f.focus(f.at + 1)
		return f.ask()
	case keys.Next:
		f.focus(f.at + 1)
		return f.ask()
	case keys.Previous:
		f.focus(f.at - 1)
		return f.ask()
	default:
		if f.edit(k) {
			return f.ask()
		}
		return nil
	}
}

// chosen returns the directory, or says what is wrong with it.
func (f *directoryForm) chosen() (string, bool) {
	dir := f.fields[f.directory].value()
	if !strings.HasPrefix(dir, "/") {
		f.focus(f.directory)
		f.problem = "the directory must be an absolute path, as /home/me"
		return "", false
	}
	return path.Clean(dir), true
}

// ask asks for candidates while the directory has the keyboard and they are not known.
func (f *directoryForm) ask() Action {
	prefix := f.fields[f.directory].value()
	if f.at != f.directory || prefix == f.asked || !strings.HasPrefix(prefix, "/") {
		return nil
	}
	f.asked, f.candidates = prefix, nil
	return DirectoriesWanted{Prefix: prefix}
}

// SetDirectories takes the directories that begin with prefix. An answer for a prefix that was typed over is dropped.
func (f *directoryForm) SetDirectories(prefix string, directories []string) {
	if prefix == f.asked {
		f.candidates = directories
	}
}

// complete extends the directory as far as all candidates agree, a single one up to its slash, and reports whether that
// was any further.
func (f *directoryForm) complete() bool {
	dir := &f.fields[f.directory]
	typed := dir.value()
	if typed != f.asked || len(f.candidates) == 0 {
		return false
	}
	common := f.candidates[0]
	for _, c := range f.candidates[1:] {
		common = commonPrefix(common, c)
	}
	if len(f.candidates) == 1 && !strings.HasSuffix(common, "/") {
		common += "/"
	}
	if len(common) <= len(typed) || !strings.HasPrefix(common, typed) {
		return false
	}
	dir.set(common)
	return true
}

func commonPrefix(a, b string) string {
	n := 0
	for i, r := range a {
		if !strings.HasPrefix(b[i:], string(r)) {
			break
		}
		n = i + len(string(r))
	}
	return a[:n]
}

// block returns the form as a block of at most w x h.
func (f *directoryForm) block(m *keys.Map, t *style.Theme, title string, w, h int) string {
	width := inner(w, 64)
	around := 6 + len(f.fields) // border, title, fields, hints and the blank lines between them
	var below []string
	if f.at == f.directory {
		below = f.completions(t, width, h-around)
	}
	body := strings.Join(f.lines(t, width, below), "\n")
	foot := f.foot(t, hints(m, keys.Form, keys.Accept, keys.Complete, keys.Next, keys.Cancel))
	return frame(t, t.Dialog, title, body, clip(foot, width))
}

// completions lists at most n candidates under the directory.
func (f *directoryForm) completions(t *style.Theme, w, n int) []string {
	if f.fields[f.directory].value() != f.asked {
		return nil
	}
	return candidates(t, f.candidates, w, n)
}

// candidates lists at most n of what a field can be completed to.
func candidates(t *style.Theme, all []string, w, n int) []string {
	const most = 6
	if n = min(n, most); n <= 0 {
		return nil
	}
	var lines []string
	for i, c := range all {
		if i == n-1 && len(all) > n {
			lines = append(lines, t.Tone(style.Muted).Render("           ..."))
			break
		}
		lines = append(lines, t.Tone(style.Quiet).Render(clip("           "+sessions.CleanLine(c, sessions.MaxPath), w)))
	}
	return lines
}
