package tmux

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"corral/e2e/program"

	"github.com/google/go-cmp/cmp"

	"corral/runtime/rtapi"
)

func TestScopes(t *testing.T) {
	t.Parallel()
	lingers := func(user string) bool { return user == "ann" }
	for name, c := range map[string]struct {
		d    systemd
		want string // beginning of the command
	}{
		"no systemd":     {systemd{run: "sr", linger: lingers}, ""},
		"no systemd-run": {systemd{running: true, linger: lingers}, ""},
		"root":           {systemd{running: true, run: "sr", linger: lingers}, "sr --scope --quiet --collect --description=Corral's terminal sessions --"},
		"lingering user": {systemd{running: true, run: "sr", uid: 7, env: []string{"USER=ann"}, linger: lingers}, "sr --scope --quiet --collect --description=Corral's terminal sessions --user --"},
		"passing user":   {systemd{running: true, run: "sr", uid: 7, env: []string{"USER=bob"}, linger: lingers}, ""},
		"nameless user":  {systemd{running: true, run: "sr", uid: 7, linger: lingers}, ""},
	} {
		if got := strings.Join(c.d.scope(), " "); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestPlacementIsToldFromTheControlGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loginctl := func(says string) string {
		path := filepath.Join(dir, "loginctl-"+says)
		program.Write(t, path, []byte("#!/bin/sh\necho "+says+"\n"))
		return path
	}
	for group, c := range map[string]struct {
		user, loginctl, want string
	}{
		"/user.slice/user-7.slice/session-3.scope":                         {"bob", loginctl("no"), "session true"},
		"/user.slice/user-7.slice/session-4.scope":                         {"bob", loginctl("yes"), "session false"},
		"/user.slice/user-7.slice/session-5.scope":                         {"bob", "", "session unknown"},
		"/user.slice/user-7.slice/session-6.scope":                         {"bob", "/nonexistent", "session unknown"},
		"/system.slice/run-r1.scope":                                       {"root", "", "scope true"},
		"/system.slice/corral.service":                                     {"root", "", "unit true"},
		"/user.slice/user-7.slice/user@7.service/app.slice/run-r1.scope":   {"ann", "", "scope true"},
		"/user.slice/user-7.slice/user@7.service/app.slice/run-r2.scope":   {"bob", "", "scope false"},
		"/user.slice/user-7.slice/user@7.service/app.slice/corral.service": {"bob", "", "unit false"},
		"/": {"bob", "", "session unknown"},
	} {
		d := systemd{
			running: true, env: []string{"USER=" + c.user}, loginctl: c.loginctl,
			cgroup: func(int) (string, error) { return group, nil },
			linger: func(user string) bool { return user == "ann" },
		}
		placement, survives := d.placed(t.Context(), 1)
		if got := placement + " " + survives; got != c.want {
			t.Errorf("%s: %s, want %s", group, got, c.want)
		}
	}
	if p, s := (systemd{}).placed(t.Context(), 1); p+" "+s != "session true" {
		t.Errorf("without systemd: %s %s", p, s)
	}
	broken := systemd{running: true, cgroup: func(int) (string, error) { return "", errors.New("no") }}
	if p, s := broken.placed(t.Context(), 1); p+" "+s != "session unknown" {
		t.Errorf("unreadable: %s %s", p, s)
	}
}

func TestTheScopeGetsTheCleanEnvironmentAndItsFailureIsNoFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		program.Write(t, path, []byte("#!/bin/sh\n"+text+"\n"))
		return path
	}
	server := script("server", "env > "+out)
	for name, run := range map[string]string{
		// What systemd-run does, as far as it matters: drop the options, go on with its own environment.
		"works": script("works", `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`),
		"fails": script("fails", "exit 1"),
	} {
		_ = os.Remove(out)
		d := systemd{running: true, run: run, env: []string{"PATH=/usr/bin:/bin", "NOISE=1"}}
		err := d.start(t.Context(), []string{server}, []string{"PATH=/usr/bin:/bin", "LANG=C"}, slog.New(slog.DiscardHandler))
		got, rerr := os.ReadFile(out)
		if err != nil || rerr != nil || strings.Contains(string(got), "NOISE") || strings.Contains(string(got), "XDG_") || !strings.Contains(string(got), "LANG=C") {
			t.Errorf("%s: %v, %v, %q", name, err, rerr, got)
		}
	}
}

func TestTheRecordSurvives(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tmux.json")
	st, at, err := loadState(path)
	if err != nil || st.Server.PID != 0 || !at.IsZero() {
		t.Errorf("none: %+v, %v, %v", st, at, err)
	}
	for i := range maxEnded + 3 {
		st.Server, st.Socket = rtapi.Incarnation{PID: 100 + i, Start: 5, BootID: "b"}, "/s"
		if i < maxEnded+2 {
			st.end(time.Unix(int64(i), 0).UTC())
		}
	}
	if err := st.save(path); err != nil {
		t.Fatal(err)
	}
	got, at, err := loadState(path)
	if err != nil || time.Since(at) > time.Minute {
		t.Errorf("%v, %v", at, err)
	}
	if diff := cmp.Diff(st, got); diff != "" {
		t.Error(diff)
	}
	if len(got.Ended) != maxEnded || got.Ended[0].Server.PID != 100+maxEnded+1 {
		t.Errorf("ended: %+v", got.Ended)
	}
	if err := os.WriteFile(path, []byte(`{"server":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadState(path); err == nil {
		t.Error("half a record was taken for one")
	}
}

// A runtime that finds no record, or half of one, still finds the server by its socket.
func TestAServerWithoutARecordIsAdopted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, newSession("lives", "sleep 60"))
	server := b.Status().Server
	for _, text := range []string{"", "{"} {
		b.stop()
		if err := os.Remove(b.cfg.StatePath); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(b.cfg.StatePath, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b.serve(t)
		b.must(t, Command{"has-session", "-t", "=lives"})
		if got := b.Status().Server; got != server {
			t.Errorf("server %v became %v", server, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.stop()
	if _, err := b.Run(ctx, Command{"list-sessions"}); !errors.Is(err, ErrDown) {
		t.Errorf("without a connection: %v", err)
	}
}
