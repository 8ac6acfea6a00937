package launch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMain makes this test binary a `corral launch` when it is told so: Exec replaces its process.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "launch" {
		os.Exit(Exec(os.Args[2]))
	}
	os.Exit(m.Run())
}

// launched runs spec and returns what it printed and its exit status.
func launched(t *testing.T, spec Spec, env ...string) (stdout, stderr string, status int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spec")
	if err := Write(path, spec); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the spec has mode %v, %v", info.Mode(), err)
	}
	return start(t, path, env...)
}

func start(t *testing.T, path string, env ...string) (stdout, stderr string, status int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "launch", path)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SHELL=/bin/sh"}, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the status is looked at
	if _, err := os.Stat(path); err == nil {
		t.Error("the spec is still there")
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestTheProgramGetsItsArgumentsExactly(t *testing.T) {
	t.Parallel()
	args := []string{"", "a b", `"$HOME"`, "'", "*", "\n", "-n", "ä", "$(id)", "\x1b[31m"}
	out, errs, status := launched(t, Spec{Argv: append([]string{"printf", "<%s>"}, args...), CWD: "/"})
	want := "<" + strings.Join(args, "><") + ">"
	if out != want || status != 0 {
		t.Errorf("got %q, %q, %d, want %q", out, errs, status, want)
	}
}

func TestTheEnvironmentIsTheProgramsOwn(t *testing.T) {
	t.Parallel()
	base := []string{
		"A=1", "TMUX=/x,1,0", "TMUX_PANE=%1", "CR_DATA_DIR=/d", "CLAUDECODE=1", "CLAUDE_X=1", "CLAUDEX=kept",
		"TERM_PROGRAM=tmux", "TERM_PROGRAM_VERSION=3", "TERM=tmux-256color", "PWD=/old", "OLDPWD=/o", "SHLVL=3", "junk",
	}
	got := Environment(base, Spec{CWD: "/new", Env: []string{"A=2", "B=x=y", "CR_HOOK_TOKEN=t", "=bad"}})
	want := []string{"A=2", "CLAUDEX=kept", "TERM=tmux-256color", "PWD=/new", "B=x=y", "CR_HOOK_TOKEN=t"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = Environment(base, Spec{CWD: "/new", KeepTmuxEnv: true})
	if !slices.Contains(got, "TMUX=/x,1,0") || !slices.Contains(got, "TMUX_PANE=%1") {
		t.Errorf("got %q", got)
	}
}

func TestItStartsInItsDirectoryWithItsEnvironment(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	out, _, _ := launched(t, Spec{Argv: []string{"sh", "-c", `pwd -P; pwd; echo "$SECRET $TMUX"`}, CWD: link, Env: []string{"SECRET=s"}}, "TMUX=x")
	if want := dir + "\n" + link + "\ns \n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestWhatCannotStartIsSaidInOneSentence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec   Spec
		say    string
		status int
	}{
		"directory": {Spec{CWD: "/nonexistent/x"}, "corral: the directory /nonexistent/x cannot be entered: no such file or directory\n", 127},
		"file":      {Spec{CWD: "/etc/passwd"}, "corral: the directory /etc/passwd cannot be entered: not a directory\n", 126},
		"program":   {Spec{CWD: "/", Argv: []string{"no-such-program-here"}}, "no-such-program-here", 127},
	} {
		_, errs, status := launched(t, c.spec)
		if status != c.status || !strings.Contains(errs, c.say) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: %q, %d", name, errs, status)
		}
	}
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := start(t, bad); status != 126 || !strings.HasPrefix(errs, "corral: what to start cannot be understood") {
		t.Errorf("%q, %d", errs, status)
	}
	if _, errs, status := start(t, filepath.Join(t.TempDir(), "none")); status != 127 || !strings.HasPrefix(errs, "corral: what to start cannot be read") {
		t.Errorf("%q, %d", errs, status)
	}
}

func TestShells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shell string
		argv  []string
		want  []string
	}{
		{"/bin/bash", nil, []string{"/bin/bash", "-bash"}},
		{"/bin/zsh", []string{"vi", "x"}, []string{"/bin/zsh", "/bin/zsh", "-lc", `exec "$@"`, "vi", "vi", "x"}},
		{"/usr/bin/fish", []string{"vi", "x"}, []string{"/usr/bin/fish", "/usr/bin/fish", "-lc", "exec $argv", "vi", "x"}},
		{"/bin/tcsh", []string{"vi"}, []string{"/bin/sh", "/bin/sh", "-lc", `exec "$@"`, "vi", "vi"}},
		{"/bin/tcsh", nil, []string{"/bin/tcsh", "-tcsh"}},
	} {
		file, argv := command(c.shell, c.argv)
		if diff := cmp.Diff(c.want, append([]string{file}, argv...)); diff != "" {
			t.Error(diff)
		}
	}
	passwd := "root:x:0:0:root:/root:/bin/zsh\nbad line\nme:x:1000:1000:,,,:/home/me:/bin/bash\n"
	if got := passwdShell(strings.NewReader(passwd), 1000); got != "/bin/bash" {
		t.Errorf("got %q", got)
	}
	if got := passwdShell(strings.NewReader(passwd), 7); got != "" {
		t.Errorf("got %q", got)
	}
	for _, sh := range []string{"", "bash", "/usr/sbin/nologin", "/bin/false", "/nonexistent", "/etc/passwd", "/etc"} {
		if usable(sh) {
			t.Errorf("%q is taken for a shell", sh)
		}
	}
	if got := loginShell([]string{"SHELL=/bin/sh"}); got != "/bin/sh" {
		t.Errorf("got %q", got)
	}
}

func TestTheFormerScreenComesFirst(t *testing.T) {
	t.Parallel()
	out, _, _ := launched(t, Spec{Argv: []string{"echo", "new"}, CWD: "/", Screen: []string{"one", "\x1b[31mtwo"}})
	if want := "\x1b)0one\r\n\x1b[31mtwo\x1b[0m\x0f\x1b)B\r\nnew\n"; out != want {
		t.Errorf("got %q", out)
	}
}
