package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/e2e/standin"
	"corral/sessions"
)

// withClaude gives a Corral's user the stand-in, in the PATH that a login shell has.
func withClaude(t testing.TB, c *harness.Corral) {
	t.Helper()
	standin.Install(t, filepath.Join(c.Home, "bin"))
	inPath(t, c, filepath.Join(c.Home, "bin"))
}

func inPath(t testing.TB, c *harness.Corral, dir string) {
	t.Helper()
	profile := "PS1='" + harness.Prompt + " '\nPATH='" + dir + "':$PATH\n"
	if err := os.WriteFile(filepath.Join(c.Home, ".bash_profile"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
}

// waits waits until the session waits for one of these reasons.
func waits(c *harness.Corral, id sessions.ID, reasons ...string) sessions.Session {
	c.T.Helper()
	var s sessions.Session
	c.Eventually(harness.Soon, func() error {
		s = c.Session(id)
		if s.State != sessions.WaitingForInput || s.Agent == nil || !slices.Contains(reasons, s.StateReason) {
			return fmt.Errorf("it is %s (%s), %+v", s.State, s.StateReason, s.Agent)
		}
		return nil
	})
	if rounds.Timing() {
		promptly(c, s)
	}
	return s
}

// promptly checks that a session began to wait within 2 s of the evidence.
func promptly(c *harness.Corral, s sessions.Session) {
	c.T.Helper()
	var events []sessions.Event
	c.JSON(&events, "events", string(s.ID))
	slices.Reverse(events)
	for _, e := range events {
		if e.From == e.To {
			continue
		}
		took := e.At.Sub(s.Agent.Since)
		c.T.Logf("%s %v after the evidence (%s)", e.Reason, took.Round(time.Millisecond), s.Agent.Evidence)
		if e.To == sessions.WaitingForInput && took > 2*time.Second {
			c.T.Errorf("%s was seen %v after the evidence", e.Reason, took)
		}
		return
	}
}

// TestAgents follows one session of an agent through its life: what it asks is shown, its conversation is followed, a
// killed runtime changes nothing, and after the loss of the tmux server the restart brings the conversation back.
func TestAgents(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	withClaude(t, c)
	s := c.Create("--kind", "claude", "--title", "helper", "--cwd", c.Home)
	first := s.ConversationID
	waits(c, s.ID, "prompt")
	c.OK("send", string(s.ID), "rig:bash touch made |> say all done", "--enter")
	asked := waits(c, s.ID, "permission")
	if asked.Agent.AtPrompt || !strings.Contains(asked.Agent.Prompt, "touch made") || asked.Agent.HookAt.IsZero() {
		t.Errorf("what it asks: %+v", asked.Agent)
	}
	c.OK("send", string(s.ID), "1")
	if ended := waits(c, s.ID, "turn ended"); !ended.Agent.AtPrompt || ended.Agent.Prompt != "all done" {
		t.Errorf("what it said last: %+v", ended.Agent)
	}
	if _, err := os.Stat(filepath.Join(c.Home, "made")); err != nil {
		t.Error(err)
	}

	c.Kill("runtime")
	c.OK("send", string(s.ID), "/clear", "--enter")
	var second string
	c.Eventually(harness.Soon, func() error {
		second = c.Session(s.ID).ConversationID
		if second == first {
			return fmt.Errorf("the conversation is still %s", first)
		}
		return nil
	})
	if all := c.OK("events", string(s.ID)); !strings.Contains(all, first+" -> "+second) {
		t.Errorf("no event of the conversation:\n%s", all)
	}
	c.OK("send", string(s.ID), "remember the heron", "--enter")
	waits(c, s.ID, "turn ended")

	c.KillPID(c.PID("tmux"))
	c.WaitState(s.ID, harness.Soon, sessions.Recoverable)
	c.OK("restart", string(s.ID))
	back := waits(c, s.ID, "prompt")
	if back.ConversationID != second {
		t.Errorf("it came back to %s, not %s", back.ConversationID, second)
	}
	if screen := c.OK("screen", string(s.ID)); !strings.Contains(screen, "remember the heron") {
		t.Errorf("the conversation is not there:\n%s", screen)
	}
	if status := c.Session(s.ID); status.Agent == nil || status.Agent.ConversationID != second {
		t.Errorf("got %+v", status.Agent)
	}
}
