package hook

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/e2e/rounds"
	"corral/runtime/rtapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runtimeFor answers posts with a status, or keeps them waiting when it is 0, and hands on what it was given.
func runtimeFor(t *testing.T, dir string, status int) <-chan rtapi.HookPost {
	t.Helper()
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := Prepare(dir, socket); err != nil {
		t.Fatal(err)
	}
	posts, done := make(chan rtapi.HookPost, 16), make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				t.Error(err)
				return
			}
			var p rtapi.HookPost
			if err := json.NewDecoder(r.Body).Decode(&p); err != nil || r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/v1/hooks" {
				t.Errorf("%v %v: %v", r.URL, r.Header, err)
			}
			posts <- p
			if status != 0 {
				fmt.Fprintf(conn, "HTTP/1.0 %d x\r\n\r\n", status)
				_ = conn.Close()
			} else {
				t.Cleanup(func() { _ = conn.Close() })
			}
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return posts
}

// patience is what a test gives a machine that does a hundred other things.
const patience = 20 * time.Second

func say(t *testing.T, dir, text string, env ...string) time.Duration {
	t.Helper()
	return sayWithin(t, forRead, forSend, dir, text, env...)
}

func sayWithin(t *testing.T, forRead, forSend time.Duration, dir, text string, env ...string) time.Duration {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // nothing was written
	go func() {
		_, _ = w.WriteString(text)
		if text != "" {
			_ = w.Close()
		}
	}()
	begun := time.Now()
	run(dir, r, append([]string{TokenVariable + "=secret"}, env...), forRead, forSend)
	took := time.Since(begun)
	_ = w.Close()
	return took
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "crh") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestAPostSaysWhatMatters(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	posts := runtimeFor(t, dir, 204)
	big := strings.Repeat("x", 100<<10)
	sayWithin(t, patience, patience, dir, `{"hook_event_name":"PostToolUse","session_id":"abc","tool_name":"Bash","tool_input":{"command":"ls `+big+`"},"tool_response":"`+big+`"}`,
		"TMUX_PANE=%7", "CLAUDE_PID=42", "HOME=/home/u", "CLAUDE_JOB_DIR=/x")
	var p rtapi.HookPost
	select {
	case p = <-posts:
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	if p.Pane != "%7" || p.AgentPID != 42 || !p.Background || p.ConfigDir != "/home/u/.claude" || p.ID == "" || p.At.IsZero() {
		t.Errorf("got %+v", p)
	}
	if len(p.Ancestors) < 2 || p.Ancestors[0] != os.Getppid() {
		t.Errorf("ancestors %v", p.Ancestors)
	}
	e := p.Event
	if e.Name != "PostToolUse" || e.Conversation != "abc" || e.Tool != "Bash" || e.Call == "" || !strings.HasPrefix(e.Text, "Bash: ls xxx") || len(e.Text) > maxText {
		t.Errorf("got %+v", e)
	}
	if names, err := ReadSpool(dir); err != nil || len(names) > 0 {
		t.Errorf("spooled although it was delivered: %v, %v", names, err)
	}
}

// A refusal is an answer; silence, a broken runtime and none at all are not.
func TestWhatIsNotDeliveredIsSpooled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ status, spooled int }{
		"refused": {401, 0}, "broken": {500, 1}, "silent": {0, 1}, "away": {-1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			if c.status >= 0 {
				runtimeFor(t, dir, c.status)
			} else if err := Prepare(dir, filepath.Join(dir, "nobody")); err != nil {
				t.Fatal(err)
			}
			forSend := patience
			if c.status == 0 {
				forSend = 100 * time.Millisecond
			}
			took := sayWithin(t, patience, forSend, dir, `{"hook_event_name":"Stop"}`)
			if rounds.Timing() && took > limit {
				t.Errorf("took %v", took)
			}
			names, err := ReadSpool(dir)
			if err != nil || len(names) != c.spooled {
				t.Fatalf("spool %v, %v", names, err)
			}
			for _, n := range names {
				info, err := os.Stat(filepath.Join(SpoolDir(dir), n))
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%v, %v", info.Mode(), err)
				}
				s, err := Take(dir, n)
				if err != nil || s.Token != "secret" || !strings.Contains(string(s.Post), `"Stop"`) {
					t.Errorf("took %+v, %v", s, err)
				}
				if _, err := Take(dir, n); err == nil {
					t.Error("taken twice")
				}
			}
		})
	}
}

func TestNothingDelaysOrBreaksTheAgent(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	if err := Prepare(dir, filepath.Join(dir, "nobody")); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", "null", "[]", `"x"`, "\x00\xff", strings.Repeat("[", 1<<16)} { // "" never ends
		if took := say(t, dir, text); rounds.Timing() && took > limit {
			t.Errorf("%.20q took %v", text, took)
		}
	}
	Run(filepath.Join(dir, "nowhere"), os.Stdin, nil) // without a token nothing is read
	say(t, filepath.Join(dir, "nowhere"), `{"hook_event_name":"Stop"}`)
}

// A spool that nobody empties does not grow for ever: the oldest go.
func TestTheSpoolIsBounded(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	if err := Prepare(dir, "nobody"); err != nil {
		t.Fatal(err)
	}
	for n := range maxSpool {
		path := filepath.Join(SpoolDir(dir), fmt.Sprintf("%019d-x%s", n+1, spoolSuffix))
		if err := os.WriteFile(path, []byte(`{"post":`+strconv.Itoa(n)+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n := maxSpool; n < maxSpool+10; n++ {
		if err := keep(dir, "secret", []byte(strconv.Itoa(n)), time.Unix(0, int64(n+1))); err != nil {
			t.Fatal(err)
		}
	}
	names, err := ReadSpool(dir)
	if err != nil || len(names) != maxSpool {
		t.Fatalf("%d, %v", len(names), err)
	}
	if s, err := Take(dir, names[0]); err != nil || string(s.Post) != "10" {
		t.Errorf("%s, %v", s.Post, err)
	}
}

func TestSettingsHaveTheUsersAndOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	users := filepath.Join(dir, "mine.json")
	if err := os.WriteFile(users, []byte(`{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}],"Odd":[]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	type settings struct {
		Model            string
		DisableAgentView bool
		Hooks            map[string][]matcher
	}
	for name, given := range map[string]string{"file": users, "inline": `{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}`} {
		path, err := Settings(dir, "/opt/it's/corral", Version{2, 1, 332}, given)
		if err != nil {
			t.Fatal(name, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var s settings
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		stop := s.Hooks["Stop"]
		if s.Model != "opus" || !s.DisableAgentView || len(stop) != 2 || stop[0].Hooks[0].Command != "mine" {
			t.Errorf("%s: got %+v", name, s)
			continue
		}
		want := `if [ -x '/opt/it'\''s/corral' ]; then exec '/opt/it'\''s/corral' hook '` + dir + `'; fi`
		if ours := stop[1].Hooks[0]; ours.Command != want || ours.Timeout != eventTimeout {
			t.Errorf("%s: got %+v, want %s", name, ours, want)
		}
	}
	for _, bad := range []string{filepath.Join(dir, "none"), "{", `{"hooks":[]}`} {
		if _, err := Settings(dir, "/c", Version{}, bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	one, _ := Settings(dir, "/c", Version{1, 0, 128}, "")
	two, _ := Settings(dir, "/c", Version{1, 0, 128}, "")
	if text, err := os.ReadFile(one); err != nil || one != two || strings.Contains(string(text), "PermissionRequest") {
		t.Errorf("%s %s %v", one, two, err)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Version{
		"2.1.332 (Claude Code)\n": {2, 1, 332}, "v1.0.128": {1, 0, 128}, "": {}, "a.b.c": {}, "2.1": {}, "warning\n2.0.75": {2, 0, 75},
	} {
		if got := ParseVersion(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}
