package e2e

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"corral/e2e/claudeapi"
	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// realVersion is the version of Claude Code that the proof fetches.
const realVersion = "2.1.332"

// realClaude returns a directory with the real program: the one that CORRAL_TEST_CLAUDE names, or fetched by npm into the
// test's own directory. It is "" where it cannot be had.
func realClaude(t *testing.T, c *harness.Corral) string {
	t.Helper()
	if program := os.Getenv("CORRAL_TEST_CLAUDE"); program != "" {
		return filepath.Dir(program)
	}
	harness.Need(t, "npm", "npm")
	dir := filepath.Join(c.Dir, "npm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "@anthropic-ai/claude-code@"+realVersion)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("npm does not have Claude Code %s: %v\n%s", realVersion, err, out)
		return ""
	}
	return filepath.Join(dir, "node_modules", ".bin")
}

// realHome is a home in which the real program asks nothing at its start, and talks to the stand-in service alone.
func realHome(t *testing.T, c *harness.Corral, bin, service string) {
	t.Helper()
	state, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark",
		"projects": map[string]any{c.Home: map[string]any{
			"hasTrustDialogAccepted": true, "allowedTools": []any{}, "history": []any{}, "mcpServers": map[string]any{},
		}},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(c.Home, ".claude.json"), state, 0o600)
	}
	profile := "PS1='" + harness.Prompt + " '\nexport PATH='" + bin + "':$PATH ANTHROPIC_BASE_URL=" + service + " ANTHROPIC_AUTH_TOKEN=made-up"
	for _, off := range []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER"} {
		profile += " " + off + "=1"
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(c.Home, ".bash_profile"), []byte(profile+"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAgentsReal drives the real Claude Code through what can happen to a turn: each time the state is right. Its
// conversation is followed and comes back after the loss of the tmux server.
func TestAgentsReal(t *testing.T) {
	t.Parallel()
	for range rounds.N(0, 0, 1) { // it is a download of 200 MB
		c := harness.New(t)
		bin := realClaude(t, c)
		if bin == "" {
			return
		}
		service := httptest.NewServer(claudeapi.Handler())
		t.Cleanup(service.CloseClientConnections)
		realHome(t, c, bin, service.URL)
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "claude"), "--version").Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("driving %s", strings.TrimSpace(string(out)))
		driveReal(t, c)
	}
}

func driveReal(t *testing.T, c *harness.Corral) {
	s := c.Create("--kind", "claude", "--title", "real", "--cwd", c.Home, "--", "--permission-mode", "default")
	c.Eventually(harness.Startup, func() error { // it is a large program
		if now := c.Session(s.ID); now.Agent == nil || now.Agent.HookAt.IsZero() {
			return fmt.Errorf("it gave no sign of life: %+v", now.Agent)
		}
		return nil
	})
	waits(c, s.ID, "prompt")
	<-time.After(4 * time.Second) // an Enter that comes sooner can be lost
	send := func(text string) { c.OK("send", string(s.ID), text, "--enter") }
	key := func(name string) { c.OK("send", string(s.ID), "", "--key", name) }
	works := func() { c.WaitState(s.ID, harness.Soon, sessions.Running, sessions.Detached) }
	says := func(text string) {
		c.Eventually(harness.Soon, func() error {
			if now := c.Session(s.ID); now.Agent == nil || !strings.Contains(now.Agent.Prompt, text) {
				return fmt.Errorf("it does not say %q: %+v", text, now.Agent)
			}
			return nil
		})
	}
	rows := []struct {
		name string
		do   func()
	}{
		{"a prompt and its answer", func() { send("rig:slow 3"); works(); waits(c, s.ID, "turn ended") }},
		{"a permission, approved", func() {
			send("rig:bash touch one; for i in 1 2 3; do sleep 1; done")
			waits(c, s.ID, "permission")
			says("touch one")
			c.OK("send", string(s.ID), "1")
			works()
			waits(c, s.ID, "turn ended")
		}},
		{"a permission, denied", func() {
			send("rig:bash touch two")
			waits(c, s.ID, "permission")
			key("Escape")
			waits(c, s.ID, "interrupted")
		}},
		{"interrupted", func() { send("rig:slow 30"); works(); key("Escape"); waits(c, s.ID, "interrupted") }},
		{"a prompt in the queue", func() {
			send("rig:slow 4")
			works()
			send("rig:say the second")
			says("the second")
			waits(c, s.ID, "turn ended")
		}},
		{"a question", func() {
			send("rig:ask Which colour?")
			waits(c, s.ID, "question")
			says("Which colour?")
			c.OK("send", string(s.ID), "1")
			waits(c, s.ID, "turn ended")
		}},
		{"an error", func() { send("rig:error 400"); waits(c, s.ID, "error") }},
		{"a dialog", func() {
			send("/model")
			waits(c, s.ID, "dialog")
			key("Escape")
			waits(c, s.ID, "prompt", "turn ended", "interrupted", "error")
		}},
		{"/compact", func() { send("/compact"); works(); waits(c, s.ID, "prompt", "turn ended") }},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			defer func(outer testing.TB) { c.T = outer }(c.T)
			c.T = t
			r.do()
			if t.Failed() {
				t.Log(c.OK("screen", string(s.ID)))
			}
		})
	}
	send("/clear")
	var second string
	c.Eventually(harness.Soon, func() error {
		if second = c.Session(s.ID).ConversationID; second == s.ConversationID {
			return fmt.Errorf("the conversation is still %s", second)
		}
		return nil
	})
	send("rig:say remember the heron")
	says("heron")
	c.KillPID(c.PID("tmux"))
	c.WaitState(s.ID, harness.Soon, sessions.Recoverable)
	c.OK("restart", string(s.ID))
	c.Eventually(harness.Startup, func() error {
		if now := c.Session(s.ID); now.Agent == nil || now.Agent.HookAt.IsZero() {
			return fmt.Errorf("it gave no sign of life: %+v", now.Agent)
		}
		return nil
	})
	if back := waits(c, s.ID, "prompt"); back.ConversationID != second {
		t.Errorf("it came back to %s, not %s", back.ConversationID, second)
	}
	c.Eventually(harness.Soon, func() error {
		if screen := c.OK("screen", string(s.ID)); !strings.Contains(screen, "remember the heron") {
			return fmt.Errorf("the conversation is not there:\n%s", screen)
		}
		return nil
	})
}
