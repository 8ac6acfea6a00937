package dialog

import (
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"corral/tui/style"
)

// field is one line of a form.
type field struct {
	label string
	input textinput.Model
}

// newField returns an empty field of at most limit characters. What may be left empty says in hint what that means.
func newField(label, hint string, limit int) field {
	in := textinput.New()
	in.Prompt = ""
	in.Placeholder = hint
	in.CharLimit = limit
	// A cursor that blinks would wake an idle dashboard; the program that owns the clipboard would be run in Update.
	in.Cursor.SetMode(cursor.CursorStatic)
	in.KeyMap.Paste = key.NewBinding(key.WithDisabled())
	in.KeyMap.AcceptSuggestion = key.NewBinding(key.WithDisabled())
	in.KeyMap.NextSuggestion = key.NewBinding(key.WithDisabled())
	in.KeyMap.PrevSuggestion = key.NewBinding(key.WithDisabled())
	return field{label: label, input: in}
}

func (f *field) value() string { return strings.TrimSpace(f.input.Value()) }

func (f *field) set(v string) {
	f.input.SetValue(v)
	f.input.CursorEnd()
}

// form is a column of fields, one of which has the keyboard.
type form struct {
	fields  []field
	at      int
	busy    string // what is being done, "" while the user edits
	problem string // why it was not done
}

func (f *form) focus(at int) {
	f.fields[f.at].input.Blur()
	f.at = (at + len(f.fields)) % len(f.fields)
	f.fields[f.at].input.Focus() // the command it returns blinks the cursor
}

// edit hands a key to the field that has the keyboard and reports whether its text changed.
func (f *form) edit(k tea.KeyMsg) bool {
	before := f.fields[f.at].input.Value()
	f.fields[f.at].input, _ = f.fields[f.at].input.Update(k) // the command it returns blinks the cursor
	f.problem = ""
	return f.fields[f.at].input.Value() != before
}

// Failed shows why the form's wish was not fulfilled, and lets the user edit again.
func (f *form) Failed(reason string) { f.busy, f.problem = "", reason }

// lines returns the fields as lines of width w; below follows under the field that has the keyboard.
func (f *form) lines(t *style.Theme, w int, below []string) []string {
	const column = 11
	var lines []string
	for i := range f.fields {
		fl := &f.fields[i]
		label := t.Tone(style.Muted)
		if i == f.at {
			label = t.Tone(style.Accent)
		}
		plain := t.Tone(style.Plain)
		fl.input.Width = max(w-column-1, 1) // one cell for the cursor at the end
		fl.input.PromptStyle, fl.input.TextStyle = plain, plain
		fl.input.PlaceholderStyle = t.Tone(style.Muted)
		fl.input.Cursor.Style, fl.input.Cursor.TextStyle = plain, plain // it adds reverse video itself
		lines = append(lines, clip(label.Render(fill(fl.label, column))+fl.input.View(), w))
		if i == f.at {
			lines = append(lines, below...)
		}
	}
	return lines
}

// foot is the last line: what is being done, else what went wrong, else the keys.
func (f *form) foot(t *style.Theme, hints string) string {
	switch {
	case f.busy != "":
		return t.Tone(style.Busy).Render(f.busy)
	case f.problem != "":
		return t.Tone(style.Bad).Render(f.problem)
	}
	return t.Tone(style.Muted).Render(hints)
}
