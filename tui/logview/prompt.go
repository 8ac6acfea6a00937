package logview

import (
	"strconv"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"corral/tui/keys"
)

// promptMost bounds what can be typed, in bytes.
const promptMost = 4096

// prompt is a question in the status line.
type prompt struct {
	about  keys.Action
	text   string
	regexp bool
	wrong  string // why the answer cannot be taken
}

// label is what stands before the answer.
func (q *prompt) label() string {
	kind := ""
	if q.regexp {
		kind = " regexp"
	}
	switch q.about {
	case keys.Search:
		return "search" + kind + ": "
	case keys.Filter:
		return "show lines with" + kind + ": "
	case keys.Goto:
		return "go to line, 50% or 15:04: "
	case keys.Save:
		return "save to: "
	default:
		return ": "
	}
}

// Asking reports whether a question waits for its answer, which may be pasted.
func (p *Pane) Asking() bool { return p.prompt != nil }

func (p *Pane) ask(about keys.Action) {
	p.prompt = &prompt{about: about, regexp: p.last.Regexp && about != keys.Goto && about != keys.Save}
}

// answer takes a key while a question is asked.
func (p *Pane) answer(k tea.KeyMsg) {
	q := p.prompt
	q.wrong = ""
	switch p.cfg.Keys.Lookup(keys.Prompt, k.String()) {
	case keys.Cancel:
		p.prompt = nil
		return
	case keys.Accept:
		p.accept(q)
		return
	case keys.Regexp:
		if q.about == keys.Search || q.about == keys.Filter {
			q.regexp = !q.regexp
		}
		return
	case keys.Erase:
		_, n := utf8.DecodeLastRuneInString(q.text)
		q.text = q.text[:len(q.text)-n]
		return
	case keys.EraseAll:
		q.text = ""
		return
	default:
	}
	if k.Type != tea.KeyRunes && k.Type != tea.KeySpace || k.Alt {
		return
	}
	typed := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return -1
		}
		return r
	}, string(k.Runes))
	if len(q.text)+len(typed) <= promptMost {
		q.text += typed
	}
}

// accept takes the answer. What cannot be is said at once, and can be mended.
func (p *Pane) accept(q *prompt) {
	var c command
	switch q.about {
	case keys.Search, keys.Filter:
		pattern := Pattern{Text: q.text, Regexp: q.regexp}
		if _, err := newMatcher(&text{}, pattern); err != nil {
			q.wrong = "that is no regular expression"
			return
		}
		c = func(e *engine) { e.find(pattern) }
		if q.about == keys.Filter {
			c = func(e *engine) { e.narrow(pattern) }
		}
		p.last = pattern
	case keys.Goto:
		if c = gotoCommand(strings.TrimSpace(q.text)); c == nil {
			q.wrong = "a line's number, a part as 50%, or a time as 15:04"
			return
		}
	case keys.Save:
		if !strings.HasPrefix(q.text, "/") {
			q.wrong = "an absolute path, please"
			return
		}
		path := q.text
		c = func(e *engine) { e.save(path) }
	default:
		p.prompt = nil
		return
	}
	p.prompt = nil
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
