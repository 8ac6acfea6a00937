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
	form
	keys       *keys.Map
	cols, rows int

	asked      string   // the prefix that candidates are wanted for
	candidates []string // directories that begin with asked, once told
}

// Defaults is what the form offers.
type Defaults struct {
	CWD, Project string
	Cols, Rows   int // size of the pane that will show the session
}

// NewNewSession returns the form, with the cursor in the title.
func NewNewSession(m *keys.Map, d Defaults) *NewSession {
	f := &NewSession{keys: m, cols: d.Cols, rows: d.Rows}
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
func (f *NewSession) HandleKey(k tea.KeyMsg) Action {
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
		if f.at == fieldDirectory && f.complete() {
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

// ask asks for candidates while the directory has the keyboard and they are not known.
func (f *NewSession) ask() Action {
	prefix := f.fields[fieldDirectory].value()
	if f.at != fieldDirectory || prefix == f.asked || !strings.HasPrefix(prefix, "/") {
		return nil
	}
	f.asked, f.candidates = prefix, nil
	return DirectoriesWanted{Prefix: prefix}
}

// SetDirectories takes the directories that begin with prefix. An answer for a prefix that was typed over is dropped.
func (f *NewSession) SetDirectories(prefix string, directories []string) {
	if prefix == f.asked {
		f.candidates = directories
	}
}

// complete extends the directory as far as all candidates agree, a single one up to its slash, and reports whether that
// was any further.
func (f *NewSession) complete() bool {
	dir := &f.fields[fieldDirectory]
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

func (f *NewSession) accept() Action {
	dir := f.fields[fieldDirectory].value()
	if !strings.HasPrefix(dir, "/") {
		f.focus(fieldDirectory)
		f.problem = "the directory must be an absolute path, as /home/me"
		return nil
	}
	r := sessions.CreateRequest{
		Title:   sessions.CleanTitle(f.fields[fieldTitle].value()),
		CWD:     path.Clean(dir),
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
	if strings.ContainsAny(line, "|&;<>()$`\\\"'*?[]#~=%{}!\n\t") {
		return []string{"sh", "-c", line}
	}
	return strings.Fields(line)
}

// View returns the form as a block.
func (f *NewSession) View(t *style.Theme, w, h int) string {
	width := inner(w, 64)
	const around = 10 // border, title, fields, hints and the blank lines between them
	var below []string
	if f.at == fieldDirectory {
		below = f.completions(t, width, h-around)
	}
	body := strings.Join(f.lines(t, width, below), "\n")
	foot := f.foot(t, hints(f.keys, keys.Form, keys.Accept, keys.Complete, keys.Next, keys.Cancel))
	return frame(t, t.Dialog, "New session", body, clip(foot, width))
}

// completions lists at most n candidates under the directory.
func (f *NewSession) completions(t *style.Theme, w, n int) []string {
	const most = 6
	n = min(n, most)
	if f.fields[fieldDirectory].value() != f.asked || n <= 0 {
		return nil
	}
	var lines []string
	for i, c := range f.candidates {
		if i == n-1 && len(f.candidates) > n {
			lines = append(lines, t.Tone(style.Muted).Render("           ..."))
			break
		}
		lines = append(lines, t.Tone(style.Quiet).Render(clip("           "+sessions.CleanLine(c, sessions.MaxPath), w)))
	}
	return lines
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
