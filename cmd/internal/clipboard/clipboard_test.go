package clipboard_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"corral/cmd/internal/clipboard"
)

// install puts a program into a directory; another process writes it, so that it can be executed at once.
func install(t *testing.T, dir, name, script string) {
	t.Helper()
	write := exec.Command("/bin/sh", "-c", `printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod 700 "$1"`, "sh", filepath.Join(dir, name), script)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestTheToolOfTheDesktopIsUsed(t *testing.T) { //nolint:paralleltest // it sets PATH
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	out := filepath.Join(dir, "out")
	for _, name := range []string{"wl-copy", "xclip", "xsel"} {
		install(t, dir, name, `{ echo `+name+` "$@"; cat; } >`+out)
	}
	for want, d := range map[string]clipboard.Desktop{
		"wl-copy\ntext":                    {Wayland: "wayland-0", X11: ":0"},
		"xclip -selection clipboard\ntext": {X11: ":0"},
	} {
		tool := clipboard.Find(d)
		if tool == nil {
			t.Fatalf("no tool for %+v", d)
		}
		if err := tool.Copy(t.Context(), []byte("text")); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(out); err != nil || string(got) != want {
			t.Errorf("%+v: got %q (%v), want %q", d, got, err, want)
		}
	}
	if clipboard.Find(clipboard.Desktop{}) != nil {
		t.Error("a tool without a desktop")
	}
}

func TestAToolThatHangsIsGivenUp(t *testing.T) { //nolint:paralleltest // it sets PATH
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	install(t, dir, "wl-copy", "exec sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := clipboard.Find(clipboard.Desktop{Wayland: "x"}).Copy(ctx, []byte("text")); err == nil {
		t.Error("no error")
	}
}
