package tui_test

import (
	"fmt"
	"testing"
	"time"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
)

// sizes are those that the dashboard must look good at; the first one is too small for it.
var sizes = []struct{ cols, rows int }{{40, 10}, {40, 12}, {80, 24}, {120, 40}, {200, 50}}

func inEverySize(t *testing.T, name string, draw func(t *testing.T, cols, rows int) *dashboard) {
	t.Helper()
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.cols, size.rows), func(t *testing.T) {
			t.Parallel()
			d := draw(t, size.cols, size.rows)
			tuitest.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.cols, size.rows), d.display.Text())
		})
	}
}

// everyState returns one session in each state, in two projects and none.
func everyState() []sessions.Session {
	var all []sessions.Session
	titles := []string{"starts up", "build server", "notes", "claude: fix the parser", "winds down", "done", "tests", "日本語のセッション with a long title"}
	for i, state := range sessions.States() {
		s := session(i+1, titles[i], state)
		s.CWD = fmt.Sprintf("/home/me/projects/number-%d/with/a/rather/long/path", i+1)
		switch state {
		case sessions.Failed:
			code := 7
			s.ExitCode = &code
		case sessions.Recoverable:
			s.StateReason = "tmux server 4711 is gone"
		case sessions.Running, sessions.WaitingForInput:
			s.Project = "corral"
		case sessions.Detached, sessions.Stopped:
			s.Project = "website"
		case sessions.Starting, sessions.Stopping:
		}
		all = append(all, s)
	}
	return all
}

func TestGoldenDashboard(t *testing.T) {
	t.Parallel()
	inEverySize(t, "dashboard", func(t *testing.T, cols, rows int) *dashboard {
		d := open(t, cols, rows, tui.Config{StartSelected: session(2, "", "").ID}, &tuitest.Backend{})
		d.tell(everyState()...)
		if rows >= 12 {
			s := d.stream(session(2, "", "").ID, 1)
			s.Live(80, 24, "$ make build\r\ngo build -o bin/corral ./cmd/corral\r\n$ ")
			d.shows("go build")
		}
		return d
	})
}

func TestGoldenEmpty(t *testing.T) {
	t.Parallel()
	inEverySize(t, "empty", func(t *testing.T, cols, rows int) *dashboard { return with(t, cols, rows) })
}

func TestGoldenNewSession(t *testing.T) {
	t.Parallel()
	inEverySize(t, "new", func(t *testing.T, cols, rows int) *dashboard {
		b := &tuitest.Backend{OnDirectories: func(string) ([]string, error) {
			return []string{"/home/me/projects", "/home/me/pictures", "/home/me/public"}, nil
		}}
		d := open(t, cols, rows, tui.Config{CWD: "/home/me/p"}, b)
		d.tell()
		d.Press("n")
		d.Type("work")
		d.Press("down")
		if rows >= 24 {
			d.shows("/home/me/pictures")
		}
		return d
	})
}

func TestGoldenHelp(t *testing.T) {
	t.Parallel()
	inEverySize(t, "help", func(t *testing.T, cols, rows int) *dashboard {
		d := with(t, cols, rows, session(1, "one", sessions.Starting))
		d.Press("?")
		return d
	})
}

func TestGoldenDetails(t *testing.T) {
	t.Parallel()
	inEverySize(t, "details", func(t *testing.T, cols, rows int) *dashboard {
		one := everyState()[7]
		b := &tuitest.Backend{OnEvents: func(sessions.ID) ([]sessions.Event, error) {
			return []sessions.Event{
				{At: birth, Actor: sessions.ActorUser, To: sessions.Starting, Reason: "created"},
				{At: birth.Add(time.Second), Actor: sessions.ActorServer, From: sessions.Starting, To: sessions.Detached, Reason: "the program runs"},
				{
					At: birth.Add(time.Hour), Actor: sessions.ActorReconciler, From: sessions.Detached, To: sessions.Recoverable,
					Reason: "the host's tmux server ended", Evidence: "tmux server 4711 does not know it",
				},
			}, nil
		}}
		d := open(t, cols, rows, tui.Config{}, b)
		d.tell(one)
		d.Press("i")
		if rows >= 24 {
			d.shows("What led here")
			d.Until("the events", func() bool { return len(d.backend.Calls()) == 1 && d.Running() == 0 })
			d.shows("by reconciler")
		}
		return d
	})
}

func TestGoldenQuestion(t *testing.T) {
	t.Parallel()
	inEverySize(t, "question", func(t *testing.T, cols, rows int) *dashboard {
		d := with(t, cols, rows, session(1, "one", sessions.Starting))
		d.Press("x")
		return d
	})
}

func TestGoldenEnded(t *testing.T) {
	t.Parallel()
	inEverySize(t, "ended", func(t *testing.T, cols, rows int) *dashboard {
		code := 7
		one := session(1, "one", sessions.Failed)
		one.ExitCode = &code
		d := with(t, cols, rows, one)
		if rows >= 12 {
			s := d.stream(one.ID, 1)
			s.Live(60, 20, "last words")
			s.End(sessions.Failed, 7)
			d.shows("last words")
			d.shows("exited 7")
		}
		return d
	})
}
