package service_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/service"
	"corral/sessions/internal/servicetest"
)

// Bad requests get one sentence that names the field, and leave nothing behind.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Prepare(t, servicetest.Options{})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		field string
		edit  func(*sessions.CreateRequest)
	}{
		{"cwd", func(r *sessions.CreateRequest) { r.CWD = "" }},
		{"cwd", func(r *sessions.CreateRequest) { r.CWD = "relative/path" }},
		{"cwd", func(r *sessions.CreateRequest) { r.CWD = "/no/such/directory" }},
		{"cwd", func(r *sessions.CreateRequest) { r.CWD = file }},
		{"cwd", func(r *sessions.CreateRequest) { r.CWD = "/tmp\x00" }},
		{"cwd", func(r *sessions.CreateRequest) { r.CWD = "/" + strings.Repeat("x", sessions.MaxPath) }},
		{"kind", func(r *sessions.CreateRequest) { r.Kind = "vm" }},
		{"args", func(r *sessions.CreateRequest) { r.Args = []string{"x"} }},
		{"args", func(r *sessions.CreateRequest) { r.Kind = sessions.KindCommand }},
		{"args", func(r *sessions.CreateRequest) { r.Kind, r.Args = sessions.KindCommand, []string{"a\x00b"} }},
		{"args", func(r *sessions.CreateRequest) { r.Kind, r.Args = sessions.KindCommand, []string{"\xff"} }},
		{"args", func(r *sessions.CreateRequest) { r.Kind, r.Args = sessions.KindCommand, make([]string, 257) }},
		{"args", func(r *sessions.CreateRequest) {
			r.Kind, r.Args = sessions.KindCommand, []string{strings.Repeat("x", sessions.MaxArgBytes+1)}
		}},
		{"env", func(r *sessions.CreateRequest) { r.Env = []string{"NOVALUE"} }},
		{"env", func(r *sessions.CreateRequest) { r.Env = []string{"1X=y"} }},
		{"env", func(r *sessions.CreateRequest) { r.Env = []string{"A=\x00"} }},
		{"cols", func(r *sessions.CreateRequest) { r.Cols = -1 }},
		{"cols", func(r *sessions.CreateRequest) { r.Rows = 100000 }},
		{"conversationId", func(r *sessions.CreateRequest) { r.ConversationID = "0b7c7bb3-7a4f-4e52-9f0a-0a6f6d1c2e31" }},
		{"conversationId", func(r *sessions.CreateRequest) { r.Kind, r.ConversationID = sessions.KindClaude, "--help" }},
		{"conversationId", func(r *sessions.CreateRequest) { r.Kind, r.ConversationID = "codex", "--help" }},
		{"conversationId", func(r *sessions.CreateRequest) { r.Kind, r.ConversationID = "aider", "x" }},
		{"args", func(r *sessions.CreateRequest) { r.Kind, r.Args = sessions.KindClaude, []string{"--resume=x"} }},
	}
	for i, test := range tests {
		req := sessions.CreateRequest{CWD: "/tmp"}
		test.edit(&req)
		if test.field == "args" && len(req.Args) == 257 {
			req.Args[0] = "x"
		}
		_, err := s.Service.Create(t.Context(), req)
		var e *sessions.Error
		if !errors.As(err, &e) || e.Code != sessions.CodeInvalid || e.Details["field"] != test.field {
			t.Errorf("%d: %v", i, err)
			continue
		}
		if e.Message == "" || e.Hint == "" || strings.ContainsAny(e.Error(), "\n\x00\x1b") || len(e.Error()) > 500 {
			t.Errorf("%d: not a sentence for people: %q", i, e.Error())
		}
	}
	rows, err := s.Store.List(t.Context())
	if err != nil || len(rows) != 0 {
		t.Errorf("%d rows were left behind, %v", len(rows), err)
	}
}

func TestDefaultTitles(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	dir := filepath.Join(t.TempDir(), "my project")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		req  sessions.CreateRequest
		want string
	}{
		{sessions.CreateRequest{CWD: dir}, "my project"},
		{sessions.CreateRequest{CWD: "/"}, "/"},
		{sessions.CreateRequest{CWD: dir, Kind: sessions.KindCommand, Args: []string{"/usr/bin/make", "-j", "all"}}, "make -j all"},
		{sessions.CreateRequest{CWD: dir, Title: "\x1b\x07"}, "my project"},
	}
	for _, test := range tests {
		made, err := s.Service.Create(t.Context(), test.req)
		if err != nil || made.Title != test.want {
			t.Errorf("%q, %v; want %q", made.Title, err, test.want)
		}
	}
}

func TestClaudeGetsAConversation(t *testing.T) {
	t.Parallel()
	s := newAgents(t)
	made, err := s.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp", Kind: sessions.KindClaude, Args: []string{"--model", "opus"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Runtime.Exit(string(made.ID), 0)
	s.Await(t, made.ID, sessions.Stopped)
	if _, err := s.Service.Restart(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	const given = "0b7c7bb3-7a4f-4e52-9f0a-0a6f6d1c2e31"
	s.keep(s.config(), given, "words", 0)
	if _, err := s.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp", Kind: sessions.KindClaude, ConversationID: given}); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"claude", "--session-id", made.ConversationID, "--settings", rtapi.SettingsFile, "--model", "opus"},
		{"claude", "--session-id", made.ConversationID, "--settings", rtapi.SettingsFile, "--model", "opus"},
		{"claude", "--resume", given, "--settings", rtapi.SettingsFile},
	}
	for i, l := range s.Runtime.Launches() {
		if !slices.Equal(l.Argv, want[i]) || !l.KeepTmuxEnv || !l.Hooks {
			t.Errorf("launch %d: %q", i, l.Argv)
		}
	}
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, d := range []string{"src", "srv", ".hidden", "other", "secret/inner"} {
		if err := os.MkdirAll(filepath.Join(home, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "srcfile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(home, "other"), filepath.Join(home, "srlink")); err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) []string {
		var paths []string
		for _, n := range names {
			paths = append(paths, filepath.Join(home, n))
		}
		return paths
	}
	tests := []struct {
		prefix string
		want   []string
	}{
		{home + "/sr", in("src", "srlink", "srv")},
		{"~/sr", in("src", "srlink", "srv")},
		{"~", in("other", "secret", "src", "srlink", "srv")},
		{"", in("other", "secret", "src", "srlink", "srv")},
		{home + "/.", in(".hidden")},
		{home + "/secret/", in("secret/inner")},
		{home + "/nothing/", nil},
		{"relative", nil},
		{"~other/", nil},
		{"/tmp\x00", nil},
	}
	for _, test := range tests {
		if got := service.Directories(t.Context(), home, test.prefix); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.prefix, got, test.want)
		}
	}
	for i := range 80 {
		if err := os.Mkdir(filepath.Join(home, "other", fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := service.Directories(t.Context(), home, home+"/other/"); len(got) != 50 {
		t.Errorf("%d offered", len(got))
	}
}
