package dialog

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/status"
	"corral/tui/style"
)

// page is text that scrolls.
type page struct {
	keys *keys.Map
	top  int
	seen int // lines shown by the last View
	all  int // lines there were
}

func (p *page) HandleKey(k tea.KeyMsg) Action {
	switch p.keys.Lookup(keys.Page, k.String()) {
	case keys.Down:
		p.top++
	case keys.Up:
		p.top--
	case keys.PageDown:
		p.top += max(p.seen-1, 1)
	case keys.PageUp:
		p.top -= max(p.seen-1, 1)
	case keys.Cancel:
		return Closed{}
	default:
	}
	p.top = max(min(p.top, p.all-p.seen), 0)
	return nil
}

// block shows as many of lines as fit into h.
func (p *page) block(t *style.Theme, title string, lines []string, w, h int) string {
	const around = 6 // border, title, hints and their blank lines
	p.all, p.seen = len(lines), min(max(h-around, 1), len(lines))
	p.top = max(min(p.top, p.all-p.seen), 0)
	foot := hints(p.keys, keys.Page, keys.Cancel)
	if p.seen < p.all {
		foot = fmt.Sprintf("%s  (%d-%d of %d)", hints(p.keys, keys.Page, keys.Down, keys.Up, keys.Cancel), p.top+1, p.top+p.seen, p.all)
	}
	return frame(t, t.Dialog, clip(title, w), strings.Join(lines[p.top:p.top+p.seen], "\n"), clip(foot, w))
}

// Help shows every key.
type Help struct {
	page
	version string
}

// NewHelp returns the help.
func NewHelp(m *keys.Map, version string) *Help { return &Help{page: page{keys: m}, version: version} }

// View returns the help as a block.
func (d *Help) View(t *style.Theme, w, h int) string {
	width := inner(w, 76)
	const keyColumn = 17 // "backspace ctrl+h"
	var lines []string
	for _, c := range keys.Contexts() {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, t.Tone(style.Strong).Render(clip(c.Title(), width)))
		for _, b := range d.keys.Bindings(c) {
			text := strings.Split(ansi.Wrap(b.Long, max(width-keyColumn, 10), ""), "\n")
			for i, part := range text {
				names := ""
				if i == 0 {
					names = b.Names()
				}
				lines = append(lines, t.Tone(style.Accent).Render(fill(names, keyColumn-1))+" "+part)
			}
		}
	}
	title := "Keys"
	if d.version != "" {
		title += " of corral " + sessions.CleanLine(d.version, 40)
	}
	return d.block(t, title, lines, width, h)
}

// Details shows what is known of one session, and the evidence for its state.
type Details struct {
	page
	session sessions.Session
	events  []sessions.Event
	loaded  bool
	problem string
}

// NewDetails returns the page about s; SetEvents fills in what led to its state.
func NewDetails(m *keys.Map, s sessions.Session) *Details {
	return &Details{page: page{keys: m}, session: s}
}

// About returns the session that the page is about.
func (d *Details) About() sessions.ID { return d.session.ID }

// SetSession replaces the session's facts.
func (d *Details) SetSession(s sessions.Session) { d.session = s }

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
	if at := d.since(); at != "" {
		fact("since", at)
	}
	fact("directory", sessions.CleanLine(s.CWD, sessions.MaxPath))
	fact("runs", program(s))
	if s.Project != "" {
		fact("project", sessions.CleanLine(s.Project, sessions.MaxProject))
	}
	if s.ConversationID != "" {
		fact("conversation", sessions.CleanLine(s.ConversationID, 100))
	}
	fact("viewers", fmt.Sprintf("%d attached, %d watching", s.Attached, s.Watching))
	fact("created", s.CreatedAt.Local().Format(timeLayout))
	fact("id", sessions.CleanLine(string(s.ID), 64))
	lines = append(lines, "", t.Tone(style.Strong).Render("What led here, newest first"))
	lines = append(lines, d.history(t, width)...)
	return d.block(t, clip(sessions.CleanTitle(s.Title), width), lines, width, h)
}

// since says when the session came into its state, as its history has it.
func (d *Details) since() string {
	for i := len(d.events) - 1; i >= 0; i-- {
		if e := d.events[i]; e.To == d.session.State && e.From != e.To {
			return e.At.Local().Format(timeLayout)
		}
	}
	return ""
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

func fill(s string, w int) string {
	s = clip(s, w)
	return s + strings.Repeat(" ", max(w-ansi.StringWidth(s), 0))
}
