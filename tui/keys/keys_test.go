package keys_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"corral/tui/keys"
)

var update = flag.Bool("update", false, "write docs/keys.md")

func TestNoKeyMeansTwoThingsInOneContext(t *testing.T) {
	t.Parallel()
	m := keys.New("")
	for _, c := range keys.Contexts() {
		owner := map[string]keys.Action{}
		for _, b := range m.Bindings(c) {
			for _, k := range b.Keys {
				if other, taken := owner[k]; taken {
					t.Errorf("%s: %q is both %s and %s", c, k, other, b.Action)
				}
				owner[k] = b.Action
				if got := m.Lookup(c, k); got != b.Action {
					t.Errorf("%s: Lookup(%q) = %q, want %q", c, k, got, b.Action)
				}
			}
		}
		if len(owner) == 0 {
			t.Errorf("%s has no keys", c)
		}
	}
}

func TestEveryBindingExplainsItself(t *testing.T) {
	t.Parallel()
	m := keys.New("")
	for _, c := range keys.Contexts() {
		for _, b := range m.Bindings(c) {
			if len(b.Keys) == 0 || b.Short == "" || b.Long == "" {
				t.Errorf("%s %s lacks keys or help: %+v", c, b.Action, b)
			}
		}
	}
}

func TestChosenKeys(t *testing.T) {
	t.Parallel()
	m, err := keys.Custom("ctrl+a", map[string]string{"quit": "Q", "history.search": "f /", "log.leave": "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		context keys.Context
		key     string
		want    keys.Action
	}{
		{keys.Dashboard, "Q", keys.Quit},
		{keys.Dashboard, "q", keys.None},
		{keys.Dashboard, "ctrl+c", keys.None},
		{keys.History, "f", keys.Search},
		{keys.History, "/", keys.Search},
		{keys.Pane, "ctrl+a", keys.Leave},
		{keys.Log, "x", keys.Leave},
		{keys.Log, "ctrl+a", keys.Leave},
		{keys.Log, "q", keys.None},
	} {
		if got := m.Lookup(tt.context, tt.key); got != tt.want {
			t.Errorf("%s in %s is %q, want %q", tt.key, tt.context, got, tt.want)
		}
	}
	for name, tt := range map[string]struct{ action, key, says string }{
		"no such action":  {"quti", "Q", "keys.quti is no key"},
		"no such context": {"hitsory.search", "Q", "is no key"},
		"no key":          {"quit", " ", "names no key"},
		"not a key":       {"quit", "Ctrl-Q", "is no key; write it as"},
		"taken":           {"quit", "n", "the key n is both"},
		"the prefix":      {"session.leave", "x", "prefix is that key"},
	} {
		if _, err := keys.Custom("", map[string]string{tt.action: tt.key}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	live := keys.Situation{Selected: true, Live: true}
	ended := keys.Situation{Selected: true, Ended: true}
	lost := keys.Situation{Selected: true, Ended: true, Recoverable: true}
	down := keys.Situation{Selected: true, Live: true, Down: true, CanStart: true}
	running := keys.Situation{Task: true}
	over := keys.Situation{Task: true, TaskEnded: true}
	tests := []struct {
		action keys.Action
		in     keys.Situation
		want   string // part of the reason, "" for possible
	}{
		{keys.Enter, keys.Situation{}, "no session is selected"},
		{keys.Enter, live, ""},
		{keys.Enter, ended, "R restarts"},
		{keys.Enter, lost, "R restarts it, x closes"},
		{keys.Enter, keys.Situation{Selected: true, Live: true, Starting: true}, "starting"},
		{keys.Restart, live, "only an ended"},
		{keys.Restart, ended, ""},
		{keys.Restart, lost, ""},
		{keys.Stop, live, ""},
		{keys.Stop, lost, ""},
		{keys.Stop, ended, "ended already"},
		{keys.Stop, keys.Situation{Selected: true, Live: true, Stopping: true}, "being stopped"},
		{keys.Remove, live, "only an ended"},
		{keys.Remove, ended, ""},
		{keys.Create, keys.Situation{}, ""},
		{keys.Create, keys.Situation{Down: true}, "press u"},
		{keys.Create, keys.Situation{Unreachable: true}, "no server"},
		{keys.Stop, down, "press u"},
		{keys.ShowLog, live, ""},
		{keys.ShowLog, running, ""},
		{keys.Enter, running, ""},
		{keys.Stop, running, ""},
		{keys.Remove, running, "only an ended task"},
		{keys.Rename, running, "keeps its title"},
		{keys.Stop, over, "ended already"},
		{keys.Remove, over, ""},
		{keys.Restart, over, ""},
		{keys.Stop, keys.Situation{Task: true, Down: true}, "press u"},
		{keys.Run, keys.Situation{}, ""},
		{keys.Run, keys.Situation{Unreachable: true}, "no server"},
		{keys.StartUp, down, ""},
		{keys.StartUp, keys.Situation{Unreachable: true, CanStart: true}, ""},
		{keys.StartUp, live, "nothing to start"},
		{keys.StartUp, keys.Situation{Down: true}, "corral up"},
		{keys.Quit, keys.Situation{Down: true}, ""},
		{keys.Help, keys.Situation{}, ""},
	}
	for _, tt := range tests {
		got := keys.Reason(tt.action, tt.in)
		if tt.want == "" && got != "" {
			t.Errorf("Reason(%s, %+v) = %q, want none", tt.action, tt.in, got)
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("Reason(%s, %+v) = %q, want it to say %q", tt.action, tt.in, got, tt.want)
		}
	}
}

func TestDocumentationAgrees(t *testing.T) {
	t.Parallel()
	const page = "../../docs/keys.md"
	want := keys.New("").Markdown()
	if *update {
		if err := os.MkdirAll("../../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/keys.md is stale; go test ./tui/keys -update writes it:\n%s", diff)
	}
}
