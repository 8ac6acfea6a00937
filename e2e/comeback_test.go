package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/e2e/standin"
	"corral/sessions"
)

// agents is a Corral whose login shells find the stand-in for Claude Code.
type agents struct {
	*harness.Corral
	t   *testing.T
	log string
}

// begun is a start of the stand-in, as it recorded it.
type begun struct {
	Argv []string
	PID  int
	CWD  string
}

func newAgents(t *testing.T) *agents {
	t.Helper()
	a := &agents{Corral: harness.New(t), t: t}
	a.log = filepath.Join(a.Home, "starts")
	a.install()
	profile := "PS1='" + harness.Prompt + " '\nPATH=$HOME/bin:$PATH\nexport STANDIN_LOG=$HOME/starts\n[ -e $HOME/fail ] && export STANDIN_FAIL=1\n"
	if err := os.WriteFile(filepath.Join(a.Home, ".bash_profile"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *agents) install() { standin.Install(a.t, filepath.Join(a.Home, "bin")) }

// starts returns every start so far.
func (a *agents) starts() []begun {
	a.t.Helper()
	b, err := os.ReadFile(a.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.t.Fatal(err)
	}
	var all []begun
	for line := range strings.Lines(string(b)) {
		var one begun
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			a.t.Fatalf("%v in %q", err, line)
		}
		all = append(all, one)
	}
	return all
}

// waits waits until a session's agent has told that it is at its prompt.
func (a *agents) waits(id sessions.ID) sessions.Session {
	a.t.Helper()
	var s sessions.Session
	a.Eventually(harness.Soon, func() error {
		s = a.Session(id)
		if s.State != sessions.WaitingForInput || s.Agent == nil || !s.Agent.AtPrompt {
			return fmt.Errorf("%s is %s (%s), agent %+v", s.Title, s.State, s.StateReason, s.Agent)
		}
		return nil
	})
	return s
}

func (a *agents) stopped(id sessions.ID) {
	a.t.Helper()
	a.OK("stop", string(id))
	a.WaitState(id, harness.Soon, sessions.Stopped)
}

// again restarts a session and returns the start that came of it.
func (a *agents) again(id sessions.ID, flags ...string) begun {
	a.t.Helper()
	before := len(a.starts())
	a.OK(append([]string{"restart", string(id)}, flags...)...)
	a.waits(id)
	all := a.starts()
	if len(all) != before+1 {
		a.t.Fatalf("%d starts came of one restart", len(all)-before)
	}
	return all[before]
}

// flag is the value that follows a flag in an argv, "" when it is not there.
func flag(argv []string, name string) string {
	if i := slices.Index(argv, name); i >= 0 && i+1 < len(argv) {
		return argv[i+1]
	}
	return ""
}

func (a *agents) transcript(id string) string {
	a.t.Helper()
	found, err := filepath.Glob(filepath.Join(a.Home, ".claude", "projects", "*", id+".jsonl"))
	if err != nil || len(found) != 1 {
		a.t.Fatalf("transcripts of %s: %v, %v", id, found, err)
	}
	return found[0]
}

// TestRestartMatrix takes one agent through what can be wrong when it is to come back: each time it is in the right
// conversation with everything it was given, or the restart is refused in words and can be tried again.
func TestRestartMatrix(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	real, dir := filepath.Join(a.Home, "größe und b_c.d"), filepath.Join(a.Home, "a link")
	if err := errors.Join(os.Mkdir(real, 0o700), os.Symlink(real, dir)); err != nil {
		t.Fatal(err)
	}
	agentOf(a, "one")
	s := a.Create("--kind", "claude", "--title", "bee", "--cwd", dir, "--env", "CLAUDE_MARK=of the session", "--", "--model", "big one")
	a.waits(s.ID)
	first := a.starts()[0]
	if flag(first.Argv, "--session-id") != s.ConversationID || flag(first.Argv, "--model") != "big one" {
		t.Errorf("the first start: %q", first.Argv)
	}

	// What the server's own tests show as well is shown with everything real at the longer levels.
	thorough := rounds.N(0, 1, 1) == 1
	if thorough { // known, but nothing was said yet: the same id, begun again
		a.stopped(s.ID)
		if got := a.again(s.ID); flag(got.Argv, "--session-id") != s.ConversationID {
			t.Errorf("unused: %q", got.Argv)
		}
	}

	// Known, with its transcript.
	a.OK("prompt", "bee", "rig:say hello")
	a.waits(s.ID)
	a.stopped(s.ID)
	got := a.again(s.ID)
	if flag(got.Argv, "--resume") != s.ConversationID || flag(got.Argv, "--model") != "big one" || got.PID == first.PID || got.CWD != first.CWD {
		t.Errorf("known: %+v after %+v", got, first)
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", got.PID))
	if err != nil || !strings.Contains(string(env), "\x00CLAUDE_MARK=of the session\x00") {
		t.Errorf("the environment is not kept: %v", err)
	}
	link := filepath.Join(filepath.Dir(a.Status().Server.Socket), "agent.sock")
	if !strings.Contains(string(env), "\x00SSH_AUTH_SOCK="+link+"\x00") {
		t.Error("the session has no way to the ssh-agent")
	}
	second := agentOf(a, "two") // a later login
	a.OK("ls")
	if to, err := os.Readlink(link); err != nil || to != second {
		t.Errorf("the ssh-agent is %q, %v; want that of the newest login, %q", to, err, second)
	}
	if now := a.Session(s.ID); now.Title != "bee" || now.CWD != dir || now.Kind != sessions.KindClaude {
		t.Errorf("%+v", now)
	}

	a.stopped(s.ID)
	if thorough {
		a.stale(s, a.rotated(s))
	}
	a.broken(s, real)
	if thorough {
		a.raced(s)
	}
}

// rotated has the agent begin another conversation, which is the one that comes back, and returns it.
func (a *agents) rotated(s sessions.Session) string {
	a.t.Helper()
	a.again(s.ID)
	a.OK("send", "bee", "/clear", "--enter")
	var rotated string
	a.Eventually(harness.Soon, func() error {
		if rotated = a.Session(s.ID).ConversationID; rotated == s.ConversationID {
			return errors.New("the conversation is still the first one")
		}
		return nil
	})
	a.waits(s.ID)
	a.OK("prompt", "bee", "rig:say again")
	a.waits(s.ID)
	a.stopped(s.ID)
	if got := a.again(s.ID); flag(got.Argv, "--resume") != rotated {
		a.t.Errorf("rotated: %q", got.Argv)
	}
	a.stopped(s.ID)
	return rotated
}

// agentOf makes later commands come from an SSH login with an agent of its own.
func agentOf(a *agents, name string) string {
	a.t.Helper()
	socket := filepath.Join(a.Dir, name)
	l, err := net.Listen("unix", socket)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = l.Close() })
	a.Setenv("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22")
	a.Setenv("SSH_AUTH_SOCK", socket)
	return socket
}

// stale removes the transcript: nothing is begun under the old id, and the choices are flags.
func (a *agents) stale(s sessions.Session, rotated string) {
	a.t.Helper()
	file := a.transcript(rotated)
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	before := len(a.starts())
	r := a.Run("restart", string(s.ID))
	if r.Code != 1 || !strings.Contains(r.Stderr, rotated) || !strings.Contains(r.Stderr, "--latest") || !strings.Contains(r.Stderr, "--fresh") {
		a.t.Errorf("stale: exit %d, %s", r.Code, r.Stderr)
	}
	if now := a.Session(s.ID); now.State != sessions.Stopped || now.ConversationID != rotated || len(a.starts()) != before {
		a.t.Errorf("after the refusal: %s in %s, %d starts", now.State, now.ConversationID, len(a.starts())-before)
	}
	if got := a.again(s.ID, "--latest"); flag(got.Argv, "--resume") != s.ConversationID {
		a.t.Errorf("latest: %q", got.Argv)
	}
	a.stopped(s.ID)
	fresh := flag(a.again(s.ID, "--fresh").Argv, "--session-id")
	if now := a.Session(s.ID); fresh == "" || fresh == rotated || now.ConversationID != fresh {
		a.t.Errorf("fresh: %q, the session is in %q", fresh, now.ConversationID)
	}
	a.stopped(s.ID)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		a.t.Fatal(err)
	}
	a.again(s.ID, "--latest")
	a.stopped(s.ID)
}

// broken takes directory and program away, and lets the agent fail: each time the session is FAILED with the reason, keeps
// its conversation, and starts once it can.
func (a *agents) broken(s sessions.Session, real string) {
	a.t.Helper()
	conversation := a.Session(s.ID).ConversationID
	fails := func(what, says string) {
		a.t.Helper()
		r := a.Run("restart", string(s.ID))
		now := a.WaitState(s.ID, harness.Soon, sessions.Failed)
		if !strings.Contains(r.Stderr+now.StateReason, says) || now.ConversationID != conversation {
			a.t.Errorf("%s: %s%s, %s in %s", what, r.Stdout, r.Stderr, now.StateReason, now.ConversationID)
		}
	}
	moved := real + " moved"
	if err := os.Rename(real, moved); err != nil {
		a.t.Fatal(err)
	}
	fails("directory renamed", "does not exist")
	if err := errors.Join(os.Rename(moved, real), os.Remove(filepath.Join(a.Home, "bin", "claude"))); err != nil {
		a.t.Fatal(err)
	}
	fails("program missing", "exited 127, as when a program is not found")
	a.install()
	if err := os.WriteFile(filepath.Join(a.Home, "fail"), nil, 0o600); err != nil {
		a.t.Fatal(err)
	}
	fails("agent exits 1", "exited 1")
	if err := os.Remove(filepath.Join(a.Home, "fail")); err != nil {
		a.t.Fatal(err)
	}
	if got := a.again(s.ID); flag(got.Argv, "--resume") != conversation {
		a.t.Errorf("after the failures: %q", got.Argv)
	}
	a.stopped(s.ID)
}

// raced restarts it twice at once: one start comes of it.
func (a *agents) raced(s sessions.Session) {
	a.t.Helper()
	for range rounds.N(1, 3, 10) {
		before := len(a.starts())
		var race sync.WaitGroup
		codes := make([]int, 2)
		for i := range codes {
			cmd := a.Cmd(a.t.Context(), "restart", string(s.ID))
			race.Go(func() {
				_ = cmd.Run()
				codes[i] = cmd.ProcessState.ExitCode()
			})
		}
		race.Wait()
		a.waits(s.ID)
		if codes[0]+codes[1] != 1 || len(a.starts()) != before+1 {
			a.t.Errorf("two restarts at once: exits %v, %d starts", codes, len(a.starts())-before)
		}
		a.stopped(s.ID)
	}
}

// recovered is the JSON of corral recover.
type recovered struct {
	Results []struct {
		Session      sessions.Session
		Outcome      string
		Alive        bool
		Hook         *bool
		Conversation *bool
		Reason       string
	}
	Proven, Unproven, Failed, Skipped int
	Halted                            string
}

// lose kills the tmux server under all sessions.
func (a *agents) lose(n int) {
	a.t.Helper()
	a.Kill("tmux")
	a.Eventually(harness.Soon, func() error {
		if lost := a.Status().Sessions[sessions.Recoverable]; lost != n {
			return fmt.Errorf("%d of %d are RECOVERABLE", lost, n)
		}
		return nil
	})
}

// TestRecoverFleet loses many agents at once and brings them back: nothing without a yes, all with proofs, stopped in the
// middle, halted when they fail.
func TestRecoverFleet(t *testing.T) {
	t.Parallel()
	n := rounds.N(10, 20, 100)
	a := newAgents(t)
	ids := make([]sessions.ID, n)
	var making sync.WaitGroup
	for part := range 4 {
		making.Go(func() {
			for i := part; i < n; i += 4 {
				ids[i] = a.Create("--kind", "claude", "--title", fmt.Sprintf("agent%03d", i), "--cwd", a.Home, "--project", "fleet").ID
			}
		})
	}
	making.Wait()
	for _, id := range ids {
		a.waits(id)
	}
	a.OK("prompt", string(ids[0]), "rig:say the last words")
	a.waits(ids[0])
	a.lose(n)

	plan := a.OK("recover", "--dry-run")
	if !strings.Contains(plan, "last prompt: rig:say the last words") || strings.Count(plan, "agent") < n {
		t.Errorf("the plan:\n%s", plan)
	}
	if r := a.Run("recover", "--all"); r.Code != 1 || !strings.Contains(r.Stderr, "--yes") {
		t.Errorf("not confirmed: exit %d, %s", r.Code, r.Stderr)
	}
	if lost := a.Status().Sessions[sessions.Recoverable]; lost != n {
		t.Errorf("%d are lost after nobody said yes, want %d", lost, n)
	}

	// Stopped in the middle, the rest is left alone.
	cmd := a.Cmd(t.Context(), "recover", "--all", "--yes")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := until(t, cmd, out, "proven")
	if back := strings.Count(said, "\nproven") + strings.Count(said, "\nunproven"); back == 0 || back > n/2+2 {
		t.Errorf("%d of %d came back before it was stopped:\n%s", back, n, said)
	}

	var r recovered
	a.JSON(&r, "recover", "--project", "fleet", "--yes")
	for _, one := range r.Results {
		if one.Outcome != "proven" || !one.Alive || one.Hook == nil || !*one.Hook || one.Conversation == nil || !*one.Conversation {
			t.Errorf("%s: %+v", one.Session.Title, one)
		}
	}
	if lost := a.Status().Sessions[sessions.Recoverable]; lost != 0 || r.Halted != "" {
		t.Errorf("%d are still lost; %+v", lost, r)
	}

	// A failing agent halts it.
	a.lose(n)
	if err := os.WriteFile(filepath.Join(a.Home, "fail"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	failed := a.Run("recover", "--json", "--all", "--yes")
	var halted recovered
	if err := json.Unmarshal([]byte(failed.Stdout), &halted); err != nil {
		t.Fatalf("%v: %s%s", err, failed.Stdout, failed.Stderr)
	}
	// Those that were started together when the third one failed are seen to.
	if failed.Code != 1 || halted.Failed < 3 || halted.Failed > 7 || halted.Failed+halted.Skipped != n || !strings.Contains(halted.Halted, "in a row") {
		t.Errorf("exit %d, %+v", failed.Code, halted)
	}
}

// until reads what a command says until it says text, then interrupts it and returns all it said.
func until(t *testing.T, cmd *exec.Cmd, out interface{ Read([]byte) (int, error) }, text string) string {
	t.Helper()
	var said strings.Builder
	buf := make([]byte, 4096)
	interrupted := false
	for {
		n, err := out.Read(buf)
		said.Write(buf[:n])
		if !interrupted && strings.Contains(said.String(), "\n"+text) {
			interrupted = true
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); interrupted && code != 130 {
		t.Errorf("interrupted: exit %d", code)
	}
	return said.String()
}
