package sessionlist

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/style"
)

// Which says what is of interest.
type Which string

// What can be of interest.
const (
	All       Which = ""
	Attention Which = "wants you" // waiting, recoverable or failed; tasks that ended and were not looked at
	Live      Which = "live"
	Ended     Which = "ended"
)

// Next goes on to what is of interest next.
func (p *Pane) Next() {
	switch p.which {
	case All:
		p.which = Attention
	case Attention:
		p.which = Live
	case Live:
		p.which = Ended
	case Ended:
		p.which = All
	}
	p.kept = ""
	p.arrange()
}

func (w Which) session(s sessions.Session) bool {
	switch w {
	case Attention:
		return wants(s) < calm
	case Live:
		return s.State.Live()
	case Ended:
		return s.State.Ended()
	case All:
	}
	return true
}

func (w Which) task(t sessions.Task, calling bool) bool {
	switch w {
	case Attention:
		return calling
	case Live:
		return !t.State.Ended()
	case Ended:
		return t.State.Ended()
	case All:
	}
	return true
}

// filter hides what does not have all of its words. The zero value hides nothing.
type filter struct {
	text           string
	words, without []string      // in lower case
	younger, older time.Duration // 0: of any age
}

// newFilter reads what was typed. A word may be an age, as <2h or >3d, or be forbidden, as -failed. One that is only just
// begun hides nothing.
func newFilter(text string) filter {
	f := filter{text: text}
	for _, w := range strings.Fields(strings.ToLower(text)) {
		switch rest := w[1:]; {
		case w[0] == '<' || w[0] == '>':
			d := parseAge(rest)
			if w[0] == '<' {
				f.younger = d
			} else {
				f.older = d
			}
		case w[0] != '-':
			f.words = append(f.words, w)
		case rest != "":
			f.without = append(f.without, rest)
		}
	}
	return f
}

// parseAge reads an age as 30m, 2h or 3d; 0 when it cannot be read.
func parseAge(s string) time.Duration {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 1e5 {
			return time.Duration(n * 24 * float64(time.Hour))
		}
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0
	}
	return max(d, 0)
}

func (f filter) session(s sessions.Session, now time.Time) bool {
	return f.text == "" || f.match(now.Sub(s.CreatedAt), s.Title, s.Project, s.CWD, string(s.State), string(s.Kind), string(s.ID))
}

func (f filter) task(t sessions.Task, now time.Time) bool {
	return f.text == "" || f.match(now.Sub(t.CreatedAt), t.Title, t.Group, t.CWD, string(t.State), "task", string(t.ID))
}

func (f filter) match(age time.Duration, texts ...string) bool {
	if f.younger > 0 && age >= f.younger || f.older > 0 && age <= f.older {
		return false
	}
	all := strings.ToLower(strings.Join(texts, "\n"))
	for _, w := range f.words {
		if !strings.Contains(all, w) {
			return false
		}
	}
	for _, w := range f.without {
		if strings.Contains(all, w) {
			return false
		}
	}
	return true
}

// filterMost bounds what can be typed, in bytes.
const filterMost = 200

// Edit begins or ends the typing of the filter, which is shown while it is typed.
func (p *Pane) Edit(on bool) {
	p.editing = on
	p.follow()
}

// Editing reports whether the filter is being typed.
func (p *Pane) Editing() bool { return p.editing }

// Type adds to the filter.
func (p *Pane) Type(text string) {
	if text = p.filter.text + text; len(text) <= filterMost {
		p.narrow(text)
	}
}

// Erase takes back the filter's last character.
func (p *Pane) Erase() {
	_, n := utf8.DecodeLastRuneInString(p.filter.text)
	p.narrow(p.filter.text[:len(p.filter.text)-n])
}

// EraseAll takes back all that was typed.
func (p *Pane) EraseAll() { p.narrow("") }

// ShowAll shows everything again.
func (p *Pane) ShowAll() {
	p.which, p.editing = All, false
	p.narrow("")
}

func (p *Pane) narrow(text string) {
	p.filter, p.kept = newFilter(text), ""
	p.arrange()
}

// Narrowed reports whether something may be hidden.
func (p *Pane) Narrowed() bool { return p.which != All || strings.TrimSpace(p.filter.text) != "" }

// head is how many lines stand over the rows.
func (p *Pane) head() int {
	if p.editing || p.Narrowed() {
		return 2
	}
	return 1
}

// Cursor returns where in the area the filter is being typed.
func (p *Pane) Cursor() (x, y int, ok bool) {
	return min(ansi.StringWidth(p.asked()), max(p.w-1, 0)), 1, p.editing && p.h > 1
}

// asked is what hides rows, in words, cut at its begin to leave room for what is typed next.
func (p *Pane) asked() string {
	var parts []string
	if p.which != All {
		parts = append(parts, string(p.which))
	}
	if p.editing || p.filter.text != "" {
		parts = append(parts, "/"+sessions.CleanLine(p.filter.text, filterMost))
		if p.editing && strings.HasSuffix(p.filter.text, " ") {
			parts[len(parts)-1] += " "
		}
	}
	text := " " + strings.Join(parts, " ")
	if over := ansi.StringWidth(text) - (p.w - 1); p.editing && over > 0 {
		text = ansi.TruncateLeft(text, over+1, "…")
	}
	return text
}

// filterLine says what hides rows, and how many are left.
func (p *Pane) filterLine() string {
	left, right := p.asked(), fmt.Sprintf("%d of %d ", len(p.ids), len(p.all)+len(p.allTasks))
	gap := p.w - ansi.StringWidth(left) - ansi.StringWidth(right)
	if gap < 1 {
		return p.theme.Tone(style.Accent).Render(pad(left, p.w))
	}
	return p.theme.Tone(style.Accent).Render(left) + strings.Repeat(" ", gap) + p.theme.Tone(style.Muted).Render(right)
}
