package logview

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"corral/tui/keys"
	"corral/tui/prompt"
)

// question is what the status line asks for.
type question struct {
	prompt.Line
	about keys.Action
}

// label is what stands before the answer.
func label(about keys.Action) string {
	switch about {
	case keys.Search:
		return "search"
	case keys.Filter:
		return "show lines with"
	case keys.Goto:
		return "go to line, 50% or 15:04"
	case keys.Save:
		return "save to"
	default:
		return ""
	}
}

// Asking reports whether a question waits for its answer, which may be pasted.
func (p *Pane) Asking() bool { return p.asked != nil }

func (p *Pane) ask(about keys.Action) {
	pattern := about == keys.Search || about == keys.Filter
	p.asked = &question{
		Line:  prompt.Line{Label: label(about), Pattern: pattern, Regexp: p.last.Regexp && pattern},
		about: about,
	}
}

// answer takes a key while a question is asked.
func (p *Pane) answer(k tea.KeyMsg) {
	switch q := p.asked; q.HandleKey(p.cfg.Keys, k) {
	case prompt.Typing:
	case prompt.Cancelled:
		p.asked = nil
	case prompt.Answered:
		p.accept(q)
	}
}

// accept takes the answer. What cannot be is said at once, and can be mended.
func (p *Pane) accept(q *question) {
	var c command
	switch q.about {
	case keys.Search, keys.Filter:
		pattern := Pattern{Text: q.Text, Regexp: q.Regexp}
		if _, err := newMatcher(&text{}, pattern); err != nil {
			q.Wrong = "that is no regular expression"
			return
		}
		c = func(e *engine) { e.find(pattern) }
		if q.about == keys.Filter {
			c = func(e *engine) { e.narrow(pattern) }
		}
		p.last = pattern
	case keys.Goto:
		if c = gotoCommand(strings.TrimSpace(q.Text)); c == nil {
			q.Wrong = "a line's number, a part as 50%, or a time as 15:04"
			return
		}
	case keys.Save:
		if !strings.HasPrefix(q.Text, "/") {
			q.Wrong = "an absolute path, please"
			return
		}
		path := q.Text
		c = func(e *engine) { e.save(path) }
	default:
		p.asked = nil
		return
	}
	p.asked = nil
	p.tell(func(e *engine) {
		e.notice = ""
		c(e)
	})
}

// gotoCommand reads where to go, nil when it cannot be read.
func gotoCommand(where string) command {
	if part, ok := strings.CutSuffix(where, "%"); ok {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 100 {
			return nil
		}
		return func(e *engine) { e.showPercent(n) }
	}
	if strings.Contains(where, ":") {
		return gotoTime(where)
	}
	n, err := strconv.ParseInt(where, 10, 64)
	if err != nil || n < 1 {
		return nil
	}
	return func(e *engine) { e.do(gotoLine{number: n}) }
}
