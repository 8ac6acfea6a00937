package dialog

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/style"
)

// Question asks before something that cannot be taken back.
type Question struct {
	keys *keys.Map
	op   Op
	id   sessions.ID
	ask  string
	tell string
}

// NewQuestion returns the question that comes before op.
func NewQuestion(m *keys.Map, op Op, s sessions.Session) *Question {
	q := &Question{keys: m, op: op, id: s.ID}
	title := sessions.CleanTitle(s.Title)
	if title == "" {
		title = s.ID.Short()
	}
	switch op {
	case OpStop:
		q.ask = fmt.Sprintf("Stop %q?", title)
		q.tell = "Its program is asked to end, and killed after 10 seconds. What it has not saved is lost. R can restart the session later."
	case OpClose:
		q.ask = fmt.Sprintf("Close %q?", title)
		q.tell = "Its process is gone already. Closing says that you do not want it back; nothing is started. R can restart it even so."
	}
	return q
}

// About returns the session that the question is about.
func (q *Question) About() sessions.ID { return q.id }

// HandleKey takes one key press.
func (q *Question) HandleKey(k tea.KeyMsg) Action {
	switch q.keys.Lookup(keys.Question, k.String()) {
	case keys.Yes:
		return Confirmed{Op: q.op, ID: q.id}
	case keys.Cancel:
		return Closed{}
	default:
		return nil
	}
}

// View returns the question as a block.
func (q *Question) View(t *style.Theme, w, h int) string {
	width := inner(w, 52)
	body := ansi.Wrap(q.tell, width, "")
	return frame(t, t.Danger, clip(q.ask, width), body, clip(hints(q.keys, keys.Question, keys.Yes, keys.Cancel), width))
}
