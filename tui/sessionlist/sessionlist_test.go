package sessionlist_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/sessionlist"
	"corral/tui/style"
)

func list(w, h int, all ...sessions.Session) *sessionlist.Pane {
	p := sessionlist.New(style.New(true, style.Full))
	p.SetSize(w, h)
	p.Set(all)
	return p
}

func session(n int, project string) sessions.Session {
	return sessions.Session{
		ID: sessions.ID(fmt.Sprintf("id-%02d", n)), Title: fmt.Sprintf("title %d", n), Project: project,
		State: sessions.Running, CreatedAt: time.Unix(int64(n), 0),
	}
}

func plain(p *sessionlist.Pane) []string {
	lines := p.View()
	for i := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(lines[i]), " ")
	}
	return lines
}

func TestOrderIsByProjectThenAge(t *testing.T) {
	t.Parallel()
	p := list(20, 10, session(4, "b"), session(3, "a"), session(2, "b"), session(1, ""), session(5, "a"))
	want := []string{" Sessions         5", "▌● title 1", " a", " ● title 3", " ● title 5", " b", " ● title 2", " ● title 4", "", ""}
	if got := plain(p); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestStateChangesMoveNothing(t *testing.T) {
	t.Parallel()
	one, two := session(1, ""), session(2, "")
	p := list(30, 10, one, two)
	p.Select(two.ID)
	one.State = sessions.WaitingForInput
	two.State = sessions.Failed
	p.Set([]sessions.Session{two, one})
	got := plain(p)
	if !strings.Contains(got[1], "! title 1") || !strings.Contains(got[2], "✗ title 2") || !strings.HasPrefix(got[2], "▌") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestSelectionStaysWithItsSession(t *testing.T) {
	t.Parallel()
	all := []sessions.Session{session(1, ""), session(2, ""), session(3, ""), session(4, "")}
	p := list(30, 10, all...)
	p.Move(2)
	check := func(want sessions.ID) {
		t.Helper()
		if s, ok := p.Selected(); !ok || s.ID != want {
			t.Errorf("selected %q, want %q", s.ID, want)
		}
	}
	check("id-03")
	p.Set(append([]sessions.Session{session(0, "")}, all...)) // one before it
	check("id-03")
	p.Set([]sessions.Session{all[0], all[1], all[3]}) // it vanishes
	check("id-04")
	p.Set([]sessions.Session{all[0], all[1]}) // the last one vanishes
	check("id-02")
	p.Set(nil)
	if _, ok := p.Selected(); ok {
		t.Error("something is selected in an empty list")
	}
	p.Set(all)
	check("id-01")
}

func TestMovingStopsAtTheEnds(t *testing.T) {
	t.Parallel()
	p := list(30, 10, session(1, ""), session(2, ""))
	for _, step := range []struct {
		do   func()
		want sessions.ID
	}{
		{func() { p.Move(-1) }, "id-01"},
		{func() { p.Move(1) }, "id-02"},
		{func() { p.Move(1) }, "id-02"},
		{p.First, "id-01"},
		{p.Last, "id-02"},
	} {
		step.do()
		if s, _ := p.Selected(); s.ID != step.want {
			t.Errorf("selected %q, want %q", s.ID, step.want)
		}
	}
	empty := list(30, 10)
	empty.Move(1)
	empty.First()
	empty.Last()
}

func TestSelectedRowIsAlwaysShown(t *testing.T) {
	t.Parallel()
	var all []sessions.Session
	for i := range 50 {
		all = append(all, session(i, fmt.Sprintf("project %d", i/10)))
	}
	for h := 2; h < 12; h++ {
		p := list(30, h, all...)
		for range 2 {
			for i := range all {
				lines := plain(p)
				if !strings.Contains(strings.Join(lines[1:], "\n"), "▌") {
					t.Fatalf("height %d: selected row %d is not shown:\n%s", h, i, strings.Join(lines, "\n"))
				}
				p.Move(1)
			}
			p.First()
		}
	}
}

func TestEveryLineIsExactlyAsWide(t *testing.T) {
	t.Parallel()
	odd := session(1, "プロジェクト")
	odd.Title = "日本語のタイトル 👩‍👩‍👧 and more and more"
	odd.State = sessions.Recoverable
	code := 137
	failed := session(2, "")
	failed.State, failed.ExitCode = sessions.Failed, &code
	for w := 3; w < 40; w++ {
		p := list(w, 6, odd, failed, session(3, ""))
		lines := p.View()
		if len(lines) != 6 {
			t.Fatalf("width %d: %d lines", w, len(lines))
		}
		for _, l := range lines {
			if got := ansi.StringWidth(l); got != w && w >= 6 {
				t.Errorf("width %d: line is %d wide: %q", w, got, ansi.Strip(l))
			}
		}
	}
}

func TestAtFindsWhatIsShown(t *testing.T) {
	t.Parallel()
	p := list(30, 6, session(1, ""), session(2, "a"))
	for y, want := range []sessions.ID{"", "id-01", "", "id-02", "", ""} {
		if got, _ := p.At(y); got != want {
			t.Errorf("At(%d) = %q, want %q", y, got, want)
		}
	}
	if _, ok := p.At(-1); ok {
		t.Error("At(-1) found something")
	}
}

func TestHostileTitlesAreCleaned(t *testing.T) {
	t.Parallel()
	s := session(1, "a\x1b[31m")
	s.Title = "x\x1b]0;y\x07\nz"
	for _, l := range plain(list(30, 5, s)) {
		if strings.ContainsAny(l, "\x1b\x07\n") {
			t.Errorf("%q", l)
		}
	}
}

func TestEmptyAreaIsNoTrouble(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 0}, {0, 5}, {5, 0}, {-1, -1}, {1, 1}} {
		list(size[0], size[1], session(1, "a")).View()
	}
}
