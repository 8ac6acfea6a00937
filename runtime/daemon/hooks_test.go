package daemon

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"corral/e2e/rounds"
	"corral/e2e/standin"
	"corral/runtime/rtapi"
)

// right is how long after the last evidence a state must be right.
const right = 2 * time.Second

// agentBed is a runtime whose user has a claude in the PATH, and what it says of the agents.
type agentBed struct {
	*bed
	mu   sync.Mutex
	says map[string]rtapi.Agent // guarded by mu
	news chan struct{}          // closed and replaced at each change; guarded by mu
}

func newAgentBed(t *testing.T) *agentBed {
	t.Helper()
	b := &agentBed{bed: &bed{}, says: map[string]rtapi.Agent{}, news: make(chan struct{})}
	b.start(t, func(string) {
		standin.Install(t, filepath.Join(b.home, "bin"))
		// A login shell sets the PATH anew; this is where users put theirs.
		if err := os.WriteFile(filepath.Join(b.home, ".profile"), []byte("PATH=$HOME/bin:$PATH\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	b.listen(t)
	return b
}

// listen follows the events of the present runtime, until it ends.
func (b *agentBed) listen(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	client := b.Client
	var wg sync.WaitGroup
	wg.Go(func() { _ = client.Events(ctx, b.event) })
	stop := b.stop
	b.stop = func() { cancel(); wg.Wait(); stop() }
}

func (b *agentBed) event(e rtapi.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case e.Type == rtapi.EventAgent:
		b.says[e.ID] = *e.Agent
	case e.Type == rtapi.EventInventory:
		for _, t := range e.Inventory.Terminals {
			if t.Agent != nil {
				b.says[t.ID] = *t.Agent
			}
		}
	default:
		return
	}
	close(b.news)
	b.news = make(chan struct{})
}

// awaitAgent waits until the runtime says of an agent what ok wants.
func (b *agentBed) awaitAgent(t *testing.T, id, what string, ok func(rtapi.Agent) bool) rtapi.Agent {
	t.Helper()
	begun, timeout := time.Now(), time.After(patience)
	for {
		b.mu.Lock()
		now, news := b.says[id], b.news
		b.mu.Unlock()
		if ok(now) {
			if took := time.Since(begun); rounds.Timing() && took > right {
				t.Errorf("%s took %v", what, took)
			}
			return now
		}
		select {
		case <-news:
		case <-timeout:
			t.Fatalf("%s: not seen; the agent is %+v", what, now)
		}
	}
}

// claude starts the stand-in; env are its variables.
func (b *agentBed) claude(t *testing.T, id string, env ...string) (term rtapi.Terminal, conversation string) {
	t.Helper()
	conversation = uuid.NewString()
	term, err := b.Create(deadline(t), b.claudeRequest(id, conversation, env...))
	if err != nil {
		t.Fatal(err)
	}
	return term, conversation
}

func (b *agentBed) claudeRequest(id, conversation string, env ...string) rtapi.LaunchRequest {
	return rtapi.LaunchRequest{
		Meta: rtapi.Meta{ID: id, Kind: "claude", Title: "c", CWD: b.home, Conversation: conversation, Run: 1},
		Argv: []string{"claude", "--session-id", conversation, "--settings", rtapi.SettingsFile},
		Env:  env, Hooks: true, KeepTmuxEnv: true,
	}
}

// is makes a condition of a state and, for one that waits, a reason.
func is(want string) func(rtapi.Agent) bool {
	return func(a rtapi.Agent) bool {
		switch want {
		case "works":
			return a.State == rtapi.AgentWorking
		case "at its prompt":
			return a.State == rtapi.AgentWaiting && a.For.AtPrompt()
		}
		return a.State == rtapi.AgentWaiting && string(a.For) == want
	}
}

// row is something that happens to an agent: what is typed, and what is true then, in turn.
type row struct {
	name  string
	since string   // the oldest version that can be told right; "" for all
	steps []string // "type TEXT" (with Enter), "key NAME", "is STATE", "says TEXT"; STATE as is has it
	fault string
}

func rows() []row {
	const newer, requests = "2.1.131", "2.0.75"
	return []row{
		{name: "a prompt and its answer", steps: []string{"type rig:slow 0.5 |> say forty two", "is works", "is turn ended", "says forty two"}},
		{name: "a permission, approved", since: newer, steps: []string{"type rig:bash sleep 1", "is permission", "says sleep 1", "key 1", "is works", "is turn ended"}},
		{name: "a permission, approved, by hooks alone", since: requests, steps: []string{"type rig:bash sleep 0.2", "is permission", "says sleep 0.2", "key 1", "is turn ended"}},
		{name: "a permission, denied", since: requests, steps: []string{"type rig:bash sleep 1", "is permission", "key 2", "is interrupted"}},
		{name: "a permission, escaped", since: requests, steps: []string{"type rig:bash sleep 1", "is permission", "key Escape", "is interrupted"}},
		{name: "interrupted", steps: []string{"type rig:slow 30", "is works", "key Escape", "is interrupted"}},
		{name: "interrupted while a tool runs", since: requests, steps: []string{"type rig:bash sleep 30", "is permission", "key 1", "key Escape", "is interrupted"}},
		{name: "a prompt in the queue", steps: []string{"type rig:slow 1", "is works", "type rig:slow 1 |> say second", "says second", "is turn ended"}},
		{name: "a question", since: requests, steps: []string{"type rig:ask which one?", "is question", "says which one?", "key 1", "is turn ended"}},
		{name: "a plan", since: requests, steps: []string{"type rig:plan do it all", "is plan approval", "says do it all", "key 1", "is turn ended"}},
		{name: "an error", since: newer, steps: []string{"type rig:error too much", "is error", "says too much"}},
		{name: "a background shell", steps: []string{"type rig:bashbg x |> say it goes on", "says it goes on", "is turn ended"}},
		{name: "a background subagent", since: newer, steps: []string{"type rig:agent 1.5", "is works", "is turn ended", "says sub done"}},
		{name: "/compact", steps: []string{"type rig:say well |> say what to compact", "says what to compact", "type /compact", "is works", "is prompt"}},
		{name: "a dialog", since: newer, steps: []string{"type /model", "is dialog", "key Escape", "is at its prompt"}},
		{name: "everything twice", fault: "twice:Stop,twice:UserPromptSubmit,twice:PermissionRequest,twice:PreToolUse", since: requests, steps: []string{"type rig:bash true", "is permission", "key 1", "is turn ended"}},
		{name: "Stop lost", since: newer, fault: "lose:Stop", steps: []string{"type rig:slow 0.5", "is works", "is interrupted"}},
		{name: "UserPromptSubmit lost", since: newer, fault: "lose:UserPromptSubmit", steps: []string{"type rig:slow 1", "is works", "is turn ended"}},
		{name: "PermissionRequest lost", since: newer, fault: "lose:PermissionRequest", steps: []string{"type rig:bash sleep 1", "is permission", "says sleep 1", "key 1", "is works", "is turn ended"}},
		{name: "SessionStart lost", since: newer, fault: "lose:SessionStart", steps: []string{"is prompt", "type hello", "is turn ended"}},
		{name: "PreToolUse overtaken", since: newer, fault: "slow:PreToolUse:150", steps: []string{"type rig:bash sleep 1", "is permission", "key 1", "is works", "is turn ended"}},
		{name: "UserPromptSubmit overtaken by Stop", fault: "slow:UserPromptSubmit:150", steps: []string{"type hello", "says Done.", "is turn ended"}},
	}
}

// Every row of what the real program was seen to do gives the right state, whatever is lost, late, doubled or reordered.
// The rows of one version are one session's turns, save those with a fault.
func TestAgentStates(t *testing.T) {
	t.Parallel()
	b := newAgentBed(t)
	versions := []string{standin.Newest, "2.1.1", "2.0.13"}
	if rounds.Now() == rounds.Full {
		versions = []string{standin.Newest, "2.1.211", "2.1.131", "2.1.1", "2.0.75", "2.0.13", "1.0.128"}
	}
	turns := map[string][]row{}
	for n, r := range rows() {
		possible := slices.DeleteFunc(slices.Clone(versions), func(v string) bool { return r.since != "" && older(v, r.since) })
		if rounds.Now() == rounds.Quick {
			possible = possible[n%len(possible):][:1]
		}
		for _, v := range possible {
			name := v
			if r.fault != "" {
				name = fmt.Sprintf("%s %s", v, r.name)
			}
			turns[name] = append(turns[name], r)
		}
	}
	n := 0
	for name, rows := range turns {
		n++
		id := fmt.Sprintf("a%d", n)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			version, _, _ := strings.Cut(name, " ")
			b.claude(t, id, "STANDIN_VERSION="+version, "STANDIN_FAULT="+rows[0].fault)
			if !strings.Contains(rows[0].fault, "SessionStart") {
				b.awaitAgent(t, id, "the start", is("prompt"))
			}
			b.awaitScreen(t, id, standin.Prompt)
			for _, r := range rows {
				t.Run(r.name, func(t *testing.T) { b.walk(t, id, r.steps) })
			}
		})
	}
}

func older(v, than string) bool {
	var a, b [3]int
	_, _ = fmt.Sscanf(v, "%d.%d.%d", &a[0], &a[1], &a[2])
	_, _ = fmt.Sscanf(than, "%d.%d.%d", &b[0], &b[1], &b[2])
	return slices.Compare(a[:], b[:]) < 0
}

func (b *agentBed) walk(t *testing.T, id string, steps []string) {
	t.Helper()
	for _, step := range steps {
		word, rest, _ := strings.Cut(step, " ")
		var req rtapi.InputRequest
		switch word {
		case "type":
			req = rtapi.InputRequest{Text: rest, Enter: true}
		case "key":
			req = rtapi.InputRequest{Keys: []string{rest}}
		case "is":
			b.awaitAgent(t, id, step, is(rest))
			continue
		case "says":
			b.awaitAgent(t, id, step, func(a rtapi.Agent) bool { return strings.Contains(a.Prompt, rest) })
			continue
		}
		if err := b.Input(deadline(t), id, req); err != nil {
			t.Fatal(err)
		}
	}
}

// kill -9 at each point of a turn is an end, whatever the agent was doing.
func TestAgentKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	b := newAgentBed(t)
	for name, steps := range map[string][]string{
		"atprompt": {},
		"working":  {"type rig:slow 30", "is works"},
		"asking":   {"type rig:bash true", "is permission"},
		"idle":     {"type hello", "is turn ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term, _ := b.claude(t, name)
			b.awaitAgent(t, name, "the start", is("prompt"))
			b.awaitScreen(t, name, standin.Prompt)
			b.walk(t, name, steps)
			if err := syscall.Kill(term.PanePID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			inv := b.await(t, "the end", func(inv rtapi.Inventory) bool { return find(inv, name).Dead })
			if end := find(inv, name); end.Signal == nil || *end.Signal != 9 {
				t.Errorf("got %+v", end)
			}
			b.awaitAgent(t, name, "no state", func(a rtapi.Agent) bool { return a.State == "" })
		})
	}
}

// The conversation is followed through everything that changes it, in versions that tell it and in those that do not.
func TestAgentConversation(t *testing.T) {
	t.Parallel()
	b := newAgentBed(t)
	for n, v := range []string{standin.Newest, "2.1.1", "2.0.13"} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			id := fmt.Sprint("c", n)
			_, first := b.claude(t, id, "STANDIN_VERSION="+v)
			b.awaitAgent(t, id, "the given id", func(a rtapi.Agent) bool { return a.Conversation == first })
			b.awaitScreen(t, id, standin.Prompt)
			b.walk(t, id, []string{"type remember me", "is turn ended", "type /clear"})
			cleared := b.awaitAgent(t, id, "another id", func(a rtapi.Agent) bool { return a.Conversation != first })
			b.walk(t, id, []string{"type more", "is turn ended", "type /resume " + first})
			b.awaitAgent(t, id, "the first again", func(a rtapi.Agent) bool { return a.Conversation == first })
			if err := b.Input(deadline(t), id, rtapi.InputRequest{Text: "/exit", Enter: true}); err != nil {
				t.Fatal(err)
			}
			b.await(t, "the end", func(inv rtapi.Inventory) bool { return find(inv, id).Dead })
			// A resume tells a throw-away id first in the oldest versions: it must never be taken.
			req := b.claudeRequest(id, cleared.Conversation, "STANDIN_VERSION="+v)
			req.Argv[1], req.Meta.Run = "--resume", 2
			if _, err := b.Respawn(deadline(t), req); err != nil {
				t.Fatal(err)
			}
			b.awaitAgent(t, id, "the second run", func(a rtapi.Agent) bool { return is("prompt")(a) })
			b.awaitScreen(t, id, standin.Prompt)
			b.walk(t, id, []string{"type once more", "is turn ended"})
			b.awaitAgent(t, id, "the resumed id", func(a rtapi.Agent) bool { return a.Conversation == cleared.Conversation })
		})
	}
}

// Nothing tells that a dialog is in the way of a start: after a while that counts as waiting.
func TestAgentThatGivesNoSignNeedsItsUser(t *testing.T) {
	t.Parallel()
	for range rounds.N(0, 1, 1) { // it takes 10 s
		b := newAgentBed(t)
		b.claude(t, "one", "STANDIN_TRUST=ask")
		b.awaitScreen(t, "one", "Do you trust")
		b.awaitAgent(t, "one", "no sign", is("start"))
		b.walk(t, "one", []string{"key 1", "is prompt"})
	}
}

// A settings file names only the events that the version in the PATH knows: one too many, and it would stand in a dialog.
func TestAgentGetsOnlyTheEventsItKnows(t *testing.T) {
	t.Parallel()
	b := newAgentBed(t)
	for _, v := range []string{standin.Newest, "2.1.1", "1.0.128"} {
		id := "v" + strings.ReplaceAll(v, ".", "-")
		b.claude(t, id, "STANDIN_VERSION="+v)
		b.awaitScreen(t, id, standin.Prompt)
	}
}

// A runtime that was killed comes back to the same token, and takes once what was told meanwhile. When no session was
// alive the token is another one, and the old one is worth nothing.
func TestHookTokensAndSpool(t *testing.T) {
	t.Parallel()
	b := newAgentBed(t)
	file := filepath.Join(b.data(), "hook-token")
	token := func() string {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the token file: %v, %v", info.Mode(), err)
		}
		return string(text)
	}
	term, _ := b.claude(t, "one")
	b.awaitAgent(t, "one", "the start", is("prompt"))
	b.awaitScreen(t, "one", standin.Prompt)
	before := token()
	b.walk(t, "one", []string{"type rig:slow 0.5 |> say while you were away", "is works"})
	b.stop()
	spool := filepath.Join(b.data(), "hooks", "spool")
	waitFor(t, "a spooled Stop", func() bool {
		found, _ := filepath.Glob(filepath.Join(spool, "*.json"))
		return len(found) > 0
	})
	b.says = map[string]rtapi.Agent{}
	b.serve(t)
	b.listen(t)
	b.walk(t, "one", []string{"is turn ended", "says while you were away"})
	if token() != before {
		t.Error("the token file is another one while a session lives")
	}
	b.walk(t, "one", []string{"type rig:slow 0.2", "is works", "is turn ended"})
	st, err := b.Status(deadline(t))
	if err != nil || st.Hooks.Spooled == 0 || st.Hooks.Refused+st.Hooks.Foreign+st.Hooks.Oversized > 0 {
		t.Errorf("got %+v, %v", st.Hooks, err)
	}
	if left, _ := os.ReadDir(spool); len(left) > 0 {
		t.Errorf("the spool still has %d", len(left))
	}

	stale := environOf(t, term.PanePID)["CR_HOOK_TOKEN"]
	if err := syscall.Kill(term.PanePID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.await(t, "the end", func(inv rtapi.Inventory) bool { return find(inv, "one").Dead })
	b.stop()
	b.serve(t)
	b.listen(t)
	b.await(t, "the dead terminal", func(inv rtapi.Inventory) bool { return find(inv, "one").Dead })
	waitFor(t, "another token", func() bool { return token() != before })
	// A process that was left behind goes on with the old token.
	req := b.claudeRequest("two", uuid.NewString(), "CR_HOOK_TOKEN="+stale)
	req.Argv = []string{"sh", "-c", `echo '{"hook_event_name":"Stop"}' | "$1" hook "$2"; sleep 60`, "sh", os.Args[0], filepath.Join(b.data(), "hooks")}
	req.Hooks = false
	if _, err := b.Create(deadline(t), req); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a refusal", func() bool {
		st, err := b.Status(deadline(t))
		return err == nil && st.Hooks.Refused == 1 && st.Hooks.Accepted == 0
	})
}

// What an agent leaves behind in the background has its token and settings, and is not believed.
func TestHooksOfOtherProcessesAreForeign(t *testing.T) {
	t.Parallel()
	b := newAgentBed(t)
	b.claude(t, "one")
	b.awaitAgent(t, "one", "the start", is("prompt"))
	b.awaitScreen(t, "one", standin.Prompt)
	post := fmt.Sprintf(`'"'"'{"hook_event_name":"SessionStart","session_id":"%s","source":"fork"}'"'"'`, uuid.NewString())
	self, dir := os.Args[0], filepath.Join(b.data(), "hooks")
	for n, how := range []string{
		// A daemon of the agent: nobody's child.
		fmt.Sprintf(`(setsid sh -c 'sleep 0.3; echo %s | %s hook %s' &)`, post, self, dir),
		// Its session in the background, as it tells its hooks.
		fmt.Sprintf(`sh -c 'echo %s | CLAUDE_JOB_DIR=/tmp %s hook %s'`, post, self, dir),
		// Somebody in another pane.
		fmt.Sprintf(`sh -c 'echo %s | TMUX_PANE=%%99 %s hook %s'`, post, self, dir),
	} {
		b.walk(t, "one", []string{"type rig:bash " + how, "is permission", "key 1", "is turn ended"})
		waitFor(t, how, func() bool {
			st, err := b.Status(deadline(t))
			return err == nil && st.Hooks.Foreign == int64(n+1)
		})
	}
	st, err := b.Status(deadline(t))
	if err != nil || st.Hooks.Refused > 0 {
		t.Errorf("got %+v, %v", st.Hooks, err)
	}
}

// waitFor waits for what no event tells.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not seen", what)
		}
	}
}

func environOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		t.Fatal(err)
	}
	return maps.Collect(func(yield func(string, string) bool) {
		for kv := range strings.SplitSeq(string(text), "\x00") {
			if k, v, ok := strings.Cut(kv, "="); ok && !yield(k, v) {
				return
			}
		}
	})
}
