package service_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/servicetest"
)

// agents is a server whose sessions have a home of their own, with the conversations that the test puts there.
type agents struct {
	*servicetest.Server
	t    *testing.T
	home string
	cwd  string
}

func newAgents(t *testing.T) *agents {
	t.Helper()
	a := &agents{Server: servicetest.NewWorld(t).Start(t, servicetest.Options{}), t: t, home: t.TempDir(), cwd: t.TempDir()}
	a.Runtime.SetVariable("HOME", a.home)
	return a
}

// keep writes a transcript as Claude Code does, below a configuration directory.
func (a *agents) keep(config, id, prompt string, age time.Duration) string {
	a.t.Helper()
	real, err := filepath.EvalSymlinks(a.cwd)
	if err != nil {
		a.t.Fatal(err)
	}
	spelled := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, real)
	file := filepath.Join(config, "projects", spelled, id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		a.t.Fatal(err)
	}
	line := fmt.Sprintf(`{"type":"user","message":{"role":"user","content":%q}}`+"\n", prompt)
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		a.t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(file, at, at); err != nil {
		a.t.Fatal(err)
	}
	return file
}

func (a *agents) config() string { return filepath.Join(a.home, ".claude") }

// claude makes a session that goes on with a conversation, and ends it.
func (a *agents) claude(r sessions.CreateRequest) sessions.Session {
	a.t.Helper()
	r.Kind = sessions.KindClaude
	if r.CWD == "" {
		r.CWD = a.cwd
	}
	s, err := a.Service.Create(a.t.Context(), r)
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

func (a *agents) ended(s sessions.Session) sessions.Session {
	a.t.Helper()
	a.Runtime.Exit(string(s.ID), 0)
	return a.Await(a.t, s.ID, sessions.Stopped)
}

// argv is the newest command line, without what Corral adds for its hooks.
func (a *agents) argv() []string {
	l := a.Runtime.Launches()
	argv := slices.Clone(l[len(l)-1].Argv)
	if i := slices.Index(argv, rtapi.SettingsFile); i > 0 {
		argv = slices.Delete(argv, i-1, i+1)
	}
	return argv
}

// want checks the conversation that a restart went on with.
func (a *agents) want(s sessions.Session, choice sessions.ConversationChoice, argv ...string) sessions.Session {
	a.t.Helper()
	back, err := a.Service.RestartIn(a.t.Context(), s.ID, choice)
	if err != nil {
		a.t.Fatalf("restart %q: %v", choice, err)
	}
	if got := a.argv(); !slices.Equal(got, argv) {
		a.t.Errorf("restart %q ran %q, want %q", choice, got, argv)
	}
	if s.Kind == sessions.KindClaude && back.ConversationID != argv[2] {
		a.t.Errorf("the session is in %q, its agent in %q", back.ConversationID, argv[2])
	}
	return back
}

// refused checks that a restart changes nothing, and returns what it offers instead.
func (a *agents) refused(s sessions.Session, choice sessions.ConversationChoice, says string) []sessions.Choice {
	a.t.Helper()
	before := len(a.Runtime.Launches())
	_, err := a.Service.RestartIn(a.t.Context(), s.ID, choice)
	if !errors.Is(err, sessions.ErrConflict) || !strings.Contains(err.Error(), says) {
		a.t.Errorf("restart %q: %v, want a conflict that says %q", choice, err, says)
	}
	now, getErr := a.Service.Get(a.t.Context(), s.ID)
	if getErr != nil || now.State != s.State || now.ConversationID != s.ConversationID {
		a.t.Errorf("after the refusal it is %s in %q, %v; it was %s in %q", now.State, now.ConversationID, getErr, s.State, s.ConversationID)
	}
	if len(a.Runtime.Launches()) != before {
		a.t.Error("something was started")
	}
	return sessions.ChoicesOf(err)
}

func (a *agents) newID() string { return uuid.NewString() }

// The right conversation comes back, or none: an agent is never begun anew under the id of a conversation that it had.
func TestRestartInItsConversation(t *testing.T) {
	t.Parallel()
	a := newAgents(t)

	id := a.newID()
	file := a.keep(a.config(), id, "old words", time.Hour)
	s := a.ended(a.claude(sessions.CreateRequest{ConversationID: id, Args: []string{"--model", "opus"}}))
	s = a.ended(a.want(s, sessions.ConversationOwn, "claude", "--resume", id, "--model", "opus"))

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if c := a.refused(s, sessions.ConversationOwn, "is not in "+a.config()); len(c) != 1 || c[0].Conversation != sessions.ConversationFresh {
		t.Errorf("choices %+v", c)
	}
	a.refused(s, sessions.ConversationLatest, "no conversation in")
	other, newer := a.newID(), a.newID()
	a.keep(a.config(), other, "other words", time.Hour)
	a.keep(a.config(), newer, "newer words", time.Minute)
	c := a.refused(s, sessions.ConversationOwn, "--latest")
	if len(c) != 2 || c[0].ConversationID != newer || c[0].LastPrompt != "newer words" {
		t.Errorf("choices %+v", c)
	}
	s = a.ended(a.want(s, sessions.ConversationLatest, "claude", "--resume", newer, "--model", "opus"))

	back, err := a.Service.RestartIn(t.Context(), s.ID, sessions.ConversationFresh)
	if err != nil || back.ConversationID == newer || back.ConversationID == "" {
		t.Errorf("fresh: %q, %v", back.ConversationID, err)
	}
	if argv := a.argv(); !slices.Equal(argv, []string{"claude", "--session-id", back.ConversationID, "--model", "opus"}) {
		t.Errorf("fresh ran %q", argv)
	}
	// Nothing was said in it: the agent keeps nothing of it, and begins it again.
	a.want(a.ended(back), sessions.ConversationOwn, "claude", "--session-id", back.ConversationID, "--model", "opus")
}

// What the agent tells of its conversation counts: a used one must be found again, a later one takes its place.
func TestConversationsRotateAndAreUsed(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	s := a.claude(sessions.CreateRequest{})
	tell := func(state rtapi.AgentState, conversation string) {
		a.Runtime.Agent(string(s.ID), rtapi.Agent{State: state, For: rtapi.ForTurnEnd, Conversation: conversation, HookAt: time.Now()})
	}
	tell(rtapi.AgentWorking, s.ConversationID)
	a.until(s.ID, func() bool { rec, err := a.Store.Get(t.Context(), s.ID); return err == nil && rec.ConversationUsed })
	s = a.ended(s)
	a.refused(s, sessions.ConversationOwn, "is not in")

	back, err := a.Service.RestartIn(t.Context(), s.ID, sessions.ConversationFresh)
	if err != nil {
		t.Fatal(err)
	}
	rotated := a.newID()
	a.keep(a.config(), rotated, "after clear", 0)
	tell(rtapi.AgentWorking, rotated)
	a.until(s.ID, func() bool {
		rec, err := a.Store.Get(t.Context(), s.ID)
		return err == nil && rec.ConversationID == rotated
	})
	a.want(a.ended(back), sessions.ConversationOwn, "claude", "--resume", rotated)
}

// until waits for a fact that has no event of its own, going by the board's rounds.
func (a *agents) until(id sessions.ID, ok func() bool) {
	a.t.Helper()
	deadline := time.After(servicetest.Patience)
	for !ok() {
		a.Reconciler.Kick()
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			a.t.Fatalf("waited in vain for %s", id.Short())
		}
	}
}

// Two sessions never run one conversation, however they come to it.
func TestOneConversationInOneSession(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	id := a.newID()
	a.keep(a.config(), id, "words", 0)
	first := a.claude(sessions.CreateRequest{ConversationID: id, Title: "first"})
	_, err := a.Service.Create(t.Context(), sessions.CreateRequest{Kind: sessions.KindClaude, CWD: a.cwd, ConversationID: id})
	if !errors.Is(err, sessions.ErrConflict) || !strings.Contains(err.Error(), `"first"`) {
		t.Errorf("create: %v", err)
	}
	second := a.claude(sessions.CreateRequest{Title: "second"})
	// The newest one of the directory is the first one's: the second is not given it.
	a.refused(a.ended(second), sessions.ConversationLatest, "no conversation in")
	first = a.ended(first)
	second = a.want(second, sessions.ConversationLatest, "claude", "--resume", id)
	if c := a.refused(first, sessions.ConversationOwn, `"second"`); len(c) != 1 || c[0].Conversation != sessions.ConversationFresh {
		t.Errorf("choices %+v", c)
	}
	a.ended(second)
	errs := make(chan error, 2)
	for _, s := range []sessions.Session{first, second} {
		go func() {
			_, err := a.Service.Restart(t.Context(), s.ID)
			errs <- err
		}()
	}
	if one, two := <-errs, <-errs; (one == nil) == (two == nil) {
		t.Errorf("two restarts into one conversation at once: %v and %v", one, two)
	}
}

// The transcript is looked for where the session's own agent keeps it.
func TestTranscriptsOfItsOwnConfiguration(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	elsewhere, login := t.TempDir(), t.TempDir()
	id := a.newID()
	a.keep(a.config(), id, "in the wrong place", 0)
	_, err := a.Service.Create(t.Context(), sessions.CreateRequest{
		Kind: sessions.KindClaude, CWD: a.cwd, ConversationID: id, Env: []string{"CLAUDE_CONFIG_DIR=" + elsewhere},
	})
	if sessions.CodeOf(err) != sessions.CodeInvalid || !strings.Contains(err.Error(), elsewhere) {
		t.Errorf("create: %v", err)
	}
	a.keep(elsewhere, id, "in the right place", 0)
	s := a.ended(a.claude(sessions.CreateRequest{ConversationID: id, Env: []string{"CLAUDE_CONFIG_DIR=" + elsewhere}}))
	a.ended(a.want(s, sessions.ConversationOwn, "claude", "--resume", id))

	byLogin := a.newID()
	a.keep(login, byLogin, "where the login scripts say", 0)
	a.Runtime.SetVariable("CLAUDE_CONFIG_DIR", login)
	a.ended(a.claude(sessions.CreateRequest{ConversationID: byLogin}))
}

// A session whose id was never learned goes on with the newest conversation of its directory, or begins one.
func TestRestartWithoutAnID(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	s := a.claude(sessions.CreateRequest{})
	if _, err := a.Pool.Exec(t.Context(), `UPDATE sessions SET conversation_id = '' WHERE id = $1`, string(s.ID)); err != nil {
		t.Fatal(err)
	}
	s = a.ended(s)
	id := a.newID()
	a.keep(a.config(), id, "words", 0)
	a.want(s, sessions.ConversationOwn, "claude", "--resume", id)

	codex, err := a.Service.Create(t.Context(), sessions.CreateRequest{Kind: "codex", CWD: a.cwd})
	if err != nil || codex.ConversationID != "" {
		t.Fatalf("codex: %q, %v", codex.ConversationID, err)
	}
	codex = a.ended(codex)
	a.want(codex, sessions.ConversationOwn, "codex", "resume", "--last")
	other, err := a.Service.Create(t.Context(), sessions.CreateRequest{Kind: "codex", CWD: a.cwd, Title: "other"})
	if err != nil {
		t.Fatal(err)
	}
	a.refused(a.ended(other), sessions.ConversationOwn, "runs codex in the same directory")
}

// A plan says what a restart would do, and does nothing.
func TestRecoveryPlan(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	id, gone := a.newID(), a.newID()
	a.keep(a.config(), id, "fix the\nparser", 0)
	missing := a.keep(a.config(), gone, "x", time.Hour)
	shell := a.Shell(t)
	good := a.claude(sessions.CreateRequest{ConversationID: id, Project: "p", Args: []string{"--model", "opus"}})
	bad := a.claude(sessions.CreateRequest{ConversationID: gone})
	dir := t.TempDir()
	lost := a.claude(sessions.CreateRequest{CWD: dir})
	if err := errors.Join(os.Remove(missing), os.Remove(dir)); err != nil {
		t.Fatal(err)
	}
	a.Runtime.KillServer()
	for _, s := range []sessions.Session{shell, good, bad, lost} {
		a.Await(t, s.ID, sessions.Recoverable)
	}
	before := len(a.Runtime.Launches())
	plan, err := a.Service.Recovery(t.Context(), "")
	if err != nil || len(plan) != 4 {
		t.Fatalf("%d in the plan, %v", len(plan), err)
	}
	if p := plan[0]; p.Way != "plain" || p.Problem != "" || p.Lost == "" || p.Hooks || p.Rebooted {
		t.Errorf("shell: %+v", p)
	}
	if p := plan[1]; p.Way != "resume" || p.ConversationID != id || p.LastPrompt != "fix the parser" || !p.Hooks ||
		!slices.Equal(p.Argv, []string{"claude", "--resume", id, "--model", "opus"}) {
		t.Errorf("good: %+v", p)
	}
	if p := plan[2]; !strings.Contains(p.Problem, "is not in") || len(p.Choices) == 0 {
		t.Errorf("bad: %+v", p)
	}
	if p := plan[3]; !strings.Contains(p.Problem, "does not exist") {
		t.Errorf("lost: %+v", p)
	}
	if len(a.Runtime.Launches()) != before {
		t.Error("the plan started something")
	}
	if only, err := a.Service.Recovery(t.Context(), "p"); err != nil || len(only) != 1 || only[0].Session.ID != good.ID {
		t.Errorf("of one project: %+v, %v", only, err)
	}
}

func TestPromptOnlyAtThePrompt(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	s := a.claude(sessions.CreateRequest{Title: "bee"})
	tell := func(state rtapi.AgentState, why rtapi.WaitingFor, text string) {
		a.Runtime.Agent(string(s.ID), rtapi.Agent{State: state, For: why, Prompt: text, Since: time.Now(), Conversation: s.ConversationID})
		a.until(s.ID, func() bool {
			now, _ := a.Board.Get(s.ID)
			return now.Agent != nil && now.Agent.State == sessions.AgentState(state) && now.Agent.For == string(why)
		})
	}
	prompt := func(text string, force bool) error {
		_, err := a.Service.Prompt(t.Context(), s.ID, sessions.PromptRequest{Text: text, Force: force})
		return err
	}
	typed := func() int { return len(a.Runtime.Inputs()) }
	for _, step := range []struct {
		state rtapi.AgentState
		why   rtapi.WaitingFor
		says  string
	}{
		{"", "", "has not told what it is doing"},
		{rtapi.AgentWorking, "", "is at work"},
		{rtapi.AgentWaiting, rtapi.ForPermission, "has a dialog open (permission): rm -rf"},
		{rtapi.AgentWaiting, rtapi.ForStart, "has a dialog open (start)"},
	} {
		if step.state != "" {
			tell(step.state, step.why, "rm -rf")
		}
		if err := prompt("go on", false); !errors.Is(err, sessions.ErrConflict) || !strings.Contains(err.Error(), step.says) || typed() != 0 {
			t.Errorf("%s %s: %v, %d typed", step.state, step.why, err, typed())
		}
	}
	if err := prompt("1", true); err != nil || typed() != 1 {
		t.Errorf("forced: %v, %d typed", err, typed())
	}
	tell(rtapi.AgentWaiting, rtapi.ForTurnEnd, "done")
	go func() {
		for typed() != 2 {
			time.Sleep(time.Millisecond)
		}
		a.Runtime.Agent(string(s.ID), rtapi.Agent{State: rtapi.AgentWorking, Conversation: s.ConversationID})
	}()
	if err := prompt("two\nlines", false); err != nil {
		t.Errorf("at its prompt: %v", err)
	}
	if in := a.Runtime.Inputs()[1]; in.Text != "two\nlines" || !in.Paste || !in.Enter {
		t.Errorf("typed %+v", in)
	}
	for text, says := range map[string]string{"": "nothing to say", "a\x1bb": "control characters"} {
		if err := prompt(text, true); sessions.CodeOf(err) != sessions.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := a.Service.Prompt(t.Context(), a.Shell(t).ID, sessions.PromptRequest{Text: "x"}); sessions.CodeOf(err) != sessions.CodeInvalid {
		t.Errorf("a shell: %v", err)
	}
}
