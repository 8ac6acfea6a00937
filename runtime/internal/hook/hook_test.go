package hook

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	posts "corral/runtime/hook"
	"corral/runtime/rtapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a receiver of one session, at run 2 in pane %5 with process 500.
type desk struct {
	*Receiver
	got  []rtapi.HookPost
	fail error
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir := t.TempDir()
	if err := posts.Prepare(filepath.Join(dir, "hooks"), "nobody"); err != nil {
		t.Fatal(err)
	}
	d := &desk{}
	d.Receiver = New(Config{
		Dir: filepath.Join(dir, "hooks"), TokenFile: filepath.Join(dir, "hook-token"), Log: slog.New(slog.DiscardHandler),
		Pane: func(id string) (Pane, bool) { return Pane{Run: 2, Pane: "%5", PID: 500}, id == "one" },
		Deliver: func(_ context.Context, _ string, _ int, p rtapi.HookPost) error {
			if d.fail == nil {
				d.got = append(d.got, p)
			}
			return d.fail
		},
	})
	return d
}

func body(t *testing.T, edits ...func(*rtapi.HookPost)) []byte {
	t.Helper()
	p := rtapi.HookPost{ID: "1", At: time.Now(), Pane: "%5", Ancestors: []int{700, 600, 500, 1}, Event: rtapi.HookEvent{Name: "Stop"}}
	for _, edit := range edits {
		edit(&p)
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func code(err error) string {
	var e *rtapi.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestOnlyTheSessionsOwnAgentIsBelieved(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := d.Receive(t.Context(), "x", body(t)); code(err) != "runtime_unreachable" {
		t.Errorf("before Begin: %v", err)
	}
	if err := d.Begin(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	token := func(id string, run int) string {
		tok, err := d.Token(t.Context(), id, run)
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	good := token("one", 2)
	forged := strings.Replace(good, "one", "two", 1)
	for name, c := range map[string]struct {
		token string
		body  []byte
		want  string
	}{
		"no token":          {"", body(t), "unauthenticated"},
		"a forged one":      {forged, body(t), "unauthenticated"},
		"a cut one":         {good[:len(good)-1], body(t), "unauthenticated"},
		"not JSON":          {good, []byte("{"), "invalid"},
		"no event":          {good, []byte(`{"id":"2"}`), "invalid"},
		"of a former run":   {token("one", 1), body(t), "forbidden"},
		"of no session":     {token("two", 2), body(t), "forbidden"},
		"in another pane":   {good, body(t, func(p *rtapi.HookPost) { p.Pane = "%6" }), "forbidden"},
		"not in the pane":   {good, body(t, func(p *rtapi.HookPost) { p.Ancestors = []int{700, 1} }), "forbidden"},
		"in the background": {good, body(t, func(p *rtapi.HookPost) { p.Background = true }), "forbidden"},
		"too large":         {good, make([]byte, rtapi.MaxHook+1), "too_large"},
		"the true one":      {good, body(t), ""},
	} {
		err := d.Receive(t.Context(), c.token, c.body)
		if code(err) != c.want || c.want == "" && err != nil {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	want := rtapi.Hooks{Accepted: 1, Refused: 5, Foreign: 5, Oversized: 1}
	if got := d.Counts(); got != want || len(d.got) != 1 {
		t.Errorf("got %+v, want %+v; %d delivered", got, want, len(d.got))
	}
}

func TestAPostCountsOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := d.Begin(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	token, err := d.Token(t.Context(), "one", 2)
	if err != nil {
		t.Fatal(err)
	}
	future := body(t, func(p *rtapi.HookPost) { p.At = time.Now().Add(time.Hour) })
	d.fail = errors.New("busy") // the client spools it, and it comes again
	if err := d.Receive(t.Context(), token, future); err == nil {
		t.Error("lost in silence")
	}
	d.fail = nil
	for range 2 {
		if err := d.Receive(t.Context(), token, future); err != nil {
			t.Error(err)
		}
	}
	if got := d.Counts(); got.Accepted != 1 || got.Doubled != 1 || len(d.got) != 1 {
		t.Errorf("got %+v, %d delivered", got, len(d.got))
	}
	if d.got[0].At.After(time.Now()) {
		t.Error("the future is believed")
	}
}

// The token file lives as long as any session's process; what was spooled under the old one is taken before it goes.
func TestTheTokenFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	spool := func(token string, b []byte) {
		t.Helper()
		text, err := json.Marshal(posts.Spooled{Token: token, Post: b})
		if err == nil {
			err = os.WriteFile(filepath.Join(posts.SpoolDir(d.cfg.Dir), token[len(token)-4:]+".json"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tokens := map[string]string{}
	for _, life := range []struct {
		name  string
		alive bool
	}{{"first", false}, {"second", true}, {"third", false}} {
		d.begun = make(chan struct{}) // another life
		if err := d.Begin(t.Context(), life.alive); err != nil {
			t.Fatal(err)
		}
		token, err := d.Token(t.Context(), "one", 2)
		if err != nil {
			t.Fatal(err)
		}
		tokens[life.name] = token
		if info, err := os.Stat(d.cfg.TokenFile); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if life.name == "second" {
			spool(token, body(t))
		}
	}
	if tokens["first"] != tokens["second"] || tokens["second"] == tokens["third"] {
		t.Errorf("got %v", tokens)
	}
	if len(d.got) != 1 || d.Counts().Spooled != 1 {
		t.Errorf("%d delivered from the spool, %+v", len(d.got), d.Counts())
	}
	if err := d.Receive(t.Context(), tokens["first"], body(t)); code(err) != "unauthenticated" {
		t.Errorf("the old token: %v", err)
	}
	if err := os.WriteFile(d.cfg.TokenFile, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.begun = make(chan struct{})
	if err := d.Begin(t.Context(), true); err != nil { // what is no key is made anew
		t.Fatal(err)
	}
	if k, err := loadKey(d.cfg.TokenFile); err != nil || len(k) != keySize {
		t.Errorf("%v, %v", k, err)
	}
}

func TestTheSpoolIsTakenAsItComes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := d.Begin(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	token, err := d.Token(t.Context(), "one", 2)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan rtapi.HookPost, 4)
	d.cfg.Deliver = func(_ context.Context, _ string, _ int, p rtapi.HookPost) error { taken <- p; return nil }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	for _, id := range []string{"a", "b"} {
		text, err := json.Marshal(posts.Spooled{Token: token, Post: body(t, func(p *rtapi.HookPost) { p.ID = id })})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(posts.SpoolDir(d.cfg.Dir), id)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, path+".json"); err != nil {
			t.Fatal(err)
		}
		if p := <-taken; p.ID != id {
			t.Errorf("got %s", p.ID)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
