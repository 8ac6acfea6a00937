// Package sessionlist is the list at the left of the dashboard: the sessions, grouped by project, oldest first within one,
// and under them the tasks, newest first; so a row never jumps when a state changes. The selection is an id, not a row: it
// stays when rows come and go, and moves to the neighbour when its session or task vanishes.
//
// A Pane is used from the dashboard's loop only. It draws visible rows only.
package sessionlist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/status"
	"corral/tui/style"
)

// wordsFrom is the width from which rows carry the state's word beside its mark. Below it only eight cells would be left
// for a title; the header of the pane has the word, too.
const wordsFrom = 22

// Pane is the list.
type Pane struct {
	theme    *style.Theme
	sessions []sessions.Session // in the order shown
	tasks    []sessions.Task    // in the order shown
	unseen   map[sessions.ID]bool
	marked   map[sessions.ID]bool // sessions that finished something unseen
	ids      []sessions.ID        // of sessions and tasks, in the order shown
	rows     []row
	now      time.Time
	selected sessions.ID
	top      int // first row shown
	w, h     int
	focused  bool
	drawn    map[look]string // rows as they were drawn, for this theme and width
}

// look is all that a row's drawing depends on beside the theme and the width.
type look struct {
	title             string
	badge             status.Badge
	selected, focused bool
	unseen            bool
}

// drawnMost bounds the memory of rows: many times what any screen shows.
const drawnMost = 1000

// row is one line: a session, a task or a heading, which has the index -1.
type row struct {
	id      sessions.ID
	session int // index into sessions
	task    int // index into tasks
	project string
}

// New returns an empty list.
func New(theme *style.Theme) *Pane {
	return &Pane{theme: theme, focused: true, drawn: make(map[look]string)}
}

// SetTheme changes the styles.
func (p *Pane) SetTheme(t *style.Theme) {
	p.theme = t
	clear(p.drawn)
}

// SetSize tells the size of the area in cells.
func (p *Pane) SetSize(w, h int) {
	if w != p.w {
		clear(p.drawn)
	}
	p.w, p.h = max(w, 0), max(h, 0)
	p.follow()
}

// SetUnseen says which sessions have finished something that nobody has looked at yet. The map is read when drawing.
func (p *Pane) SetUnseen(marked map[sessions.ID]bool) { p.marked = marked }

// SetFocus says whether the list has the keyboard.
func (p *Pane) SetFocus(f bool) { p.focused = f }

// Set replaces the sessions. When the selected one is gone its neighbour is selected; the first one when there was none.
func (p *Pane) Set(all []sessions.Session) {
	p.sessions = slices.Clone(all)
	slices.SortFunc(p.sessions, func(a, b sessions.Session) int {
		return cmp.Or(
			cmp.Compare(a.Project, b.Project),
			a.CreatedAt.Compare(b.CreatedAt),
			cmp.Compare(a.ID, b.ID),
		)
	})
	p.arrange()
}

// arrange lays out the rows, and sees to it that something is selected.
func (p *Pane) arrange() {
	was := p.index(p.selected)
	p.rows, p.ids = p.rows[:0], nil
	project := ""
	for i, s := range p.sessions {
		if s.Project != project {
			project = s.Project
			p.rows = append(p.rows, row{session: -1, task: -1, project: project})
		}
		p.rows = append(p.rows, row{id: s.ID, session: i, task: -1})
		p.ids = append(p.ids, s.ID)
	}
	if len(p.tasks) > 0 {
		p.rows = append(p.rows, row{session: -1, task: -1})
	}
	for i, t := range p.tasks {
		p.rows = append(p.rows, row{id: t.ID, session: -1, task: i})
		p.ids = append(p.ids, t.ID)
	}
	if p.index(p.selected) < 0 {
		p.selected = ""
		if n := len(p.ids); n > 0 {
			p.selected = p.ids[min(max(was, 0), n-1)]
		}
	}
	p.follow()
}

// Selected returns the selected session, if it is one that is selected.
func (p *Pane) Selected() (sessions.Session, bool) { return p.Session(p.selected) }

// SelectedID returns the id of the selected session or task, "" when there is none.
func (p *Pane) SelectedID() sessions.ID { return p.selected }

// Session returns the session with the given id.
func (p *Pane) Session(id sessions.ID) (sessions.Session, bool) {
	i := slices.IndexFunc(p.sessions, func(s sessions.Session) bool { return s.ID == id })
	if i < 0 {
		return sessions.Session{}, false
	}
	return p.sessions[i], true
}

// Sessions returns all sessions in the order shown. The caller must not change them.
func (p *Pane) Sessions() []sessions.Session { return p.sessions }

// Select selects a session or a task, if it is there.
func (p *Pane) Select(id sessions.ID) bool {
	if p.index(id) < 0 {
		return false
	}
	p.selected = id
	p.follow()
	return true
}

// Move selects what is delta rows further down, stopping at the ends.
func (p *Pane) Move(delta int) {
	if n := len(p.ids); n > 0 {
		p.selected = p.ids[min(max(p.index(p.selected)+delta, 0), n-1)]
		p.follow()
	}
}

// First and Last select the ends of the list.
func (p *Pane) First() { p.Move(-len(p.ids)) }

// Last selects the last one.
func (p *Pane) Last() { p.Move(len(p.ids)) }

// At returns the session or task shown in line y of the area.
func (p *Pane) At(y int) (sessions.ID, bool) {
	i := p.top + y - 1 // line 0 is the heading
	if y < 1 || y >= p.h || i >= len(p.rows) || p.rows[i].id == "" {
		return "", false
	}
	return p.rows[i].id, true
}

func (p *Pane) index(id sessions.ID) int {
	return slices.Index(p.ids, id)
}

// follow scrolls as little as possible to show the selected row, and its project's heading when it is the first below
// it.
func (p *Pane) follow() {
	visible := p.h - 1
	if visible <= 0 {
		p.top = 0
		return
	}
	at := slices.IndexFunc(p.rows, func(r row) bool { return r.id != "" && r.id == p.selected })
	if at >= 0 {
		first := at
		if at > 0 && p.rows[at-1].id == "" {
			first--
		}
		p.top = min(p.top, first)
		p.top = max(p.top, at-visible+1)
	}
	p.top = max(min(p.top, len(p.rows)-visible), 0)
}

// View returns the lines of the area: a heading, then the rows, each exactly as wide as the area.
func (p *Pane) View() []string {
	if p.w == 0 || p.h == 0 {
		return nil
	}
	lines := make([]string, 0, p.h)
	lines = append(lines, p.heading())
	for i := p.top; i < len(p.rows) && len(lines) < p.h; i++ {
		switch r := p.rows[i]; {
		case r.session >= 0:
			lines = append(lines, p.session(p.sessions[r.session]))
		case r.task >= 0:
			lines = append(lines, p.task(p.tasks[r.task]))
		case r.project == "":
			lines = append(lines, p.taskHeading())
		default:
			lines = append(lines, p.theme.Tone(style.Muted).Bold(true).Render(pad(" "+clean(r.project), p.w)))
		}
	}
	for len(lines) < p.h {
		lines = append(lines, strings.Repeat(" ", p.w))
	}
	return lines
}

// heading says how many there are, and how many want the user.
func (p *Pane) heading() string {
	waiting := 0
	for _, s := range p.sessions {
		if s.State == sessions.WaitingForInput {
			waiting++
		}
	}
	if waiting > 0 {
		return p.section(" Sessions", fmt.Sprintf("%d waiting ", waiting), true)
	}
	return p.section(" Sessions", fmt.Sprintf("%d ", len(p.sessions)), false)
}

// section is the heading of a part of the list.
func (p *Pane) section(left, right string, alarm bool) string {
	gap := p.w - ansi.StringWidth(left) - ansi.StringWidth(right)
	if gap < 1 {
		return p.theme.Tone(style.Strong).Render(pad(left, p.w))
	}
	tone := style.Muted
	if alarm {
		tone = style.Waiting
	}
	return p.theme.Tone(style.Strong).Render(left) + strings.Repeat(" ", gap) + p.theme.Tone(tone).Render(right)
}

// session returns the row of s. The same look is drawn once: a key that moves the selection changes two rows of many.
func (p *Pane) session(s sessions.Session) string {
	l := look{title: clean(s.Title), badge: status.BadgeOf(s), selected: s.ID == p.selected, focused: p.focused, unseen: p.marked[s.ID]}
	if l.title == "" {
		l.title = s.ID.Short()
	}
	return p.line(l)
}

func (p *Pane) line(l look) string {
	if line, ok := p.drawn[l]; ok {
		return line
	}
	if len(p.drawn) >= drawnMost {
		clear(p.drawn)
	}
	line := p.draw(l)
	p.drawn[l] = line
	return line
}

func (p *Pane) draw(l look) string {
	edge, ground := " ", p.theme.Tone(style.Plain)
	if l.selected {
		edge, ground = "▌", p.theme.Marked
		if l.focused {
			ground = p.theme.Selected
		}
	}
	over := func(t style.Tone) lipgloss.Style { return p.theme.Tone(t).Inherit(ground) }
	word := ""
	if p.w >= wordsFrom {
		word = " " + l.badge.Word + " "
	}
	room := p.w - 3 - ansi.StringWidth(word)
	if l.unseen {
		if edge == " " {
			edge = "•"
		}
		ground = ground.Bold(true)
	}
	return over(style.Accent).Render(edge) + over(l.badge.Tone).Render(l.badge.Mark) +
		ground.Render(" "+pad(l.title, room)) + over(l.badge.Tone).Render(word)
}

func clean(s string) string { return sessions.CleanTitle(s) }

// pad cuts or fills s to exactly w cells.
func pad(s string, w int) string {
	if w <= 0 {
		return ""
	}
	s = ansi.Truncate(s, w, "…")
	return s + strings.Repeat(" ", max(w-ansi.StringWidth(s), 0))
}
