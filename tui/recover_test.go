package tui_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
)

func lostSession(id, title string) sessions.Session {
	s := agentSession(id, title)
	s.State, s.StateReason = sessions.Recoverable, "its tmux server went down"
	return s
}

func planned(s sessions.Session, rebooted bool) sessions.Recovery {
	return sessions.Recovery{
		Session: s, Way: "resume", ConversationID: "conv-" + string(s.ID), LastPrompt: "mend the " + s.Title, Hooks: true,
		Argv: []string{"claude", "--resume", "conv-" + string(s.ID)}, Lost: "a turn that was cut off", Rebooted: rebooted,
	}
}

// After a reboot the first screen is the plan of what was lost. Nothing starts without a yes.
func TestFirstScreenAfterAReboot(t *testing.T) {
	t.Parallel()
	a, b, c := lostSession("a", "ant"), lostSession("b", "bee"), lostSession("c", "cat")
	var mu sync.Mutex
	var started []string
	backend := &tuitest.Backend{}
	backend.OnRecovery = func() ([]sessions.Recovery, error) {
		bad := planned(c, true)
		bad.Problem = "the conversation conv-c is not in /home/me/.claude any more"
		return []sessions.Recovery{planned(a, true), planned(b, true), bad}, nil
	}
	backend.OnRestartIn = func(id sessions.ID, _ sessions.ConversationChoice) (sessions.Session, error) {
		mu.Lock()
		defer mu.Unlock()
		started = append(started, string(id))
		s := agentSession(string(id), map[sessions.ID]string{"a": "ant", "b": "bee"}[id])
		s.UpdatedAt = time.Now()
		s.Agent = &sessions.Agent{State: sessions.AgentWaiting, HookAt: time.Now().Add(time.Second), ConversationID: "conv-" + string(id)}
		return s, nil
	}
	d := open(t, 120, 40, tui.Config{}, backend)
	before := a
	before.State = sessions.Detached
	d.tell(before) // the server has not yet seen that it is gone
	d.tell(a, b, c)
	d.sees("The machine went down. Bring the sessions back?")
	d.sees(`goes on after "mend the ant", conversation conv-a`)
	d.sees("is not in /home/me/.claude any more")
	d.sees("2 of 3 are to be started")
	tuitest.Golden(t, "recover", d.display.Text())
	if len(backend.Calls()) != 0 {
		t.Fatalf("before any yes: %v", backend.Calls())
	}
	d.Press("j", " ")
	d.sees("1 of 3 are to be started")
	d.Press(" ", "y")
	d.sees("2 brought back, 1 left as they were")
	d.sees("proven")
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(started)
	if !slices.Equal(started, []string{"a", "b"}) {
		t.Errorf("started %v", started)
	}
}

func TestALossWithoutARebootIsOnlyTold(t *testing.T) {
	t.Parallel()
	a := lostSession("a", "ant")
	backend := &tuitest.Backend{OnRecovery: func() ([]sessions.Recovery, error) {
		return []sessions.Recovery{planned(a, false)}, nil
	}}
	d := open(t, 120, 40, tui.Config{}, backend)
	d.tell(a)
	d.sees("1 lost; B says how to bring them back")
	d.Press("B")
	d.sees("Bring lost sessions back?")
	d.Press("esc")
	if strings.Contains(d.display.Text(), "Bring lost") || len(backend.Calls()) != 0 {
		t.Errorf("after esc: %v\n%s", backend.Calls(), d.display.Text())
	}
}

// A restart that would begin a blank conversation is refused, and the dialog has what there is instead.
func TestRefusedRestartOffersChoices(t *testing.T) {
	t.Parallel()
	a := agentSession("a", "ant")
	a.State = sessions.Failed
	backend := &tuitest.Backend{}
	backend.OnRestart = func(sessions.ID) (sessions.Session, error) {
		return sessions.Session{}, &sessions.Error{
			Code: sessions.CodeConflict, Message: "the conversation is gone",
			Details: map[string]any{sessions.DetailChoices: []any{
				map[string]any{"conversation": "latest", "conversationId": "x", "lastPrompt": "mend it"},
				map[string]any{"conversation": "fresh"},
			}},
		}
	}
	d := open(t, 120, 40, tui.Config{}, backend)
	d.tell(a)
	d.Press("R")
	d.sees(`Restart "ant" in which conversation?`)
	d.sees("mend it")
	d.Press("x") // no choice
	d.Press("l")
	d.Until("the restart", func() bool { return slices.Contains(backend.Calls(), "restart latest") })
	if calls := backend.Calls(); !slices.Equal(calls, []string{"restart", "restart latest"}) {
		t.Errorf("calls %v", calls)
	}
}
