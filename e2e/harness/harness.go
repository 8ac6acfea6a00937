// Package harness drives the built binary for end-to-end tests: a Corral of its own in a temporary directory, with real
// tmux and real PostgreSQL, and terminals that look at it through a PTY with the product's own emulator as eyes.
//
// Nothing is shared with the machine: HOME, every CR_* directory and the sockets lie in the test's directory, the
// environment is empty but for what a login has. At the end everything the test started is ended, and a process that
// is still there fails the test.
package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

// Bounds of waiting. Each is far above what the product needs, so that only a hang or a wrong state hits it; limits
// that are promises are asserted by the tests themselves.
const (
	Soon    = 20 * time.Second // for anything that should happen at once
	Startup = 60 * time.Second // for the first start, which makes a database cluster
)

// run is what the tests of one process share: the directory that everything lies below, and the binary.
type run struct {
	keeper *Keeper
	once   sync.Once
	path   string
	err    error

	template struct {
		once sync.Once
		pg   string
		err  error
	}
}

var shared run //nolint:gochecknoglobals // tests that know nothing of one another share it

// Main runs the tests of a package; TestMain calls it. Whatever the tests started ends with the process.
func Main(m *testing.M) int {
	k, err := StartKeeper()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	shared.keeper = k
	return m.Run()
}

// Bin builds the binary once per test process and returns its path.
func Bin(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		dir := filepath.Join(shared.keeper.Dir, "bin")
		if shared.err = os.Mkdir(dir, 0o700); shared.err != nil {
			return
		}
		shared.path = filepath.Join(dir, "corral")
		args := []string{"build", "-trimpath", "-o", shared.path}
		if raceEnabled {
			args = append(args, "-race")
		}
		cmd := exec.Command("go", append(args, "./cmd/corral")...)
		cmd.Dir = root()
		if out, err := cmd.CombinedOutput(); err != nil {
			shared.err = fmt.Errorf("build corral: %w\n%s", err, out)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.path
}

func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Need fails the test when a program is missing, and names the Debian package that has it.
func Need(t testing.TB, program, pkg string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("%s is missing: apt-get install %s", program, pkg)
	}
}

// Corral is one installation under test.
type Corral struct {
	T    testing.TB
	Dir  string // everything of this test lies below it
	Home string
	Data string
	bin  string
	env  []string
	// namespace is what a shell does in a mount namespace of its own before each command; "" for none.
	namespace string
}

// Empty returns a Corral of which nothing exists, as on a machine where it is started for the first time.
func Empty(t testing.TB) *Corral {
	t.Helper()
	Need(t, "tmux", "tmux")
	bin := Bin(t)
	dir, err := os.MkdirTemp(shared.keeper.Dir, "")
	if err != nil {
		t.Fatal(err)
	}
	c := &Corral{T: t, Dir: dir, Home: filepath.Join(dir, "home"), Data: filepath.Join(dir, "d"), bin: bin}
	if err := os.MkdirAll(c.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	profile := "PS1='" + Prompt + " '\n"
	if err := os.WriteFile(filepath.Join(c.Home, ".bash_profile"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	return c
}

// Nap begins a script for bash in which `nap SECONDS` waits without starting a process: a test's programs wait often, and
// starting processes is most of what the tests cost.
const Nap = `exec 9<> <(:); nap() { read -rt "$1" -u 9; }; `

// Prompt is what the shells of a test show when they are ready.
const Prompt = "ready>"

// Setenv adds a variable to the environment of every later command.
func (c *Corral) Setenv(k, v string) { c.env = append(c.env, k+"="+v) }

// WriteConfig writes the config file.
func (c *Corral) WriteConfig(toml string) {
	c.T.Helper()
	path := filepath.Join(c.Dir, "config.toml")
	if err := os.WriteFile(path, []byte(toml), 0o600); err != nil {
		c.T.Fatal(err)
	}
	c.Setenv("CR_CONFIG", path)
}

// Env is the whole environment of the commands: what a login has, and where this Corral lies.
func (c *Corral) Env() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.Home, "SHELL=/bin/bash", "USER=" + userName(), "LOGNAME=" + userName(),
		"LANG=C.UTF-8", "TERM=xterm-256color", "CR_DATA_DIR=" + c.Data,
	}
	return append(env, c.env...)
}

func userName() string {
	if os.Getuid() == 0 {
		return "root"
	}
	return "tester"
}

// Cmd returns a command of the binary, not yet started.
func (c *Corral) Cmd(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.bin, args...)
	if c.namespace != "" {
		script := c.namespace + ` || exit 99; exec "$0" "$@"`
		cmd = exec.CommandContext(ctx, "unshare", namespaced(append([]string{"sh", "-c", script, c.bin}, args...)...)...)
	}
	cmd.Env = c.Env()
	cmd.Dir = c.Home
	return cmd
}

// Result is how a command ended.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Run runs a verb to its end.
func (c *Corral) Run(args ...string) Result {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Startup)
	defer cancel()
	cmd := c.Cmd(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		c.T.Fatalf("corral %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return Result{Stdout: out.String(), Stderr: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

// OK runs a verb that must succeed and returns its output.
func (c *Corral) OK(args ...string) string {
	c.T.Helper()
	r := c.Run(args...)
	if r.Code != 0 {
		c.T.Fatalf("corral %s: exit %d\n%s%s", strings.Join(args, " "), r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// JSON runs a verb that must succeed and reads its JSON.
func (c *Corral) JSON(v any, args ...string) {
	c.T.Helper()
	// After the verb, not at the end: there it could be an argument of the session's program.
	out := c.OK(append([]string{args[0], "--json"}, args[1:]...)...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		c.T.Fatalf("corral %s: %v in %q", strings.Join(args, " "), err, out)
	}
}

// Create makes a session with the arguments of `corral new`.
func (c *Corral) Create(args ...string) sessions.Session {
	c.T.Helper()
	var s sessions.Session
	c.JSON(&s, append([]string{"new"}, args...)...)
	return s
}

// List returns all sessions.
func (c *Corral) List() []sessions.Session {
	c.T.Helper()
	var l []sessions.Session
	c.JSON(&l, "ls")
	return l
}

// Session returns one session.
func (c *Corral) Session(id sessions.ID) sessions.Session {
	c.T.Helper()
	for _, s := range c.List() {
		if s.ID == id {
			return s
		}
	}
	c.T.Fatalf("no session %s", id)
	return sessions.Session{}
}

// WaitState waits until the session is in one of the states and returns it; it fails after the bound.
func (c *Corral) WaitState(id sessions.ID, bound time.Duration, states ...sessions.State) sessions.Session {
	c.T.Helper()
	var s sessions.Session
	c.Eventually(bound, func() error {
		s = c.look(id)
		for _, want := range states {
			if s.State == want {
				return nil
			}
		}
		return fmt.Errorf("session %s is %s (%s), want %v", s.Title, s.State, s.StateReason, states)
	})
	return s
}

// look returns the session as the server says, asked without a process of its own: waiting tests ask often. A server
// that does not answer is asked through the binary, which starts it.
func (c *Corral) look(id sessions.ID) sessions.Session {
	c.T.Helper()
	var s sessions.Session
	if !c.ask(func(ctx context.Context, api *sessionclient.Client) (err error) {
		s, err = api.Get(ctx, id)
		return err
	}) {
		s = c.Session(id)
	}
	return s
}

// LookTask is look for a task.
func (c *Corral) LookTask(id sessions.ID) sessions.Task {
	c.T.Helper()
	var t sessions.Task
	if !c.ask(func(ctx context.Context, api *sessionclient.Client) (err error) {
		t, err = api.Task(ctx, id)
		return err
	}) {
		c.JSON(&t, "task", "show", string(id))
	}
	return t
}

// ask reports whether the server answered.
func (c *Corral) ask(question func(context.Context, *sessionclient.Client) error) bool {
	api := sessionclient.New(sessionclient.Config{Socket: filepath.Join(c.Data, "run", "server.sock"), ClientName: "test"})
	defer api.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), Soon)
	defer cancel()
	return question(ctx, api) == nil
}

// Eventually repeats try until it returns nil; it fails with try's last error after the bound. It is for facts that
// have no event a test could wait for.
func (c *Corral) Eventually(bound time.Duration, try func() error) {
	c.T.Helper()
	if err := eventually(bound, try); err != nil {
		c.T.Fatalf("not within %v: %v", bound, err)
	}
}

func eventually(bound time.Duration, try func() error) error {
	deadline := time.Now().Add(bound)
	pause := 10 * time.Millisecond // grows: many tests wait at once, and most tries start a process
	for {
		err := try()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
		pause = min(2*pause, 150*time.Millisecond)
	}
}

// Status returns `corral status --json`.
func (c *Corral) Status() sessions.Status {
	c.T.Helper()
	var s sessions.Status
	c.JSON(&s, "status")
	return s
}

// PID returns the process id of a role: server, runtime, recorder, tmux. One that is just being started again is waited
// for.
func (c *Corral) PID(role string) int {
	c.T.Helper()
	var pid int
	c.Eventually(Soon, func() error {
		s := c.Status()
		pid = map[string]int{"server": s.Server.PID, "runtime": s.Runtime.PID, "recorder": s.Recorder.PID, "tmux": s.Tmux.PID}[role]
		if pid == 0 {
			return fmt.Errorf("no process for the %s: %+v", role, s)
		}
		return nil
	})
	return pid
}

// Kill ends a role with SIGKILL and waits until its process is gone.
func (c *Corral) Kill(role string) { c.T.Helper(); c.KillPID(c.PID(role)) }

// KillPID ends a process with SIGKILL and waits until it is gone.
func (c *Corral) KillPID(pid int) {
	c.T.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		c.T.Fatalf("kill %d: %v", pid, err)
	}
	c.Eventually(Soon, func() error {
		if Alive(pid) {
			return fmt.Errorf("process %d is still there", pid)
		}
		return nil
	})
}

// Alive reports whether a process exists and is no zombie.
func Alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(b, ')')
	return i > 0 && len(b) > i+2 && b[i+2] != 'Z' && b[i+2] != 'X'
}

// InNamespace makes every later command run in a mount namespace of its own, after the shell script; what that mounts,
// nobody else sees.
func (c *Corral) InNamespace(script string) {
	c.T.Helper()
	Need(c.T, "unshare", "util-linux")
	if out, err := exec.Command("unshare", namespaced("true")...).CombinedOutput(); err != nil {
		c.T.Fatalf("this machine gives no mount namespace (in a container: run it with CAP_SYS_ADMIN): %v: %s", err, out)
	}
	c.namespace = script
}

// namespaced are unshare's arguments. Who is not root needs a user namespace besides, in which he stays himself.
func namespaced(args ...string) []string {
	flags := []string{"--mount"}
	if os.Getuid() != 0 {
		flags = []string{"--user", "--map-current-user", "--keep-caps", "--mount"}
	}
	return append(flags, args...)
}

// Tmux runs a tmux command on this Corral's private server.
func (c *Corral) Tmux(args ...string) (string, error) {
	c.T.Helper()
	return c.TmuxAt(c.Status().Tmux.Socket, args...)
}

// TmuxAt runs a tmux command on the server behind a socket.
func (c *Corral) TmuxAt(socket string, args ...string) (string, error) {
	c.T.Helper()
	cmd := exec.Command("tmux", append([]string{"-N", "-S", socket}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color"}
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

// PlainTmux runs a tmux command on a server that has nothing to do with Corral, which it starts; the end of the test ends
// it. The socket must be in the test's directory.
func (c *Corral) PlainTmux(socket string, args ...string) (string, error) {
	c.T.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", socket}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/sh"}
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

// PanePID returns the process that runs in a session's pane.
func (c *Corral) PanePID(id sessions.ID) int {
	c.T.Helper()
	out, err := c.Tmux("display-message", "-p", "-t", "=cr-"+string(id)+":", "#{pane_pid}")
	if err != nil {
		c.T.Fatalf("pane of %s: %v: %s", id, err, out)
	}
	pid, err := strconv.Atoi(out)
	if err != nil {
		c.T.Fatalf("pane of %s: %q", id, out)
	}
	return pid
}

// Events returns the events of a session, oldest first.
func (c *Corral) Events(id sessions.ID) []sessions.Event {
	c.T.Helper()
	var e []sessions.Event
	c.JSON(&e, "events", string(id))
	return e
}

// Transitions returns the states that the session's events lead through, as "FROM>TO".
func (c *Corral) Transitions(id sessions.ID) []string {
	c.T.Helper()
	var out []string
	for _, e := range c.Events(id) {
		out = append(out, string(e.From)+">"+string(e.To))
	}
	return out
}

// Start starts a verb that stays, as `server --foreground`, in the background; the end of the test ends it.
func (c *Corral) Start(args ...string) *exec.Cmd {
	c.T.Helper()
	cmd := c.Cmd(context.Background(), args...)
	if err := cmd.Start(); err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return cmd
}
