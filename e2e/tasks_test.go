package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// runTask makes a task with the arguments of `corral task run`.
func runTask(c *harness.Corral, args ...string) sessions.Task {
	c.T.Helper()
	var t sessions.Task
	c.JSON(&t, append([]string{"task", "run"}, args...)...)
	return t
}

func task(c *harness.Corral, id sessions.ID) sessions.Task {
	c.T.Helper()
	var t sessions.Task
	c.JSON(&t, "task", "show", string(id))
	return t
}

func waitTask(c *harness.Corral, id sessions.ID, state sessions.TaskState) sessions.Task {
	c.T.Helper()
	var t sessions.Task
	c.Eventually(harness.Soon, func() error {
		if t = c.LookTask(id); t.State == state {
			return nil
		}
		return fmt.Errorf("task %s is %s (%s), want %s", t.Title, t.State, t.Reason, state)
	})
	return t
}

// gated is a program that waits for the file $0, then does what end says.
func gated(end string) string {
	return harness.Nap + `while [ ! -e "$0" ]; do nap 0.05; done; ` + end
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// processesOf counts the living processes of a task, the runner not among them.
func processesOf(id sessions.ID) int {
	n := 0
	for _, env := range must(filepath.Glob("/proc/[0-9]*/environ")) {
		b, err := os.ReadFile(env)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(env)))
		if err == nil && bytes.Contains(b, []byte("CORRAL_TASK_ID="+string(id))) && harness.Alive(pid) {
			n++
		}
	}
	return n
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestTaskSurvivesDaemons kills server and runtime while tasks run and end; then the tmux server.
func TestTaskSurvivesDaemons(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	gate := filepath.Join(c.Dir, "gate")
	ends := []struct {
		script string
		state  sessions.TaskState
		code   int
		signal int
	}{
		{"exit 0", sessions.TaskSucceeded, 0, 0},
		{"exit 7", sessions.TaskFailed, 7, 0},
		{"kill -KILL $$", sessions.TaskFailed, 137, 9},
	}
	var ending, staying []sessions.Task
	for _, e := range ends {
		ending = append(ending, runTask(c, "--cwd", c.Home, "--", "bash", "-c", gated(e.script), gate))
	}
	for range 7 {
		staying = append(staying, runTask(c, "--cwd", c.Home, "--", "bash", "-c", gated("exit 0"), gate+".never"))
	}
	for _, s := range append(staying, ending...) {
		c.Eventually(harness.Soon, func() error {
			if processesOf(s.ID) == 0 {
				return fmt.Errorf("task %s has not begun", s.ID)
			}
			return nil
		})
	}
	if r := c.Run("task", "rm", string(staying[0].ID)); r.Code != 1 || !strings.Contains(r.Stderr, "cancel it first") {
		t.Errorf("rm of a running task: %d, %q", r.Code, r.Stderr)
	}
	runtime, tmux := c.PID("runtime"), c.PID("tmux")
	c.WriteConfig("autostart = false\n")
	c.Kill("server")
	c.KillPID(runtime)
	began := time.Now()
	touch(t, gate)
	for _, s := range ending {
		c.Eventually(harness.Soon, func() error {
			_, err := os.Stat(filepath.Join(c.Data, "tasks", string(s.ID), "exit"))
			return err
		})
	}
	c.WriteConfig("")
	c.OK("up")
	for i, e := range ends {
		now := task(c, ending[i].ID)
		signal := 0
		if now.Signal != nil {
			signal = *now.Signal
		}
		if now.State != e.state || now.ExitCode == nil || *now.ExitCode != e.code || signal != e.signal {
			t.Errorf("%s: %s, code %v, signal %d", e.script, now.State, now.ExitCode, signal)
		}
		if now.EndedAt == nil || now.EndedAt.Before(began) || now.EndedAt.After(began.Add(harness.Soon)) {
			t.Errorf("%s: ended at %v, was let go at %v", e.script, now.EndedAt, began)
		}
		if r := c.Run("task", "wait", string(now.ID)); r.Code != e.code {
			t.Errorf("%s: wait gives %d", e.script, r.Code)
		}
	}
	for _, s := range staying {
		if now := task(c, s.ID); now.State != sessions.TaskRunning {
			t.Errorf("a staying task is %s (%s)", now.State, now.Reason)
		}
	}
	if st := c.Status(); st.Tasks[sessions.TaskRunning] != 7 || st.Tasks[sessions.TaskFailed] != 2 || st.Tasks[sessions.TaskSucceeded] != 1 {
		t.Errorf("status counts %v", st.Tasks)
	}

	// Without its tmux server nobody can know how a task would have ended.
	if out, err := c.Tmux("kill-server"); err != nil {
		t.Fatalf("kill-server: %v: %s", err, out)
	}
	for _, s := range staying {
		now := waitTask(c, s.ID, sessions.TaskLost)
		if now.EndedAt != nil || now.ExitCode != nil {
			t.Errorf("a lost task ended at %v with %v", now.EndedAt, now.ExitCode)
		}
		if n := processesOf(s.ID); n > 0 {
			t.Errorf("%d processes of a lost task are alive", n)
		}
	}
	if c.PID("tmux") == tmux {
		t.Error("the tmux server is the same")
	}
	if out, _ := c.Tmux("list-sessions"); strings.Contains(out, "crt-") {
		t.Errorf("something was tried again: %s", out)
	}
	c.OK("task", "rm", string(staying[0].ID))
	if r := c.Run("task", "show", string(staying[0].ID)); r.Code != 3 {
		t.Errorf("a removed task is shown: %+v", r)
	}
}

// TestTaskReboot ends everything as a host does: TERM to all, then the tmux server. A program that dies first, by the
// signal or with a code that says so, has not ended by itself.
func TestTaskReboot(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	dies := runTask(c, "--cwd", c.Home, "--", "sleep", "1000")
	catches := runTask(c, "--cwd", c.Home, "--", "sh", "-c", `trap "exit 143" TERM; echo ready; while :; do sleep 0.05; done`)
	for _, s := range []sessions.Task{dies, catches} {
		c.Eventually(harness.Soon, func() error {
			var run struct{ PID int }
			if readJSON(c, s.ID, "run.json", &run) != nil || run.PID == 0 {
				return fmt.Errorf("not begun")
			}
			return nil
		})
	}
	c.Eventually(harness.Soon, func() error {
		if got := c.OK("task", "logs", string(catches.ID)); got != "ready\n" {
			return fmt.Errorf("the trap is not set: %q", got)
		}
		return nil
	})
	for _, s := range []sessions.Task{dies, catches} {
		var run struct {
			PID    int
			Runner struct{ PID int }
		}
		if err := readJSON(c, s.ID, "run.json", &run); err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(run.PID, syscall.SIGTERM)
		c.Eventually(harness.Soon, func() error {
			if harness.Alive(run.PID) {
				return fmt.Errorf("alive")
			}
			return nil
		})
		_ = syscall.Kill(run.Runner.PID, syscall.SIGTERM)
	}
	c.KillPID(c.PID("tmux"))
	for _, s := range []sessions.Task{dies, catches} {
		if now := waitTask(c, s.ID, sessions.TaskLost); now.EndedAt != nil {
			t.Errorf("it ended at %v", now.EndedAt)
		}
	}
}

// TestTaskCancel: nothing is left alive, also of what ignores TERM and leaves its group, and the list says who did it.
func TestTaskCancel(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	s := runTask(c, "--cwd", c.Home, "--grace", "300ms", "--", "bash", "-c", `trap "" TERM; (trap "" TERM; setsid sleep 1000) & sleep 1000; sleep 1000`)
	c.Eventually(harness.Soon, func() error {
		if processesOf(s.ID) < 3 {
			return fmt.Errorf("not begun")
		}
		return nil
	})
	c.OK("task", "cancel", string(s.ID))
	now := waitTask(c, s.ID, sessions.TaskCancelled)
	if now.CancelledBy == "" || now.EndedAt == nil {
		t.Errorf("%+v", now)
	}
	if n := processesOf(s.ID); n > 0 {
		t.Errorf("%d processes are alive", n)
	}
	if r := c.Run("task", "cancel", string(s.ID)); r.Code != 1 || !strings.Contains(r.Stderr, "has ended already") {
		t.Errorf("cancelled twice: %+v", r)
	}
	// The end of the program is the end of the task, with all that it left behind.
	left := runTask(c, "--cwd", c.Home, "--", "sh", "-c", "sleep 1000 & exit 4")
	now = waitTask(c, left.ID, sessions.TaskFailed)
	if *now.ExitCode != 4 || now.Strays != 1 || processesOf(left.ID) > 0 {
		t.Errorf("code %d, %d strays, %d alive", *now.ExitCode, now.Strays, processesOf(left.ID))
	}
}

// TestTaskLogsAreExact: what a program prints is its log, whatever it is.
func TestTaskLogsAreExact(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	garbage := make([]byte, 1<<20)
	seed := uint32(1)
	for i := range garbage {
		seed = seed*1664525 + 1013904223
		garbage[i] = byte(seed >> 24)
	}
	long := append(bytes.Repeat([]byte("0123456789"), 1<<20), '\n')
	var progress bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&progress, "\r%d of 10000", i)
	}
	for name, want := range map[string][]byte{
		"three lines": []byte("a\nb\nc\n"), "nothing": {}, "garbage": garbage, "a long line": long, "progress": progress.Bytes(),
	} {
		file := filepath.Join(c.Dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
		s := runTask(c, "--cwd", c.Home, "--", "cat", file)
		if r := c.Run("task", "wait", string(s.ID)); r.Code != 0 {
			t.Errorf("%s: %+v", name, r)
		}
		if got := c.OK("task", "logs", "-f", string(s.ID)); got != string(want) {
			t.Errorf("%s: the log has %d bytes, want %d", name, len(got), len(want))
		}
	}
	s := runTask(c, "--cwd", c.Home, "--shell", "for i in 1 2 3 4; do echo line $i; echo line $i >&2; done")
	c.Run("task", "wait", string(s.ID))
	if got := c.OK("task", "logs", "--tail", "3", string(s.ID)); got != "line 3\nline 4\nline 4\n" {
		t.Errorf("tail: %q", got)
	}
	if got := c.OK("task", "logs", "--since", "0s", string(s.ID)); got != "" {
		t.Errorf("since now: %q", got)
	}
	if got := c.OK("task", "logs", "--since", "1h", "--timestamps", string(s.ID)); strings.Count(got, "\n") != 8 || !strings.HasPrefix(got, time.Now().Format("2006-")) {
		t.Errorf("timestamps: %q", got)
	}
	missing := runTask(c, "--cwd", c.Home, "--", "no-such-program-here")
	if now := waitTask(c, missing.ID, sessions.TaskFailed); *now.ExitCode != 127 || !strings.Contains(now.Reason, "was not found") {
		t.Errorf("%+v", now)
	}
	if r := c.Run("task", "run", "--cwd", "/nonexistent", "--", "true"); r.Code != 2 || !strings.Contains(r.Stderr, "does not exist") {
		t.Errorf("%+v", r)
	}
	limited := runTask(c, "--cwd", c.Home, "--log-limit", "1MiB", "--", "sh", "-c", "seq 1 1000000")
	c.Run("task", "wait", string(limited.ID))
	r := c.Run("task", "logs", string(limited.ID))
	if !strings.HasPrefix(r.Stdout, "1\n2\n3\n") || !strings.HasSuffix(r.Stdout, "\n999999\n1000000\n") || !strings.Contains(r.Stderr, "cut out") ||
		strings.Contains(r.Stdout, "\x00") || len(r.Stdout) > 5<<18 {
		t.Errorf("limited: %d bytes, %q", len(r.Stdout), r.Stderr)
	}
}

// TestTaskFlood: output at full speed is kept whole, in flat memory.
func TestTaskFlood(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	size := rounds.N(64, 256, 1024)
	s := runTask(c, "--cwd", c.Home, "--", "sh", "-c", fmt.Sprintf("yes 0123456789abcde | head -c %dM", size))
	peak := int64(0)
	var run struct{ Runner struct{ PID int } }
	c.Eventually(10*harness.Soon, func() error {
		if run.Runner.PID == 0 {
			_ = readJSON(c, s.ID, "run.json", &run)
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", run.Runner.PID))
		for line := range strings.Lines(string(status)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
				n, _ := strconv.ParseInt(f[1], 10, 64)
				peak = max(peak, n)
			}
		}
		if now := task(c, s.ID); now.State != sessions.TaskSucceeded {
			return fmt.Errorf("%s: %s", now.State, now.Reason)
		}
		return nil
	})
	info, err := os.Stat(filepath.Join(c.Data, "tasks", string(s.ID), "log"))
	if err != nil || info.Size() != int64(size)<<20 {
		t.Errorf("the log has %v bytes, %v", info.Size(), err)
	}
	if peak > 64<<10 {
		t.Errorf("the runner took %d KiB", peak)
	}
	t.Logf("%d MiB, runner's peak %d KiB", size, peak)
}

// TestTaskQueue: tasks that wait outlive every daemon and start once, when their turn has come.
func TestTaskQueue(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	gate := filepath.Join(c.Dir, "gate")
	counted := filepath.Join(c.Dir, "counted")
	first := runTask(c, "--cwd", c.Home, "--", "bash", "-c", gated("exit 0"), gate)
	bad := runTask(c, "--cwd", c.Home, "--", "bash", "-c", gated("exit 3"), gate)
	next := runTask(c, "--cwd", c.Home, "--after", string(first.ID), "--", "sh", "-c", "echo x >>"+counted)
	never := runTask(c, "--cwd", c.Home, "--after", string(bad.ID), "--", "sh", "-c", "echo x >>"+counted)
	dropped := runTask(c, "--cwd", c.Home, "--after", string(first.ID), "--", "sh", "-c", "echo x >>"+counted)
	var group []sessions.Task
	for range 3 {
		group = append(group, runTask(c, "--cwd", c.Home, "--group", "g", "--limit", "2", "--", "bash", "-c", gated("exit 0"), gate))
	}
	for _, s := range []sessions.Task{next, never, dropped, group[2]} {
		if s.State != sessions.TaskQueued {
			t.Errorf("%s is %s at first", s.Title, s.State)
		}
	}
	c.OK("task", "cancel", string(dropped.ID))
	if now := task(c, dropped.ID); now.State != sessions.TaskCancelled || now.StartedAt != nil {
		t.Errorf("cancelled while queued: %+v", now)
	}
	runtime := c.PID("runtime")
	c.Kill("server")
	c.KillPID(runtime)
	c.OK("up")
	for _, s := range []sessions.Task{next, never, group[2]} {
		waitTask(c, s.ID, sessions.TaskQueued)
	}
	waitTask(c, group[1].ID, sessions.TaskRunning)
	touch(t, gate)
	for _, s := range append(group, first, next) {
		waitTask(c, s.ID, sessions.TaskSucceeded)
	}
	if now := waitTask(c, never.ID, sessions.TaskFailed); !strings.Contains(now.Reason, "is FAILED") || now.ExitCode != nil {
		t.Errorf("%+v", now)
	}
	if r := c.Run("task", "wait", string(never.ID)); r.Code != 125 {
		t.Errorf("wait gives %d", r.Code)
	}
	if b, _ := os.ReadFile(counted); string(b) != "x\n" {
		t.Errorf("ran: %q", b)
	}
	if r := c.Run("task", "wait", "--timeout", "200ms", string(runTask(c, "--cwd", c.Home, "--", "sleep", "1000").ID)); r.Code != 124 {
		t.Errorf("wait's timeout gives %+v", r)
	}
}

// TestTaskDamage: what is damaged in the directory of tasks is shown as such and harms nothing else.
func TestTaskDamage(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	good := runTask(c, "--cwd", c.Home, "--", "true")
	waitTask(c, good.ID, sessions.TaskSucceeded)
	runtime := c.PID("runtime")
	c.WriteConfig("autostart = false\n")
	c.Kill("server")
	c.KillPID(runtime)
	tasks := filepath.Join(c.Data, "tasks")
	for name, files := range map[string]map[string]string{
		"empty": {}, "torn": {"meta.json": `{"id":"torn","tit`}, "stranger": {"meta.json": `{"id":"other"}`},
		"half":   {"meta.json": `{"id":"half","command":["true"],"cwd":"/"}`, "start": "{", "exit": "{"},
		".new-x": {"meta.json": "{}"},
	} {
		if err := os.MkdirAll(filepath.Join(tasks, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(tasks, name, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	touch(t, filepath.Join(tasks, "a-file"))
	c.WriteConfig("")
	c.OK("up")
	var list []sessions.Task
	c.JSON(&list, "task", "ls")
	if len(list) != 5 {
		t.Fatalf("%d tasks: %+v", len(list), list)
	}
	for _, s := range list {
		if s.ID == good.ID && s.State != sessions.TaskSucceeded || s.ID != good.ID && (s.State != sessions.TaskLost || !strings.Contains(s.Reason, "damaged")) {
			t.Errorf("%s is %s (%s)", s.ID, s.State, s.Reason)
		}
	}
	c.OK("task", "rm", "empty", "torn", "stranger", "half")
	c.OK("task", "ls")
}

// readJSON reads a file of a task's directory.
func readJSON(c *harness.Corral, id sessions.ID, name string, v any) error {
	b, err := os.ReadFile(filepath.Join(c.Data, "tasks", string(id), name))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
