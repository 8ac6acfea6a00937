package scrollback

import (
	tea "github.com/charmbracelet/bubbletea"

	"corral/tui/keys"
	"corral/tui/prompt"
)

// Outcome says what a key press leads to.
type Outcome int

// The outcomes.
const (
	Stays  Outcome = iota
	Leaves         // the user is done
	Enters         // and wants to type into the session
)

// Asking reports whether a question waits for its answer, which may be pasted.
func (v *View) Asking() bool { return v.asked != nil }

// HandleKey takes one key press.
func (v *View) HandleKey(k tea.KeyMsg) Outcome {
	if v.asked != nil {
		v.answer(k)
		return Stays
	}
	if k.Paste {
		return Stays
	}
	a := v.keys.Lookup(keys.History, k.String())
	if a == keys.None {
		return Stays
	}
	v.notice = ""
	switch a {
	case keys.Leave:
		if v.selected != nil {
			v.selected = nil
			return Stays
		}
		return Leaves
	case keys.Accept:
		if v.selected == nil {
			return Enters
		}
		v.copy()
	case keys.Search:
		v.asked = &prompt.Line{Label: "search", Pattern: true, Regexp: v.last.Regexp}
	default:
		if v.selected == nil || !v.cursorKey(a) {
			v.act(a)
		}
	}
	return Stays
}

func (v *View) answer(k tea.KeyMsg) {
	q := v.asked
	switch q.HandleKey(v.keys, k) {
	case prompt.Typing:
	case prompt.Cancelled:
		v.asked = nil
	case prompt.Answered:
		p := Pattern{Text: q.Text, Regexp: q.Regexp}
		if _, err := p.find(); err != nil {
			q.Wrong = "that is no regular expression"
			return
		}
		v.asked = nil
		v.find(p)
	}
}

func (v *View) page() int { return max(v.h-1, 1) }
func (v *View) half() int { return max(v.h/2, 1) }

// act does what a key asks for while nothing is selected.
func (v *View) act(a keys.Action) {
	switch a {
	case keys.Down:
		v.Scroll(1)
	case keys.Up:
		v.Scroll(-1)
	case keys.PageDown:
		v.Scroll(v.page())
	case keys.PageUp:
		v.Scroll(-v.page())
	case keys.HalfDown:
		v.Scroll(v.half())
	case keys.HalfUp:
		v.Scroll(-v.half())
	case keys.Top:
		v.showTop()
		switch {
		case v.waiting:
			v.aim = goTop
		default:
			v.deepen(goTop)
		}
	case keys.Bottom:
		if v.noise && !v.waiting {
			v.want(max(v.text.past, 1), goEnd)
		}
		v.showEnd()
	case keys.Next:
		v.again(true)
	case keys.Previous:
		v.again(false)
	case keys.Select:
		v.selecting(false)
	case keys.SelectLines:
		v.selecting(true)
	case keys.Copy:
		v.copy()
	default: // the dashboard's
	}
}

// cursorKey does what a key means while there is a cursor, and reports whether it means something else than usual.
func (v *View) cursorKey(a keys.Action) bool {
	s := v.selected
	switch a {
	case keys.Down:
		v.step(1, 0)
	case keys.Up:
		v.step(-1, 0)
	case keys.PageDown:
		v.step(v.page(), 0)
	case keys.PageUp:
		v.step(-v.page(), 0)
	case keys.HalfDown:
		v.step(v.half(), 0)
	case keys.HalfUp:
		v.step(-v.half(), 0)
	case keys.Top:
		v.step(-s.cursor.line, 0)
	case keys.Bottom:
		v.step(v.text.len()-1-s.cursor.line, 0)
	case keys.Left:
		v.step(0, -1)
	case keys.Right:
		v.step(0, 1)
	case keys.LineStart:
		s.cursor.col = 0
		v.step(0, 0)
	case keys.LineEnd:
		s.cursor.col = max(len(v.text.cells(s.cursor.line))-1, 0)
		v.step(0, 0)
	case keys.WordRight, keys.WordLeft:
		s.cursor.col = wordFrom(v.text.cells(s.cursor.line), s.cursor.col, a == keys.WordRight)
		v.step(0, 0)
	case keys.OtherEnd:
		s.anchor, s.cursor = s.cursor, s.anchor
		v.step(0, 0)
	default:
		return false
	}
	return true
}
