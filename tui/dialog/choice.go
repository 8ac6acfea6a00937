package dialog

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/style"
)

// Choice asks which conversation an agent is to go on with, after a restart in its own was refused.
type Choice struct {
	keys    *keys.Map
	id      sessions.ID
	title   string
	why     string
	choices []sessions.Choice
}

// ConversationChosen says that a session is to be restarted in another conversation than its own.
type ConversationChosen struct {
	ID           sessions.ID
	Conversation sessions.ConversationChoice
}

func (ConversationChosen) action() {}

// NewChoice returns the dialog for a restart of s that was refused for a reason, with what there is instead.
func NewChoice(m *keys.Map, s sessions.Session, why string, choices []sessions.Choice) *Choice {
	title := sessions.CleanTitle(s.Title)
	if title == "" {
		title = s.ID.Short()
	}
	return &Choice{keys: m, id: s.ID, title: title, why: why, choices: choices}
}

// HandleKey takes one key press.
func (c *Choice) HandleKey(k tea.KeyMsg) Action {
	switch c.keys.Lookup(keys.Choice, k.String()) {
	case keys.Latest:
		return c.choose(sessions.ConversationLatest)
	case keys.Fresh:
		return c.choose(sessions.ConversationFresh)
	case keys.Cancel:
		return Closed{}
	default:
		return nil
	}
}

func (c *Choice) choose(want sessions.ConversationChoice) Action {
	for _, have := range c.choices {
		if have.Conversation == want {
			return ConversationChosen{ID: c.id, Conversation: want}
		}
	}
	return nil
}

// View returns the choice as a block.
func (c *Choice) View(t *style.Theme, w, h int) string {
	width := inner(w, 64)
	lines := strings.Split(ansi.Wrap(sessions.CleanLine(c.why, 400), width, ""), "\n")
	lines = append(lines, "")
	actions := []keys.Action{}
	for _, choice := range c.choices {
		action, text := keys.Fresh, "a new conversation"
		if choice.Conversation == sessions.ConversationLatest {
			action, text = keys.Latest, "the newest conversation of its directory"
			if choice.LastPrompt != "" {
				text += fmt.Sprintf(", where %q was said last", sessions.CleanLine(choice.LastPrompt, 120))
			}
		}
		b, ok := c.keys.Binding(keys.Choice, action)
		if !ok {
			continue
		}
		actions = append(actions, action)
		for i, part := range strings.Split(ansi.Wrap(text, max(width-3, 8), ""), "\n") {
			key := " "
			if i == 0 {
				key = keys.Name(b.Keys[0])
			}
			lines = append(lines, t.Tone(style.Accent).Render(key)+"  "+part)
		}
	}
	const around = 6 // border, title, hints and their blank lines
	lines = lines[:min(len(lines), max(h-around, 1))]
	return frame(t, t.Danger, clip(fmt.Sprintf("Restart %q in which conversation?", c.title), width), strings.Join(lines, "\n"),
		clip(hints(c.keys, keys.Choice, append(actions, keys.Cancel)...), width))
}
