package dialog

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/style"
)

// RenameWanted says that a session is to get another title, or another project; nil leaves it as it is. The form stays
// open until the dashboard closes it.
type RenameWanted struct {
	ID             sessions.ID
	Title, Project *string
}

func (RenameWanted) action() {}

// The fields of the form, in order.
const (
	renameTitle = iota
	renameProject
)

// Rename is the form for another title and project.
type Rename struct {
	form
	keys           *keys.Map
	id             sessions.ID
	title, project string   // as they are
	known          []string // projects
}

// NewRename returns the form for s; known are the projects to be offered.
func NewRename(m *keys.Map, s sessions.Session, known []string) *Rename {
	f := &Rename{keys: m, id: s.ID, title: sessions.CleanTitle(s.Title), project: sessions.CleanLine(s.Project, sessions.MaxProject), known: known}
	f.fields = []field{
		renameTitle:   newField("title", s.ID.Short(), sessions.MaxTitle),
		renameProject: newField("project", "none", sessions.MaxProject),
	}
	f.fields[renameTitle].set(f.title)
	f.fields[renameProject].set(f.project)
	f.focus(renameTitle)
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
		return f.accept()
	case keys.Complete:
		if f.at != renameProject || !f.complete() {
			f.focus(f.at + 1)
		}
	case keys.Next:
		f.focus(f.at + 1)
	case keys.Previous:
		f.focus(f.at - 1)
	default:
		f.edit(k)
	}
	return nil
}

func (f *Rename) accept() Action {
	title := sessions.CleanTitle(f.fields[renameTitle].value())
	if title == "" {
		f.focus(renameTitle)
		f.problem = "a title cannot be empty"
		return nil
	}
	project := f.fields[renameProject].value()
	wish := RenameWanted{ID: f.id}
	if title != f.title {
		wish.Title = &title
	}
	if project != f.project {
		wish.Project = &project
	}
	if wish.Title == nil && wish.Project == nil {
		return Closed{}
	}
	f.busy, f.problem = "saving...", ""
	return wish
}

// offered are the known projects that begin with what was typed.
func (f *Rename) offered() []string {
	typed := f.fields[renameProject].value()
	var all []string
	for _, p := range f.known {
		if strings.HasPrefix(p, typed) && p != typed {
			all = append(all, p)
		}
	}
	return all
}

// complete extends the project as far as all that are offered agree, and reports whether that was any further.
func (f *Rename) complete() bool {
	all := f.offered()
	if len(all) == 0 {
		return false
	}
	common := all[0]
	for _, p := range all[1:] {
		common = commonPrefix(common, p)
	}
	if len(common) <= len(f.fields[renameProject].value()) {
		return false
	}
	f.fields[renameProject].set(common)
	return true
}

// View returns the form as a block.
func (f *Rename) View(t *style.Theme, w, h int) string {
	width := inner(w, 64)
	const around = 8 // border, title, fields, hints and the blank lines between them
	var below []string
	if f.at == renameProject {
		below = candidates(t, f.offered(), width, h-around)
	}
	body := strings.Join(f.lines(t, width, below), "\n")
	foot := hints(f.keys, keys.Form, keys.Accept, keys.Complete, keys.Next, keys.Cancel)
	return frame(t, t.Dialog, "Title and project", body, clip(f.foot(t, foot), width))
}
