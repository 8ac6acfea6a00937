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

// Recover shows how lost sessions would come back, asks whether they shall, and then what became of each.
type Recover struct {
	page
	plan     []sessions.Recovery
	rebooted bool
	left     map[sessions.ID]bool   // taken out of the plan by the user
	results  map[sessions.ID]result // of those that are done
	at       int                    // the one that a key is about
	begun    bool
	stopping bool
	over     string // how the run ended
}

type result struct{ outcome, reason string }

// RecoverWanted says that the plan is confirmed; RecoverStopped that nothing more of it is to be started.
type (
	RecoverWanted  struct{}
	RecoverStopped struct{}
)

func (RecoverWanted) action()  {}
func (RecoverStopped) action() {}

// NewRecover returns the page about a plan; rebooted says that the machine went down.
func NewRecover(m *keys.Map, plan []sessions.Recovery, rebooted bool) *Recover {
	return &Recover{
		page: page{keys: m}, plan: plan, rebooted: rebooted,
		left: map[sessions.ID]bool{}, results: map[sessions.ID]result{},
	}
}

// Begin returns what is to be brought back, and shows from now on what becomes of it.
func (d *Recover) Begin() []sessions.Recovery {
	d.begun = true
	var wanted []sessions.Recovery
	for _, r := range d.plan {
		if !d.left[r.Session.ID] {
			wanted = append(wanted, r)
		}
	}
	return wanted
}

// SetResult tells what became of one session.
func (d *Recover) SetResult(id sessions.ID, outcome, reason string) {
	d.results[id] = result{outcome, reason}
}

// Over tells that the run has ended, and how.
func (d *Recover) Over(summary string) { d.over = summary }

// HandleKey takes one key press.
func (d *Recover) HandleKey(k tea.KeyMsg) Action {
	switch d.keys.Lookup(keys.Recovery, k.String()) {
	case keys.Down:
		d.at = min(d.at+1, max(len(d.plan)-1, 0))
	case keys.Up:
		d.at = max(d.at-1, 0)
	case keys.Mark:
		if !d.begun && d.at < len(d.plan) && d.plan[d.at].Problem == "" {
			id := d.plan[d.at].Session.ID
			d.left[id] = !d.left[id]
		}
	case keys.Yes:
		if !d.begun && d.count() > 0 {
			return RecoverWanted{}
		}
	case keys.Stop:
		if d.begun && d.over == "" && !d.stopping {
			d.stopping = true
			return RecoverStopped{}
		}
	case keys.Cancel:
		return Closed{}
	default:
	}
	return nil
}

// count says how many are to be brought back.
func (d *Recover) count() int {
	n := 0
	for _, r := range d.plan {
		if r.Problem == "" && !d.left[r.Session.ID] {
			n++
		}
	}
	return n
}

// View returns the page as a block.
func (d *Recover) View(t *style.Theme, w, h int) string {
	width := inner(w, 76)
	var lines []string
	first, last := 0, 0 // lines of the session that a key is about
	for i, r := range d.plan {
		if i == d.at {
			first = len(lines)
		}
		lines = append(lines, d.entry(t, r, i == d.at, width)...)
		if i == d.at {
			last = len(lines)
		}
	}
	const around = 8 // border, title, hints, what is said above them, and blank lines
	seen := min(max(h-around, 1), len(lines))
	d.top = min(d.top, first)
	d.top = max(min(max(d.top, last-seen), len(lines)-seen), 0)
	body := append([]string{}, lines[d.top:d.top+seen]...)
	body = append(body, "", clip(d.says(t), width))
	return frame(t, t.Dialog, clip(d.title(), width), strings.Join(body, "\n"), clip(d.foot(), width))
}

func (d *Recover) title() string {
	if d.rebooted {
		return "The machine went down. Bring the sessions back?"
	}
	return "Bring lost sessions back?"
}

func (d *Recover) says(t *style.Theme) string {
	switch {
	case d.over != "":
		return t.Tone(style.Strong).Render(d.over)
	case d.stopping:
		return t.Tone(style.Busy).Render("stopping: nothing more is started")
	case d.begun:
		return t.Tone(style.Busy).Render(fmt.Sprintf("bringing them back: %d of %d done", len(d.results), len(d.plan)-len(d.left)))
	}
	return t.Tone(style.Muted).Render(fmt.Sprintf("%d of %d are to be started, a few at a time, once you say y", d.count(), len(d.plan)))
}

func (d *Recover) foot() string {
	switch {
	case d.over != "":
		return hints(d.keys, keys.Recovery, keys.Down, keys.Up, keys.Cancel)
	case d.begun:
		return hints(d.keys, keys.Recovery, keys.Stop, keys.Down, keys.Up, keys.Cancel)
	}
	return hints(d.keys, keys.Recovery, keys.Yes, keys.Mark, keys.Down, keys.Up, keys.Cancel)
}

// entry is what is shown of one session: its title, how it comes back, and what does not.
func (d *Recover) entry(t *style.Theme, r sessions.Recovery, selected bool, width int) []string {
	title := sessions.CleanTitle(r.Session.Title)
	if title == "" {
		title = r.Session.ID.Short()
	}
	edge := "  "
	if selected {
		edge = t.Tone(style.Accent).Render("▌") + " "
	}
	mark, tone := d.mark(r)
	head := edge + t.Tone(tone).Render(mark) + " " + t.Tone(style.Strong).Render(title) + "  " +
		t.Tone(style.Muted).Render(sessions.CleanLine(r.Session.CWD, sessions.MaxPath))
	lines := []string{clip(head, width)}
	detail := func(tone style.Tone, text string) {
		if text == "" {
			return
		}
		parts := strings.Split(ansi.Wrap(text, max(width-6, 8), ""), "\n")
		if !selected { // one line is enough for those that nobody looks at
			parts = []string{clip(strings.Join(parts, " "), max(width-6, 8))}
		}
		for _, part := range parts {
			lines = append(lines, "      "+t.Tone(tone).Render(part))
		}
	}
	if res, done := d.results[r.Session.ID]; done {
		tone := style.Good
		if res.outcome == "failed" {
			tone = style.Bad
		}
		text := res.outcome
		if res.reason != "" {
			text += ": " + sessions.CleanLine(res.reason, 300)
		}
		detail(tone, text)
		return lines
	}
	if r.Problem != "" {
		detail(style.Bad, sessions.CleanLine(r.Problem, 400))
		return lines
	}
	detail(style.Muted, comesBack(r))
	if selected {
		detail(style.Muted, "runs "+sessions.CleanLine(strings.Join(r.Argv, " "), 400))
		detail(style.Muted, "does not come back: "+sessions.CleanLine(r.Lost, 200))
	}
	return lines
}

func (d *Recover) mark(r sessions.Recovery) (string, style.Tone) {
	res, done := d.results[r.Session.ID]
	switch {
	case done && res.outcome == "failed", r.Problem != "":
		return "✗", style.Bad
	case done && res.outcome == "skipped", d.left[r.Session.ID]:
		return "-", style.Muted
	case done && res.outcome == "unproven":
		return "?", style.Waiting
	case done:
		return "✓", style.Good
	}
	return "↺", style.Lost
}

// comesBack says how a session comes back.
func comesBack(r sessions.Recovery) string {
	switch r.Way {
	case "resume":
		text := "goes on with conversation " + sessions.CleanLine(r.ConversationID, 100)
		if r.LastPrompt != "" {
			text = fmt.Sprintf("goes on after %q, conversation %s", sessions.CleanLine(r.LastPrompt, 150), sessions.CleanLine(r.ConversationID, 100))
		}
		return text
	case "continue":
		return "goes on with the newest conversation of its directory"
	case "fresh":
		return "nothing was said in it yet: begins afresh"
	}
	if r.Session.Kind == sessions.KindShell {
		return "a fresh login shell"
	}
	return "is run again from its begin"
}
