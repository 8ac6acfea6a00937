package sessionlist_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"corral/sessions"
	"corral/tui/sessionlist"
)

// various returns sessions that differ in all that the list can be sorted and narrowed by.
func various() []sessions.Session {
	var all []sessions.Session
	for i, s := range []struct {
		title, project string
		state          sessions.State
	}{
		{"build", "web", sessions.Running},
		{"agent", "web", sessions.WaitingForInput},
		{"tests", "api", sessions.Failed},
		{"notes", "", sessions.Detached},
		{"other agent", "api", sessions.WaitingForInput},
		{"lost", "", sessions.Recoverable},
	} {
		one := session(i, s.project)
		one.Title, one.State = s.title, s.state
		one.UpdatedAt = time.Unix(int64(1000-i), 0) // the other agent has waited longer
		all = append(all, one)
	}
	return all
}

// rows returns the titles and headings that are shown, but for the first heading.
func rows(p *sessionlist.Pane) string {
	var out []string
	for _, l := range plain(p)[1:] {
		l = strings.TrimLeft(l, " ▌")
		if _, title, ok := strings.Cut(l, " "); ok && strings.ContainsAny(l[:3], "●!✗○↺✓▶■…") {
			l = title
			for _, word := range []string{"RUNNING", "WAITING", "FAILED", "DETACHED", "RECOVERABLE", "STOPPED"} {
				l = strings.TrimSpace(strings.TrimSuffix(l, word))
			}
		}
		if l != "" {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
	}
	return strings.Join(out, ", ")
}

func TestOrders(t *testing.T) {
	t.Parallel()
	p := list(40, 20, various()...)
	for _, want := range []string{
		"notes, lost, api, tests, other agent, web, build, agent",
		"other agent, agent, lost, tests, notes, build",
		"running, build, detached, notes, waiting for input, other agent, agent, failed, tests, recoverable, lost",
		"lost, other agent, notes, tests, agent, build",
		"notes, lost, api, tests, other agent, web, build, agent",
	} {
		if got := rows(p); got != want {
			t.Errorf("%s\n got %s\nwant %s", plain(p)[0], got, want)
		}
		if s, _ := p.Selected(); s.Title != "notes" {
			t.Errorf("the selection moved to %q", s.Title)
		}
		p.Sort()
	}
	p.SetSize(24, 20)
	if head := plain(p)[0]; !strings.Contains(head, "by attention") || !strings.Contains(head, "2 waiting") {
		t.Errorf("the heading does not say how it is sorted: %q", head)
	}
}

func TestWhichIsOfInterest(t *testing.T) {
	t.Parallel()
	p := list(40, 20, various()...)
	for _, want := range []string{
		"wants you 4 of 6, lost, api, tests, other agent, web, agent",
		"live 4 of 6, notes, api, other agent, web, build, agent",
		"ended 2 of 6, lost, api, tests",
		"notes, lost, api, tests, other agent, web, build, agent",
	} {
		p.Next()
		if got := rows(p); got != want {
			t.Errorf(" got %s\nwant %s", got, want)
		}
	}
}

func TestFilterByWords(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0).Add(3 * 24 * time.Hour)
	old := session(9, "")
	old.Title, old.CreatedAt = "young", now.Add(-30*time.Minute)
	for typed, want := range map[string]string{
		"agent":        "api, other agent, web, agent",
		"AGENT -other": "web, agent",
		"web run":      "web, build",
		"recover":      "lost",
		"<1h":          "young",
		">2d agent":    "api, other agent, web, agent",
		">4d":          "",
		"<":            "notes, lost, young, api, tests, other agent, web, build, agent",
		"- > <x":       "notes, lost, young, api, tests, other agent, web, build, agent",
		"\xff\x1b[2J":  "",
	} {
		p := list(60, 20, append(various(), old)...)
		p.SetNow(now)
		p.Edit(true)
		for _, r := range typed {
			p.Type(string(r))
		}
		p.Edit(false)
		_, got, _ := strings.Cut(rows(p), " of 7")
		if got = strings.TrimPrefix(got, ", "); got != want {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
		if s, ok := p.Selected(); ok != (want != "") || ok && !strings.Contains(want, s.Title) {
			t.Errorf("%q: selected is %q", typed, s.Title)
		}
		p.ShowAll()
		if p.Narrowed() || len(p.Sessions()) != 7 {
			t.Errorf("%q: not everything is shown again", typed)
		}
	}
}

func TestWhatSomebodyWorksInIsNotHiddenByItsState(t *testing.T) {
	t.Parallel()
	all := various()
	p := list(40, 20, all...)
	p.Next()
	p.Select(all[1].ID)
	all[1].State = sessions.Running // it was answered
	p.Set(all)
	if s, _ := p.Selected(); s.Title != "agent" {
		t.Errorf("the selection moved to %q", s.Title)
	}
	p.Move(-1)
	p.Set(all)
	if got := rows(p); strings.Contains(got, "web") {
		t.Errorf("what was left still shows: %s", got)
	}
}

func number(id sessions.ID) (n int) {
	_, _ = fmt.Sscanf(string(id), "id-%d", &n)
	return n
}

func TestNarrowedListIsShownRight(t *testing.T) {
	t.Parallel()
	var all []sessions.Session
	for i := range 40 {
		all = append(all, session(i, ""))
	}
	p := list(24, 10, all...)
	p.Edit(true)
	p.Type("title")
	if x, y, ok := p.Cursor(); !ok || x != 7 || y != 1 {
		t.Errorf("the cursor is at %d,%d (%v)", x, y, ok)
	}
	for range all {
		lines := plain(p)
		if len(lines) != 10 || !strings.Contains(strings.Join(lines[2:], "\n"), "▌") {
			t.Fatalf("the selection is not shown:\n%s", strings.Join(lines, "\n"))
		}
		for y, l := range lines {
			if id, ok := p.At(y); ok != (y > 1) || ok && !strings.Contains(l+" ", fmt.Sprintf(" title %d ", number(id))) {
				t.Fatalf("line %d is %q, and At says %q", y, l, id)
			}
		}
		p.Move(1)
	}
	p.Type(strings.Repeat(" long", 60))
	if x, _, _ := p.Cursor(); x > 23 {
		t.Errorf("the cursor is outside: %d", x)
	}
}
