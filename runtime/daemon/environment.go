package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/launch"
	"corral/runtime/rtapi"
)

// environments keeps what each session was given with --env, so that a restart has it too: a file with mode 0600 for each
// session that was given something, in a directory of ours, and nowhere else.
type environments struct {
	dir   string
	base  []string // what every program begins with
	agent string   // path of the link to the agent of the newest login; see AgentLink
}

// AgentLink is the name, in the run directory, of the link to the ssh-agent of the newest login. Programs are given the
// link, so that one that outlives its login finds the agent of the next.
const AgentLink = "agent.sock"

// sshAuthSock is where ssh looks for its agent: ssh-agent(1).
const sshAuthSock = "SSH_AUTH_SOCK"

func (e environments) file(id string) string { return filepath.Join(e.dir, id) }

// of returns the environment for a start: what the request brings, which is kept, else what was kept before.
func (e environments) of(req rtapi.LaunchRequest) ([]string, error) {
	if len(req.Env) > 0 {
		return e.withAgent(req.Env), e.keep(req.Meta.ID, req.Env)
	}
	if req.Meta.Run == 1 {
		return e.withAgent(nil), nil
	}
	kept, err := e.kept(req.Meta.ID)
	return e.withAgent(kept), err
}

// withAgent adds the way to the ssh-agent, where a login has brought one and env names no other.
func (e environments) withAgent(env []string) []string {
	if info, err := os.Lstat(e.agent); err != nil || info.Mode().Type() != fs.ModeSymlink {
		return env
	}
	return append([]string{sshAuthSock + "=" + e.agent}, env...) // of two the later counts
}

func (e environments) keep(id string, env []string) error {
	b, err := json.Marshal(env)
	if err != nil {
		return fmt.Errorf("keep the environment of %s: %w", id, err)
	}
	f, err := os.CreateTemp(e.dir, ".new-") // 0600
	if err != nil {
		return fmt.Errorf("keep the environment of %s: %w", id, err)
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("keep the environment of %s: %w", id, err)
	}
	if err := os.Rename(f.Name(), e.file(id)); err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("keep the environment of %s: %w", id, err)
	}
	return nil
}

func (e environments) kept(id string) ([]string, error) {
	b, err := os.ReadFile(e.file(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the environment of %s: %w", id, err)
	}
	var env []string
	if err := json.Unmarshal(b, &env); err != nil {
		return nil, fmt.Errorf("read the environment of %s: %w", id, err)
	}
	return env, nil
}

// forget removes what was kept for a session.
func (e environments) forget(id string) error {
	if err := os.Remove(e.file(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the environment of %s: %w", id, err)
	}
	return nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) //nolint:gochecknoglobals // a constant

// profileTime bounds how long the user's login scripts may take when a variable is looked up. Slow ones take a second.
const profileTime = 5 * time.Second

// Variables returns the named variables as the program of a session has them at its start, without those that are not
// set. With login the user's login scripts are run too, which costs what they cost.
func (t *terminals) Variables(ctx context.Context, id string, names []string, login bool) (map[string]string, error) {
	for _, name := range names {
		if !variableName.MatchString(name) {
			return nil, &rtapi.Error{Code: "invalid", Message: fmt.Sprintf("%q is no name of a variable", name)}
		}
	}
	if !validID(id) {
		return nil, &rtapi.Error{Code: "invalid", Message: fmt.Sprintf("%q is no id of a terminal", id)}
	}
	kept, err := t.environments.kept(id)
	if err != nil {
		return nil, err
	}
	env := launch.Environment(t.environments.base, launch.Spec{Env: kept, CWD: "/"})
	if login {
		return loginVariables(ctx, env, names)
	}
	found := map[string]string{}
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); slices.Contains(names, name) {
			found[name] = value
		}
	}
	return found, nil
}

// loginVariables asks the user's login shell. Its scripts may print whatever they like, before or after.
func loginVariables(ctx context.Context, env, names []string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, profileTime)
	defer cancel()
	const mark = "\x01corral\x01"
	script := ""
	for _, name := range names {
		script += `printf '\001corral\001%s=%s' ` + name + ` "${` + name + `-}"; `
	}
	script += `printf '\001corral\001'`
	file, args := launch.Command(env, []string{"/bin/sh", "-c", script})
	cmd := exec.CommandContext(ctx, file, args[1:]...)
	cmd.Args, cmd.Env, cmd.Dir = args, env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second // something that they left behind may hold the pipe
	var out bytes.Buffer
	cmd.Stdout = &limited{to: &out, left: 1 << 20}
	if err := cmd.Run(); err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("run the login shell: %w", context.Cause(ctx))
	} // an exit code is of no interest: what was printed counts
	found := map[string]string{}
	parts := strings.Split(out.String(), mark)
	for _, part := range parts[1:] {
		if name, value, ok := strings.Cut(part, "="); ok && value != "" && slices.Contains(names, name) {
			found[name] = value
		}
	}
	return found, nil
}

// limited takes as much as fits and drops the rest.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n]) // never fails
	return len(p), nil
}
