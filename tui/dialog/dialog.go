// Package dialog is what opens over the dashboard: forms, questions and pages of text, in a stack of which the topmost
// has the keyboard. A dialog does nothing itself: each key returns an Action, a value that says what the user wants, and
// the dashboard does it. So no dialog knows a backend, and none can block.
//
// Dialogs are used from the dashboard's loop only.
package dialog

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/style"
)

// Action is what a key press in a dialog asks for; nil asks for nothing.
type Action interface{ action() }

// Closed says that the user is done with the dialog on top.
type Closed struct{}

// Confirmed says that the user answered a question with yes.
type Confirmed struct {
	Op Op
	ID sessions.ID
}

// CreateWanted says that a new session is wanted. The form stays open until the dashboard closes it.
type CreateWanted struct{ Request sessions.CreateRequest }

// DirectoriesWanted asks for the directories that begin with Prefix; NewSession.SetDirectories takes the answer.
type DirectoriesWanted struct{ Prefix string }

func (Closed) action()            {}
func (Confirmed) action()         {}
func (CreateWanted) action()      {}
func (DirectoriesWanted) action() {}

// Op is what a question is about.
type Op string

// The operations that ask first.
const (
	OpStop  Op = "stop"
	OpClose Op = "close"
)

// Dialog is one overlay.
type Dialog interface {
	// HandleKey takes one key press.
	HandleKey(k tea.KeyMsg) Action
	// View returns a block of lines for an area of w x h cells, at most that large.
	View(t *style.Theme, w, h int) string
}

// Overlay is the stack of open dialogs. The zero value is empty.
type Overlay struct{ stack []Dialog }

// Open puts d on top.
func (o *Overlay) Open(d Dialog) { o.stack = append(o.stack, d) }

// Close takes the topmost dialog away.
func (o *Overlay) Close() {
	if n := len(o.stack); n > 0 {
		o.stack[n-1] = nil
		o.stack = o.stack[:n-1]
	}
}

// Remove takes d away wherever it lies, and reports whether it was there.
func (o *Overlay) Remove(d Dialog) bool {
	for i, other := range o.stack {
		if other == d {
			o.stack = append(o.stack[:i], o.stack[i+1:]...)
			return true
		}
	}
	return false
}

// Top returns the topmost dialog, nil when none is open.
func (o *Overlay) Top() Dialog {
	if n := len(o.stack); n > 0 {
		return o.stack[n-1]
	}
	return nil
}

// Each calls f for every open dialog.
func (o *Overlay) Each(f func(Dialog)) {
	for _, d := range o.stack {
		f(d)
	}
}

// frame puts a border, a title and a line of hints round body, which must fit.
func frame(t *style.Theme, border lipgloss.Style, title, body, hints string) string {
	parts := []string{t.Tone(style.Strong).Render(title), "", body}
	if hints != "" {
		parts = append(parts, "", t.Tone(style.Muted).Render(hints))
	}
	return border.Render(strings.Join(parts, "\n"))
}

// inner returns how wide the text of a dialog may be in an area w cells wide: the frame takes four, and lines of more
// than want are hard to read.
func inner(w, want int) int { return max(min(w-4, want), 8) }

// hints spells the keys of a context for the foot of a dialog.
func hints(m *keys.Map, c keys.Context, actions ...keys.Action) string {
	parts := make([]string, 0, len(actions))
	for _, a := range actions {
		if b, ok := m.Binding(c, a); ok {
			parts = append(parts, keys.Name(b.Keys[0])+" "+b.Short)
		}
	}
	return strings.Join(parts, "  ")
}

func clip(s string, w int) string { return ansi.Truncate(s, w, "…") }
