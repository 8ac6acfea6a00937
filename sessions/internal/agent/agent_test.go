package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/agent"
)

func TestCommandLines(t *testing.T) {
	t.Parallel()
	all := sessions.BuiltinProfiles().With(map[string]sessions.Profile{
		"mine":   {Start: []string{"mine"}, Resume: []string{"mine", "--to={id}"}},
		"claude": {Start: []string{"/opt/claude", "--session-id", "{id}"}},
	})
	for _, tt := range []struct {
		kind sessions.Kind
		how  func(sessions.Profile, sessions.Session) agent.Launch
		want string
	}{
		{"claude", start, "/opt/claude --session-id ID --settings " + rtapi.SettingsFile + " -x y"},
		{"claude", resume, "claude --resume ID --settings " + rtapi.SettingsFile + " -x y"},
		{"claude", agent.Continue, "claude --continue --settings " + rtapi.SettingsFile + " -x y"},
		{"codex", start, "codex -x y"},
		{"codex", resume, "codex resume ID -x y"},
		{"codex", agent.Continue, "codex resume --last -x y"},
		{"gemini", start, "gemini --session-id ID -x y"},
		{"gemini", resume, "gemini --resume ID -x y"},
		{"opencode", resume, "opencode --session ID -x y"},
		{"aider", start, "aider -x y"},
		{"aider", agent.Continue, "aider --restore-chat-history -x y"},
		{"mine", start, "mine -x y"},
		{"mine", resume, "mine --to=ID -x y"},
	} {
		p := all[tt.kind]
		l := tt.how(p, sessions.Session{Kind: tt.kind, Args: []string{"-x", "y"}})
		if got := strings.Join(l.Argv, " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.kind, got, tt.want)
		}
		if !l.KeepTmuxEnv || l.Hooks != (p.Waiting == sessions.WaitingHooks) {
			t.Errorf("%s: %+v", tt.kind, l)
		}
	}
	// No profile's line is changed by what is made of it.
	if p := sessions.BuiltinProfiles()[sessions.KindClaude]; !slices.Equal(p.Start, []string{"claude", "--session-id", "{id}"}) {
		t.Errorf("%q", p.Start)
	}
}

func start(p sessions.Profile, s sessions.Session) agent.Launch  { return agent.Start(p, s, "ID") }
func resume(p sessions.Profile, s sessions.Session) agent.Launch { return agent.Resume(p, s, "ID") }

func TestBuiltinProfilesAreWhole(t *testing.T) {
	t.Parallel()
	for kind, p := range sessions.BuiltinProfiles() {
		if key, says := p.Problem(string(kind)); says != "" {
			t.Errorf("%s: %s %s", kind, key, says)
		}
	}
}

// write makes a transcript.
func write(t *testing.T, path, text string, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// Directories are spelled as Claude Code spells them, of which its facts have the examples.
func TestTranscriptsAreFoundByDirectory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	long := strings.Repeat("x", 250)
	for dir, spelled := range map[string]string{
		"a b_c.d": "-a-b-c-d", "café": "-caf-", "🙂": "---", "x-[1]*?": "-x--1---", long: "-" + long[:199],
	} {
		cwd := filepath.Join("/nowhere-at-all", dir)
		name := "-nowhere-at-all" + spelled
		if len(name) > 200 {
			name = name[:200] + "-1a2b3c"
		}
		root := filepath.Join(base, "con[f]ig", name[:min(len(name), 20)])
		write(t, filepath.Join(root, "projects", name, "older.jsonl"), "{}\n", time.Hour)
		write(t, filepath.Join(root, "projects", name, "newer.jsonl"), "{}\n", time.Minute)
		write(t, filepath.Join(root, "projects", name, "empty.jsonl"), "", 0)
		write(t, filepath.Join(root, "projects", "-elsewhere", "other.jsonl"), "{}\n", 0)
		tr := agent.NewTranscripts(sessions.BuiltinProfiles()[sessions.KindClaude], root, cwd)
		got, ok, err := tr.Latest(func(string) bool { return true })
		if err != nil || !ok || got.ID != "newer" {
			t.Errorf("%q: %+v, %v, %v", dir, got, ok, err)
		}
		got, ok, err = tr.Latest(func(id string) bool { return id != "newer" })
		if err != nil || !ok || got.ID != "older" {
			t.Errorf("%q without the newest: %+v, %v, %v", dir, got, ok, err)
		}
		// By its id a conversation is found wherever it was held.
		if _, ok, err := tr.Find("other"); err != nil || !ok {
			t.Errorf("%q: other %v, %v", dir, ok, err)
		}
		for _, id := range []string{"missing", "*", "../x", "", "empty"} {
			if _, ok, err := tr.Find(id); err != nil || ok {
				t.Errorf("%q: %q %v, %v", dir, id, ok, err)
			}
		}
	}
	real, link := filepath.Join(base, "real dir"), filepath.Join(base, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(real)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.NewReplacer("/", "-", " ", "-", "_", "-", ".", "-").Replace(resolved)
	write(t, filepath.Join(base, "c", "projects", name, "linked.jsonl"), "{}\n", 0)
	tr := agent.NewTranscripts(sessions.BuiltinProfiles()[sessions.KindClaude], filepath.Join(base, "c"), link)
	if got, ok, err := tr.Latest(func(string) bool { return true }); err != nil || !ok || got.ID != "linked" {
		t.Errorf("by a link: %+v, %v, %v", got, ok, err)
	}
}

func TestLastPrompt(t *testing.T) {
	t.Parallel()
	user := func(content string) string {
		return `{"type":"user","message":{"role":"user","content":` + content + "}}\n"
	}
	for name, tt := range map[string]struct{ text, want string }{
		"a text":            {user(`"one"`) + user(`"two\nlines"`), "two lines"},
		"parts":             {user(`[{"type":"text","text":"look at"},{"type":"image"},{"type":"text","text":"this"}]`), "look at this"},
		"a tool's answer":   {user(`"one"`) + user(`[{"type":"tool_result","content":"x"}]`), "one"},
		"said by itself":    {user(`"one"`) + `{"type":"user","isMeta":true,"message":{"content":"meta"}}` + "\n", "one"},
		"of a subagent":     {user(`"one"`) + `{"type":"user","isSidechain":true,"message":{"content":"sub"}}` + "\n", "one"},
		"an interruption":   {user(`"one"`) + user(`"[Request interrupted by user]"`), "one"},
		"a torn line":       {user(`"one"`) + `{"type":"user","message":{"content":"tw`, "one"},
		"garbage":           {"\x00\x01\n{]\n" + user(`"one"`) + "\xff\xfe\n", "one"},
		"control sequences": {user(`"a\u001b[31mb"`), "a [31mb"},
		"nothing":           {`{"type":"summary"}` + "\n", ""},
		"long before":       {user(`"early"`) + strings.Repeat(`{"type":"assistant"}`+"\n", 60_000) + user(`"late"`), "late"},
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		write(t, path, tt.text, 0)
		if got := agent.LastPrompt(path); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if got := agent.LastPrompt("/no/such/file"); got != "" {
		t.Errorf("%q", got)
	}
}
