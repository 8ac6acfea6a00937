package config

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"corral/sessions"

	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T, text string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path, true)
}

func TestAbsentFileMeansDefaults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	c, err := Load(path, false)
	if err != nil || !cmp.Equal(c, Default()) {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := Load(path, true); !errors.Is(err, sessions.ErrInvalid) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that the user named and that is absent: %v", err)
	}
}

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	if p := Default().validate(); p.key != "" {
		t.Errorf("%s %s", p.key, p.says)
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	c, err := load(t, `
prefix = "ctrl+]"
clipboard = "on"
listen = "127.0.0.1:7433"
autostart = false
theme = "light"
mouse = false
history.lines = 100
replay.lines = 50
[journal]
enabled = false
input = false
retention_days = 3
max_total = "1GiB"
min_free = "2.5%"
segment = "1MiB"
[events]
retention_days = 30
[agents.codex]
start = ["codex"]
resume = ["codex", "resume", "{id}"]
transcript = "~/.codex/{id}"
[keys]
quit = "Q"
[notify]
bell = false
desktop = "osc777"
[log]
level = "debug"
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		History: History{100}, Replay: Replay{50}, Events: Events{30}, Prefix: "ctrl+]", Clipboard: ClipboardOn,
		Journal: Journal{RetentionDays: 3, MaxTotal: 1 << 30, MinFree: Share{Percent: 2.5}, Segment: 1 << 20},
		Listen:  "127.0.0.1:7433", Theme: "light", Keys: map[string]string{"quit": "Q"}, Log: Log{slog.LevelDebug},
		Agents: map[string]Agent{"codex": {Start: []string{"codex"}, Resume: []string{"codex", "resume", "{id}"}, Transcript: "~/.codex/{id}"}},
		Notify: Notify{Desktop: DesktopOSC777},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string // parts of the one sentence
	}{
		"unknown key":             {"mouse = true\nautostrat = false\n", []string{"config.toml:2: there is no key autostrat", "did you mean autostart?"}},
		"unknown key in a table":  {"[journal]\n\nretention_day = 3\n", []string{":3: there is no key journal.retention_day", "did you mean journal.retention_days?"}},
		"unknown table":           {"[hystory]\nlines = 3\n", []string{"there is no key hystory", "did you mean history"}},
		"key without its table":   {"retention_days = 3", []string{"there is no key retention_days", "journal.retention_days"}},
		"nothing like it":         {"xyzzy_plugh = 3", []string{":1: there is no key xyzzy_plugh", "remove it"}},
		"syntax":                  {"mouse = true\nprefix = \n", []string{"config.toml:2: "}},
		"wrong type":              {"\nmouse = \"yes\"", []string{"config.toml: line 2", "mouse", "boolean"}},
		"bad size":                {"[journal]\nsegment = \"8 apples\"", []string{"config.toml:2", "is no size"}},
		"bad share":               {"[journal]\nmin_free = \"500%\"", []string{"is no share of a disk"}},
		"bad level":               {"log.level = \"loud\"", []string{"config.toml:1"}},
		"negative lines":          {"[history]\nlines = -1", []string{"config.toml:2: history.lines must be from 0"}},
		"replay over the cap":     {"replay.lines = 20001", []string{"config.toml:1: replay.lines must be from 0 to 20000"}},
		"prefix that is Enter":    {"prefix = \"ctrl+m\"", []string{"config.toml:1: prefix must be"}},
		"prefix that is a letter": {"prefix = \"x\"", []string{"prefix must be"}},
		"clipboard":               {"clipboard = \"maybe\"", []string{"clipboard must be off, notify or on"}},
		"theme":                   {"theme = \"pink\"", []string{"theme must be"}},
		"total under a segment":   {"journal.max_total = \"1MiB\"", []string{"journal.max_total must be at least"}},
		"desktop":                 {"notify.desktop = \"loud\"", []string{"notify.desktop must be off, osc9 or osc777"}},
		"agent without a start":   {"[agents.mine]\nresume = [\"mine\", \"{id}\"]", []string{"agents.mine.start must name the program"}},
		"agent's key":             {"[agents.mine]\nstart = [\"mine\"]\nresum = [\"mine\"]", []string{":3: there is no key agents.mine.resum", "did you mean agents.mine.resume?"}},
		"agent that is a shell":   {"[agents.shell]\nstart = [\"x\"]", []string{"agents.shell is no agent"}},
		"agent's name":            {"[agents.\"My Agent\"]\nstart = [\"x\"]", []string{"must be named by lower-case letters"}},
		"resume without the id":   {"[agents.mine]\nstart = [\"mine\"]\nresume = [\"mine\", \"-r\"]", []string{":3: agents.mine.resume must have a place", "{id}"}},
		"id without a place":      {"[agents.mine]\nstart = [\"mine\"]\nid = \"given\"", []string{"agents.mine.start must have a place"}},
		"source of ids":           {"[agents.mine]\nstart = [\"mine\"]\nid = \"guessed\"", []string{":3: agents.mine.id must be given, learned or none"}},
		"source of waiting":       {"[agents.mine]\nstart = [\"mine\"]\nwaiting = \"always\"", []string{"agents.mine.waiting must be hooks or none"}},
		"transcript":              {"[agents.mine]\nstart = [\"mine\"]\ntranscript = \"x/{id}\"", []string{"agents.mine.transcript must begin with"}},
		"not UTF-8":               {"theme = \"\xff\"", []string{"not UTF-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, c.text)
			if !errors.Is(err, sessions.ErrInvalid) {
				t.Fatalf("got %v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{
		"0": 0, "17": 17, "17B": 17, "8MiB": 8 << 20, "10GiB": 10 << 30, "1.5KiB": 1536, "500MB": 500e6, "2k": 2000, "1T": 1e12,
	} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s: got %d, %v, want %d", text, s, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1iB", "1XB", "1e3", "99999999999T"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken as %d", text, s)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "mouse = true", "[journal]\nsegment = \"8MiB\"", "a = [1,\n2]", "keys.x = \"\\u0000\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parse("f", text); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	})
}

// Two lines make any command an agent; what they leave out follows from what they say.
func TestAgentInTwoLines(t *testing.T) {
	t.Parallel()
	c, err := load(t, "[agents.amp]\nstart = [\"amp\"]\n[agents.claude]\nstart = [\"/opt/claude\", \"--session-id\", \"{id}\"]\n[agents.g]\nstart = [\"g\", \"{id}\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	all := c.Profiles()
	if p := all["amp"]; len(p.Start) != 1 || p.ID != sessions.IDNone || p.Waiting != sessions.WaitingNone || p.Resume != nil {
		t.Errorf("amp: %+v", p)
	}
	if p := all["claude"]; p.Start[0] != "/opt/claude" || len(p.Resume) != 3 || p.Transcript == "" || p.Waiting != sessions.WaitingHooks {
		t.Errorf("claude: %+v", p)
	}
	if p := all["g"]; p.ID != sessions.IDGiven {
		t.Errorf("g: %+v", p)
	}
	if len(all["codex"].Resume) == 0 {
		t.Error("the built-in profiles are gone")
	}
}
