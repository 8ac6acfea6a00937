package tui_test

import (
	"strings"
	"testing"
	"time"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
	"corral/tui/terminal"
)

// waits makes a session wait for something since a moment.
func waits(s sessions.Session, why, prompt string, since time.Time) sessions.Session {
	s.State, s.StateReason = sessions.WaitingForInput, why
	s.Agent = &sessions.Agent{State: sessions.AgentWaiting, For: why, Prompt: prompt, Since: since}
	s.UpdatedAt = since
	return s
}

func works(s sessions.Session) sessions.Session {
	s.State, s.Agent = sessions.Detached, &sessions.Agent{State: sessions.AgentWorking}
	return s
}

func agentSession(id, title string) sessions.Session {
	return sessions.Session{
		ID: sessions.ID(id), Title: title, Kind: sessions.KindClaude, CWD: "/srv/" + title, State: sessions.Detached,
		CreatedAt: time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC).Add(time.Duration(id[0]) * time.Second),
	}
}

// w goes to whoever has waited longest, then to the next one, and says what for.
func TestWGoesToWhoWaitedLongest(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 11, 30, 0, 0, time.UTC)
	a, b, c := agentSession("a", "ant"), agentSession("b", "bee"), agentSession("c", "cat")
	d := with(t, 120, 24, a, b, c)
	d.Press("w")
	d.sees("nothing waits for you")
	d.change(waits(b, "turn ended", "which of the two?", at.Add(time.Minute)))
	d.change(waits(c, "permission", "may it run rm -rf build?", at))
	d.Press("w")
	d.sees("cat waits, permission: may it run rm -rf build?")
	if text := d.display.Text(); !strings.Contains(strings.Split(text, "\n")[0], "cat") || !strings.Contains(strings.Split(text, "\n")[0], "rm -rf build?") {
		t.Errorf("the header does not say what cat asks:\n%s", text)
	}
	d.Press("w")
	d.sees("bee waits, turn ended: which of the two?")
	d.Press("w")
	d.sees("cat waits")
}

// sees waits for a text on the screen.
func (d *dashboard) sees(text string) {
	d.t.Helper()
	d.Until(text, func() bool { return strings.Contains(d.display.Text(), text) })
}

// The terminal calls once for each session that begins to wait, and never for the one that the user types into.
func TestTerminalCallsOncePerWait(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 11, 30, 0, 0, time.UTC)
	a, b := agentSession("a", "ant"), waits(agentSession("b", "bee"), "permission", "x", at)
	d := open(t, 120, 24, tui.Config{Notify: terminal.Notice{Bell: true, OSC: terminal.OSC9}}, &tuitest.Backend{})
	d.tell(a, b) // bee waited before the dashboard was opened
	count := func(want int, after string) {
		t.Helper()
		if got := d.display.Notices(); len(got) != want {
			t.Errorf("after %s: %d notices, want %d: %+v", after, len(got), want, got)
		}
	}
	count(0, "the first list")
	d.change(waits(a, "turn ended", "done; what next?", at))
	count(1, "a turn's end")
	if n := d.display.Notices()[0]; !n.Bell || n.OSC != terminal.OSC9 || n.Text != "ant: turn ended: done; what next?" {
		t.Errorf("notice %+v", n)
	}
	d.change(waits(a, "turn ended", "done; what next?", at)) // told again, as after a reconnect
	d.tell(waits(a, "turn ended", "done; what next?", at), b)
	count(1, "the same told again")
	d.change(works(a))
	d.change(waits(a, "permission", "rm?", at.Add(time.Minute)))
	count(2, "a question")
	d.change(works(b))
	d.Press("j") // bee
	d.Until("bee is shown", func() bool { return len(d.backend.Streams()) > 1 })
	d.Press("enter")
	d.change(waits(b, "turn ended", "done", at.Add(time.Hour)))
	count(2, "a wait of the session that has the keyboard")
	starting := agentSession("c", "cat")
	starting.State = sessions.Starting
	d.backend.Tell(sessions.Change{Type: sessions.ChangeSession, Session: &starting})
	d.Until("cat", func() bool { return len(d.app.Sessions()) == 3 })
	d.change(waits(starting, "prompt", "", at))
	count(2, "an agent's start")
}

// What was finished while nobody looked is marked until somebody does.
func TestUnseenWorkIsMarked(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 11, 30, 0, 0, time.UTC)
	a, b := agentSession("a", "ant"), agentSession("b", "bee")
	d := with(t, 120, 24, a, b)
	marked := func(title string) bool {
		for _, line := range strings.Split(d.display.Text(), "\n") {
			if i := strings.Index(line, title); i >= 0 && i < 30 {
				return strings.HasPrefix(line, "•")
			}
		}
		return false
	}
	d.change(waits(a, "turn ended", "x", at)) // ant is selected: somebody looks
	d.change(waits(b, "turn ended", "y", at))
	if marked("ant") || !marked("bee") {
		t.Errorf("marks:\n%s", d.display.Text())
	}
	d.Press("j")
	d.Press("k")
	if marked("bee") {
		t.Errorf("bee is marked after it was looked at:\n%s", d.display.Text())
	}
	b = works(b)
	d.change(b)
	b.State = sessions.Failed
	b.Agent = nil
	d.change(b)
	if !marked("bee") {
		t.Errorf("an end that nobody saw is not marked:\n%s", d.display.Text())
	}
}

// A command that is an agent's name makes a session of that agent, which can be brought back.
func TestAnAgentIsMadeByItsName(t *testing.T) {
	t.Parallel()
	made := make(chan sessions.CreateRequest, 1)
	backend := &tuitest.Backend{OnCreate: func(r sessions.CreateRequest) (sessions.Session, error) {
		made <- r
		return sessions.Session{ID: "x"}, nil
	}}
	d := open(t, 120, 24, tui.Config{Agents: []sessions.Kind{"claude", "mine"}}, backend)
	d.tell()
	d.Press("n")
	d.Press("down", "down")
	d.Type("mine --fast")
	d.Press("enter")
	d.Until("the request", func() bool { return len(made) == 1 })
	if r := <-made; r.Kind != "mine" || len(r.Args) != 1 || r.Args[0] != "--fast" {
		t.Errorf("%+v", r)
	}
}
