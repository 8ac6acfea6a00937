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

// Rename is the form for another title.
type Rename struct {
	form
	keys *keys.Map
	id   sessions.ID
}

// NewRename returns the form for s.
func NewRename(m *keys.Map, s sessions.Session) *Rename {
	f := &Rename{keys: m, id: s.ID}
	f.fields = []field{newField("title", s.ID.Short(), sessions.MaxTitle)}
	f.fields[0].set(sessions.CleanTitle(s.Title))
	f.focus(0)
	return f
}

// About returns the session that the form is about.
func (f *Rename) About() sessions.ID { return f.id }

// HandleKey takes one key press.
func (f *Rename) HandleKey(k tea.KeyMsg) Action {
	what := f.keys.Lookup(keys.Form, k.String())
	if f.busy != "" && what != keys.Cancel {
		return nil
	}
	switch what {
	case keys.Cancel:
		return Closed{}
	case keys.Accept:
		title := sessions.CleanTitle(f.fields[0].value())
		if title == "" {
			f.problem = "a title cannot be empty"
			return nil
		}
		f.busy, f.problem = "renaming...", ""
		return RenameWanted{ID: f.id, Title: title}
	default:
		f.edit(k)
		return nil
	}
}

// View returns the form as a block.
func (f *Rename) View(t *style.Theme, w, h int) string {
	width := inner(w, 64)
	body := strings.Join(f.lines(t, width, nil), "\n")
	return frame(t, t.Dialog, "Rename", body, clip(f.foot(t, hints(f.keys, keys.Form, keys.Accept, keys.Cancel)), width))
}
