package scrollback

import (
	"fmt"
	"regexp"
	"sort"
	"strings"

	"corral/vt"
)

// Pattern is what is searched for: the text itself, or a regular expression (RE2). It matches within one line, of which
// it does not matter whether it was wrapped.
type Pattern struct {
	Text   string
	Regexp bool
}

// find returns a function that finds the first match in a string, from and to negative when there is none.
func (p Pattern) find() (func(string) (from, to int), error) {
	if !p.Regexp {
		return func(s string) (int, int) {
			i := strings.Index(s, p.Text)
			return i, i + len(p.Text)
		}, nil
	}
	re, err := regexp.Compile(p.Text)
	if err != nil {
		return nil, fmt.Errorf("%q is no regular expression: %w", p.Text, err)
	}
	return func(s string) (int, int) {
		if at := re.FindStringIndex(s); at != nil {
			return at[0], at[1]
		}
		return -1, -1
	}, nil
}

// hit is a match: the cells of a line from one up to another.
type hit struct{ line, from, to int }

// hitsMost bounds the matches that are remembered.
const hitsMost = 100_000

// Search is a search that is still to be made. Run may be called from any goroutine.
type Search struct {
	pattern Pattern
	text    text
	number  int
}

// Found is what a search has found.
type Found struct {
	number int
	hits   []hit
	more   bool
}

// Run searches. It takes some milliseconds for each thousand lines with matches.
func (s *Search) Run() Found {
	out := Found{number: s.number}
	find, err := s.pattern.find()
	if err != nil {
		return out
	}
	for i := range s.text.len() {
		line := s.text.plain(i)
		if from, _ := find(line); from < 0 {
			continue
		}
		out.hits = appendHits(out.hits, i, s.text.cells(i), find)
		if len(out.hits) >= hitsMost {
			out.more = true
			break
		}
	}
	return out
}

// appendHits appends the matches in the cells of a line. Empty ones are none.
func appendHits(hits []hit, line int, cells []vt.Cell, find func(string) (int, int)) []hit {
	s := strings.TrimRight(plain(cells), " ")
	cell, at := 0, 0 // at is where the text of cell begins
	cellAt := func(off int) int {
		for cell < len(cells) && at+len(cells[cell].Text) <= off {
			at += len(cells[cell].Text)
			cell++
		}
		return cell
	}
	for pos := 0; pos < len(s); {
		from, to := find(s[pos:])
		if from < 0 {
			break
		}
		from, to = from+pos, to+pos
		if to == from {
			pos = to + 1
			continue
		}
		first := cellAt(from)
		last := cellAt(to - 1)
		for last+1 < len(cells) && cells[last+1].Width == 0 {
			last++
		}
		hits = append(hits, hit{line: line, from: first, to: last + 1})
		pos = to
	}
	return hits
}

// search is what is searched for and what was found.
type search struct {
	pattern Pattern
	number  int // of the search under way or done last
	running bool
	seek    bool // go to a match when it is done
	hits    []hit
	more    bool // than are remembered
	current int  // index into hits, -1 for none
}

// find begins a search. An empty pattern ends it.
func (v *View) find(p Pattern) {
	v.last = p
	if p.Text == "" {
		v.search = search{number: v.search.number + 1, current: -1}
		return
	}
	if v.deepen(stay) {
		v.search = search{pattern: p, number: v.search.number + 1, running: true, seek: true, current: -1}
		return // Set runs it
	}
	v.run(p, true)
}

func (v *View) run(p Pattern, seek bool) {
	s := &v.search
	seek = seek || s.seek
	v.search = search{pattern: p, number: s.number + 1, running: true, seek: seek, current: -1}
	v.errand.Search = &Search{pattern: p, text: v.text, number: v.search.number}
}

// Found takes what a search has found.
func (v *View) Found(f Found) {
	s := &v.search
	if f.number != s.number {
		return // of an earlier one
	}
	s.running, s.hits, s.more = false, f.hits, f.more
	if !s.seek {
		return
	}
	s.seek = false
	if len(s.hits) == 0 {
		v.notice = fmt.Sprintf("%s is nowhere in the history", quoted(s.pattern.Text))
		return
	}
	// The newest match that is not below the view: what is looked for is mostly in the past.
	end := v.after(v.top, v.h-1)
	v.goTo(max(sort.Search(len(s.hits), func(i int) bool { return s.hits[i].line > end.line })-1, 0))
}

// again goes to the next match: upwards, or down when up is false.
func (v *View) again(up bool) {
	s := &v.search
	switch {
	case s.pattern.Text == "":
		v.notice = "nothing is searched for; / asks what"
	case s.running:
	case len(s.hits) == 0:
		v.notice = fmt.Sprintf("%s is nowhere in the history", quoted(s.pattern.Text))
	case s.current < 0: // the snapshot has changed since
		i := sort.Search(len(s.hits), func(i int) bool { return s.hits[i].line >= v.top.line })
		if up {
			i--
		}
		v.goTo(min(max(i, 0), len(s.hits)-1))
	case up && s.current == 0:
		v.notice = "no older match"
	case !up && s.current == len(s.hits)-1:
		v.notice = "no newer match"
	case up:
		v.goTo(s.current - 1)
	default:
		v.goTo(s.current + 1)
	}
}

func (v *View) goTo(i int) {
	v.search.current = i
	h := v.search.hits[i]
	v.reveal(h.line, h.from)
	if s := v.selected; s != nil {
		s.cursor = spot{line: h.line, col: h.from}
	}
}

// hitsIn returns the matches in a line, and the index of the first of them.
func (s *search) hitsIn(line int) ([]hit, int) {
	first := sort.Search(len(s.hits), func(i int) bool { return s.hits[i].line >= line })
	end := first
	for end < len(s.hits) && s.hits[end].line == line {
		end++
	}
	return s.hits[first:end], first
}
