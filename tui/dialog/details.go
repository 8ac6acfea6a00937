package dialog

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/status"
	"corral/tui/style"
)

// Details shows what is known of one session, and the evidence for its state.
type Details struct {
	page
	session    sessions.Session
	cols, rows int // of the terminal, 0 when not known
	events     []sessions.Event
	loaded     bool
	problem    string
}

// NewDetails returns the page about s; SetEvents fills in what led to its state.
func NewDetails(m *keys.Map, s sessions.Session) *Details {
	return &Details{page: page{keys: m}, session: s}
}

// About returns the session that the page is about.
func (d *Details) About() sessions.ID { return d.session.ID }

// SetSession replaces the session's facts, and reports whether its state is another one.
func (d *Details) SetSession(s sessions.Session) (moved bool) {
	moved = s.State != d.session.State
	d.session = s
	return moved
}

// SetSize tells the size of the session's terminal.
func (d *Details) SetSize(cols, rows int) { d.cols, d.rows = cols, rows }

// SetEvents takes the session's history, oldest first, or the reason why there is none.
func (d *Details) SetEvents(events []sessions.Event, err error) {
	d.events, d.loaded, d.problem = events, true, ""
	if err != nil {
		d.problem = sessions.CleanLine(err.Error(), 300)
	}
}

// timeLayout has no zone: times are shown in the user's own.
const timeLayout = "2006-01-02 15:04:05"

// View returns the page as a block.
func (d *Details) View(t *style.Theme, w, h int) string {
	width := inner(w, 76)
	s := d.session
	badge := status.BadgeOf(s)
	var lines []string
	fact := func(name, value string) {
		const column = 13
		for i, part := range strings.Split(ansi.Wrap(value, max(width-column, 8), ""), "\n") {
			if i > 0 {
				name = ""
			}
			lines = append(lines, t.Tone(style.Muted).Render(fill(name, column))+part)
		}
	}
	fact("state", t.Tone(badge.Tone).Render(badge.Mark+" "+badge.Word))
	if s.StateReason != "" {
		fact("because", sessions.CleanLine(s.StateReason, 500))
	}
	if e, ok := d.cause(); ok {
		fact("since", e.At.Local().Format(timeLayout))
		if e.Evidence != "" {
			fact("evidence", sessions.CleanLine(e.Evidence, 500))
		}
	}
	fact("directory", sessions.CleanLine(s.CWD, sessions.MaxPath))
	fact("runs", program(s))
	if s.Project != "" {
		fact("project", sessions.CleanLine(s.Project, sessions.MaxProject))
	}
	if s.ConversationID != "" {
		fact("conversation", sessions.CleanLine(s.ConversationID, 100))
	}
	if d.cols > 0 {
		fact("size", fmt.Sprintf("%d columns, %d rows", d.cols, d.rows))
	}
	fact("viewers", fmt.Sprintf("%d attached, %d watching", s.Attached, s.Watching))
	fact("created", s.CreatedAt.Local().Format(timeLayout))
	if !s.LastActivityAt.IsZero() {
		fact("last active", s.LastActivityAt.Local().Format(timeLayout))
	}
	if s.Node != "" {
		fact("node", sessions.CleanLine(s.Node, 100))
	}
	fact("id", sessions.CleanLine(string(s.ID), 64))
	lines = append(lines, "", t.Tone(style.Strong).Render("What led here, newest first"))
	lines = append(lines, d.history(t, width)...)
	return d.block(t, clip(sessions.CleanTitle(s.Title), width), lines, width, h)
}

// cause is the event that brought the session into its state, as its history has it.
func (d *Details) cause() (sessions.Event, bool) {
	for i := len(d.events) - 1; i >= 0; i-- {
		if e := d.events[i]; e.To == d.session.State && e.From != e.To {
			return e, true
		}
	}
	return sessions.Event{}, false
}

func (d *Details) history(t *style.Theme, width int) []string {
	muted := t.Tone(style.Muted)
	switch {
	case d.problem != "":
		return strings.Split(t.Tone(style.Bad).Render(ansi.Wrap(d.problem, width, "")), "\n")
	case !d.loaded:
		return []string{muted.Render("asking...")}
	case len(d.events) == 0:
		return []string{muted.Render("nothing is recorded")}
	}
	var lines []string
	for i := len(d.events) - 1; i >= 0; i-- {
		e := d.events[i]
		head := e.At.Local().Format(timeLayout) + "  " + sessions.CleanLine(string(e.To), 20) + "  by " + sessions.CleanLine(string(e.Actor), 20)
		lines = append(lines, clip(head, width))
		why := sessions.CleanLine(e.Reason, 300)
		if e.Evidence != "" {
			why += " (" + sessions.CleanLine(e.Evidence, 300) + ")"
		}
		for _, part := range strings.Split(ansi.Wrap(why, max(width-2, 8), ""), "\n") {
			lines = append(lines, "  "+muted.Render(part))
		}
	}
	return lines
}

func program(s sessions.Session) string {
	switch s.Kind {
	case sessions.KindShell:
		return "your login shell"
	case sessions.KindClaude:
		return "Claude Code"
	case sessions.KindCommand:
	}
	return sessions.CleanLine(strings.Join(s.Args, " "), 500)
}
