package dialog

import (
	"path"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/style"
)

// The fields of the form, in order.
const (
	fieldTitle = iota
	fieldDirectory
	fieldCommand
	fieldProject
)

// NewSession is the form for a new session.
type NewSession struct {
	directoryForm
	keys       *keys.Map
	cols, rows int
}

// Defaults is what the form offers.
type Defaults struct {
	CWD, Project string
	Cols, Rows   int // size of the pane that will show the session
}

// NewNewSession returns the form, with the cursor in the title.
func NewNewSession(m *keys.Map, d Defaults) *NewSession {
	f := &NewSession{keys: m, cols: d.Cols, rows: d.Rows, directoryForm: directoryForm{directory: fieldDirectory}}
	f.fields = []field{
		fieldTitle:     newField("title", "named after the directory", sessions.MaxTitle),
		fieldDirectory: newField("directory", "an absolute path", sessions.MaxPath),
		fieldCommand:   newField("command", "your login shell", sessions.MaxArgBytes),
		fieldProject:   newField("project", "none", sessions.MaxProject),
	}
	f.fields[fieldDirectory].set(d.CWD)
	f.fields[fieldProject].set(d.Project)
	f.focus(fieldTitle)
	return f
}

// HandleKey takes one key press.
func (f *NewSession) HandleKey(k tea.KeyMsg) Action { return f.handle(f.keys, k, f.accept) }

func (f *NewSession) accept() Action {
	dir, ok := f.chosen()
	if !ok {
		return nil
	}
	r := sessions.CreateRequest{
		Title:   sessions.CleanTitle(f.fields[fieldTitle].value()),
		CWD:     dir,
		Project: f.fields[fieldProject].value(),
		Kind:    sessions.KindShell,
		Cols:    f.cols,
		Rows:    f.rows,
	}
	if line := f.fields[fieldCommand].value(); line != "" {
		r.Kind, r.Args = sessions.KindCommand, commandArgs(line)
	}
	if r.Title == "" {
		r.Title = defaultTitle(r)
	}
	f.busy, f.problem = "creating...", ""
	return CreateWanted{Request: r}
}

func defaultTitle(r sessions.CreateRequest) string {
	if base := sessions.CleanTitle(path.Base(r.CWD)); base != "" {
		return base
	}
	return "session"
}

// commandArgs turns a command line into arguments. A line of plain words is split at its blanks, so that the program
// itself is what runs and what `ps` shows; whatever a shell would have to read is left to one.
func commandArgs(line string) []string {
	if needsShell(line) {
		return []string{"sh", "-c", line}
	}
	return strings.Fields(line)
}

// needsShell reports whether a line is more than plain words.
func needsShell(line string) bool { return strings.ContainsAny(line, "|&;<>()$`\\\"'*?[]#~=%{}!\n\t") }

// View returns the form as a block.
func (f *NewSession) View(t *style.Theme, w, h int) string {
	return f.block(f.keys, t, "New session", w, h)
}
