package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"corral/runtime/rtapi"
)

func testEnvironments(t *testing.T) environments {
	t.Helper()
	dir := t.TempDir()
	return environments{
		dir: dir, base: []string{"HOME=" + dir, "SHELL=/bin/sh", "PATH=" + os.Getenv("PATH")},
		agent: filepath.Join(t.TempDir(), AgentLink),
	}
}

// What a session was given comes again with each start, is nobody else's and goes with the session.
func TestEnvironmentIsKept(t *testing.T) {
	t.Parallel()
	e := testEnvironments(t)
	of := func(id string, run int, env ...string) []string {
		t.Helper()
		got, err := e.of(rtapi.LaunchRequest{Meta: rtapi.Meta{ID: id, Run: run}, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	of("one", 1, "A=1", "B=x y\nz")
	of("two", 1)
	if got := of("one", 2); !slices.Equal(got, []string{"A=1", "B=x y\nz"}) {
		t.Errorf("one has %q at its restart", got)
	}
	if got := of("two", 2); len(got) != 0 {
		t.Errorf("two has %q", got)
	}
	info, err := os.Stat(e.file("one"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := e.forget("one"); err != nil {
		t.Fatal(err)
	}
	if got := of("one", 3); len(got) != 0 {
		t.Errorf("one has %q after it was forgotten", got)
	}
	if left, err := os.ReadDir(e.dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A program is given the link, as long as there is one and the user named no agent of his own.
func TestAgentLinkIsHandedOn(t *testing.T) {
	t.Parallel()
	e := testEnvironments(t)
	if got := e.withAgent([]string{"A=1"}); !slices.Equal(got, []string{"A=1"}) {
		t.Errorf("without a link: %q", got)
	}
	if err := os.Symlink("/gone/since", e.agent); err != nil {
		t.Fatal(err)
	}
	if got := e.withAgent([]string{"A=1"}); !slices.Equal(got, []string{"SSH_AUTH_SOCK=" + e.agent, "A=1"}) {
		t.Errorf("with a link: %q", got)
	}
}

// A variable is what the program would see: the session's own, else what the login scripts say.
func TestVariablesOfASession(t *testing.T) {
	t.Parallel()
	e := testEnvironments(t)
	profile := "echo noise; X_CONFIG='/from the/profile'; export X_CONFIG; printf more\n"
	if err := os.WriteFile(filepath.Join(e.dir, ".profile"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.keep("mine", []string{"X_CONFIG=/mine", "SECRET=s"}); err != nil {
		t.Fatal(err)
	}
	terms := &terminals{environments: e}
	for _, tt := range []struct {
		id    string
		login bool
		want  string
	}{{"mine", false, "/mine"}, {"other", false, ""}, {"other", true, "/from the/profile"}} {
		got, err := terms.Variables(t.Context(), tt.id, []string{"HOME", "X_CONFIG"}, tt.login)
		if err != nil || got["X_CONFIG"] != tt.want || got["HOME"] != e.dir || got["SECRET"] != "" {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
	for _, bad := range [][]string{{"A;rm"}, {"$(x)"}, {""}} {
		if _, err := terms.Variables(t.Context(), "mine", bad, false); err == nil || !strings.Contains(err.Error(), "no name of a variable") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := terms.Variables(t.Context(), "../x", []string{"A"}, false); err == nil {
		t.Error("a path was taken for an id")
	}
}
