// Package launch starts a session's program inside its pane: it is what runs as `corral launch <spec>`, as the pane's
// first process, and becomes the program. Few imports and no goroutine: it runs at every start.
package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Spec says what to start. It travels in a file with mode 0600 because the environment may hold secrets.
type Spec struct {
	Argv        []string `json:"argv,omitempty"` // empty: the login shell
	Line        string   `json:"line,omitempty"` // instead of Argv: what the login shell is to do
	Env         []string `json:"env,omitempty"`
	CWD         string   `json:"cwd"`
	KeepTmuxEnv bool     `json:"keepTmuxEnv,omitempty"`
	// Screen is what the pane showed before, when it is used again: printed first, because a respawn keeps the
	// history but not the screen.
	Screen []string `json:"screen,omitempty"`
}

// Exit statuses of a program that could not be started, as shells have them.
const (
	statusNotExecutable = 126
	statusNotFound      = 127
)

// Write writes spec to path.
func Write(path string, spec Spec) error {
	b, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("write the launch file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the launch file: %w", err)
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the launch file: %w", err)
	}
	return nil
}

// Exec reads and removes the spec at path and becomes its program. It returns only when it could not: with the exit
// status to end with, after one sentence on standard error, which is the pane.
func Exec(path string) int {
	err := run(path)
	// The pane is a terminal in its usual mode: a line feed returns the carriage too.
	fmt.Fprintf(os.Stderr, "corral: %v\n", err)
	if errors.Is(err, fs.ErrNotExist) {
		return statusNotFound
	}
	return statusNotExecutable
}

func run(path string) error {
	spec, err := read(path)
	if err != nil {
		return err
	}
	if len(spec.Screen) > 0 {
		// Whatever attributes and character sets its last line left on must not colour the new program.
		former := "\x1b)0" + strings.Join(spec.Screen, "\r\n") + "\x1b[0m\x0f\x1b)B\r\n"
		if _, err := os.Stdout.WriteString(former); err != nil {
			return fmt.Errorf("the former screen cannot be shown: %w", reason(err))
		}
	}
	if err := os.Chdir(spec.CWD); err != nil {
		return fmt.Errorf("the directory %s cannot be entered: %w", spec.CWD, reason(err))
	}
	env := Environment(os.Environ(), spec)
	shell := loginShell(env)
	file, argv := command(shell, spec.Argv)
	if spec.Line != "" {
		file, argv = commandLine(shell, spec.Line)
	}
	if err := syscall.Exec(file, argv, env); err != nil {
		return fmt.Errorf("%s cannot be started: %w", file, err)
	}
	return nil // not reached
}

func read(path string) (Spec, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Spec{}, fmt.Errorf("what to start cannot be read: %w", reason(err))
	}
	if err := os.Remove(path); err != nil {
		return Spec{}, fmt.Errorf("what to start cannot be removed: %w", reason(err))
	}
	var spec Spec
	if err := json.Unmarshal(b, &spec); err != nil {
		return Spec{}, fmt.Errorf("what to start cannot be understood: %w", err)
	}
	return spec, nil
}

// reason strips the operation and the path, which the sentence names already.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Environment is what the program gets: the pane's, less what tells of tmux, of Corral and of an agent that Corral may
// have been started from, plus spec's own.
func Environment(base []string, spec Spec) []string {
	var out []string
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		if !dropped(name, spec.KeepTmuxEnv) {
			out = set(out, kv)
		}
	}
	out = set(out, "PWD="+spec.CWD) // a shell takes it for the name of its directory when it is one
	for _, kv := range spec.Env {
		out = set(out, kv)
	}
	return out
}

func dropped(name string, keepTmux bool) bool {
	switch {
	case name == "TMUX", name == "TMUX_PANE":
		return !keepTmux
	case name == "OLDPWD", name == "SHLVL", name == "_":
		return true // of the shell that is not there
	case name == "CLAUDECODE", strings.HasPrefix(name, "CLAUDE_"):
		return true // else an agent believes that it runs inside another
	}
	return strings.HasPrefix(name, "CR_") || strings.HasPrefix(name, "TERM_PROGRAM")
}

// set replaces or adds one K=V.
func set(env []string, kv string) []string {
	name, _, ok := strings.Cut(kv, "=")
	if !ok || name == "" {
		return env
	}
	for i, have := range env {
		if strings.HasPrefix(have, name+"=") {
			env[i] = kv
			return env
		}
	}
	return append(env, kv)
}

func value(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// Command returns what to execute for argv, through the login shell that env names.
func Command(env, argv []string) (file string, args []string) { return command(loginShell(env), argv) }

// command returns what to execute: the login shell itself, or argv through it, so that PATH and everything else the
// user's profile sets is the user's, today's.
func command(shell string, argv []string) (file string, args []string) {
	if len(argv) == 0 {
		return shell, []string{"-" + filepath.Base(shell)}
	}
	script := `exec "$@"`
	if filepath.Base(shell) == "fish" {
		return shell, append([]string{shell, "-lc", "exec $argv"}, argv...)
	}
	shell = likeSh(shell)
	return shell, append([]string{shell, "-lc", script, argv[0]}, argv...)
}

// commandLine returns what to execute for a line of the login shell's own language.
func commandLine(shell, line string) (file string, args []string) {
	if filepath.Base(shell) != "fish" {
		shell = likeSh(shell)
	}
	return shell, []string{shell, "-lc", line}
}

// likeSh replaces shells that have another language, or other options, than sh.
func likeSh(shell string) string {
	switch filepath.Base(shell) {
	case "csh", "tcsh", "nu", "xonsh", "elvish", "pwsh":
		return fallbackShell
	}
	return shell
}
