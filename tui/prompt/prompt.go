// Package prompt is a line of text that the user is asked for at the foot of a pane: what to search for, where to go. It is
// used from the dashboard's loop only.
package prompt

import (
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"corral/tui/canvas"
	"corral/tui/keys"
	"corral/tui/style"
	"corral/vt"
)

// longest bounds what can be typed, in bytes.
const longest = 4096

// Line is a question and its answer so far.
type Line struct {
	Label   string // what stands before the answer
	Pattern bool   // the answer may be a regular expression
	Regexp  bool   // and is one
	Text    string
	Wrong   string // why the answer cannot be taken; the next key clears it
}

// State says what a key has led to.
type State int

// The states of a question.
const (
	Typing State = iota
	Answered
	Cancelled
)

// HandleKey takes one key press, or a paste.
func (l *Line) HandleKey(m *keys.Map, k tea.KeyMsg) State {
	l.Wrong = ""
	switch m.Lookup(keys.Prompt, k.String()) {
	case keys.Cancel:
		return Cancelled
	case keys.Accept:
		return Answered
	case keys.Regexp:
		l.Regexp = l.Pattern && !l.Regexp
		return Typing
	case keys.Erase:
		_, n := utf8.DecodeLastRuneInString(l.Text)
		l.Text = l.Text[:len(l.Text)-n]
		return Typing
	case keys.EraseAll:
		l.Text = ""
		return Typing
	default:
	}
	if k.Type != tea.KeyRunes && k.Type != tea.KeySpace || k.Alt {
		return Typing
	}
	typed := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return -1
		}
		return r
	}, string(k.Runes))
	if len(l.Text)+len(typed) <= longest {
		l.Text += typed
	}
	return Typing
}

// Draw draws the question into the first row of r, with the cursor where the next character goes.
func (l *Line) Draw(c *canvas.Canvas, r canvas.Rect, t *style.Theme, m *keys.Map) {
	hint, tone := l.Wrong, t.Tone(style.Bad)
	if b, ok := m.Binding(keys.Prompt, keys.Regexp); ok && hint == "" && l.Pattern {
		hint, tone = keys.Name(b.Keys[0])+" "+b.Short, t.Tone(style.Muted)
	}
	label := " " + l.label()
	if ansi.StringWidth(label)+ansi.StringWidth(hint)+12 > r.W && l.Wrong == "" {
		hint = ""
	}
	room := max(r.W-ansi.StringWidth(label)-ansi.StringWidth(hint)-3, 1)
	typed := vt.Sanitize(l.Text)
	if over := ansi.StringWidth(typed) - room; over > 0 {
		typed = ansi.TruncateLeft(typed, over+1, "…")
	}
	at := r.X + ansi.StringWidth(label) + ansi.StringWidth(typed)
	gap := max(r.W-ansi.StringWidth(label)-ansi.StringWidth(typed)-ansi.StringWidth(hint)-1, 1)
	c.DrawLine(r.X, r.Y, r.W, t.Tone(style.Accent).Render(label)+typed+strings.Repeat(" ", gap)+tone.Render(hint))
	c.SetCursor(at, r.Y, 0)
}

func (l *Line) label() string {
	if l.Regexp {
		return l.Label + " regexp: "
	}
	return l.Label + ": "
}
