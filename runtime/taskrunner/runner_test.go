package taskrunner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"corral/runtime/internal/procfs"
	"corral/runtime/internal/taskdir"
	"corral/runtime/launch"
	"corral/runtime/rtapi"
)

// TestMain makes this test binary a runner, which dies after the step that it is told, and a launch.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "launch" {
		os.Exit(launch.Exec(os.Args[2]))
	}
	if len(os.Args) == 4 && os.Args[1] == "taskrunner" {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		os.Exit(Run(Config{Dir: os.Args[2], Self: self, After: func(step string) {
			if step == os.Args[3] {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}}))
	}
	os.Exit(m.Run())
}

// made makes the directory of a task that was just started, as the runtime does.
func made(t *testing.T, meta taskdir.Meta, spec launch.Spec) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a-task")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	meta.ID, meta.CreatedAt = "a-task", time.Now()
	if meta.CWD == "" {
		meta.CWD = "/"
	}
	if meta.LogLimit == 0 {
		meta.LogLimit = -1
	}
	spec.CWD = meta.CWD
	spec.Env = append(spec.Env, "CORRAL_TASK_ID="+dir)
	if err := launch.Write(filepath.Join(dir, taskdir.LaunchFile), spec); err != nil {
		t.Fatal(err)
	}
	server, err := procfs.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{taskdir.MetaFile: meta, taskdir.StartFile: taskdir.Start{Server: server, At: time.Now()}} {
		if err := taskdir.Write(dir, name, v); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, pid := range procfs.WithVariable("CORRAL_TASK_ID=" + dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return dir
}

// startRunner starts a runner for dir, which dies after the step; "" for none.
func startRunner(t *testing.T, dir, step string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "taskrunner", dir, step) //nolint:noctx // it is waited for
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SHELL=/bin/sh"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

func look(dir string) rtapi.Task {
	return taskdir.Look(dir, taskdir.World{Begun: func(string, taskdir.Start) bool { return false }})
}

// TestARunnerKilledAnywhereLeavesAStateThatIsDocumented kills the runner after each of its steps.
func TestARunnerKilledAnywhereLeavesAStateThatIsDocumented(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"lock", "reserve", "log", "begun", "started", "run", "drained", "usage", "exit"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			dir := made(t, taskdir.Meta{Command: []string{"sh", "-c", "echo out; exit 7"}}, launch.Spec{Argv: []string{"sh", "-c", "echo out; exit 7"}})
			if err := startRunner(t, dir, step).Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the runner was to be killed: %v", err)
			}
			got := look(dir)
			if step == "exit" {
				if got.State != rtapi.TaskFailed || got.ExitCode == nil || *got.ExitCode != 7 || got.EndedAt == nil {
					t.Errorf("%+v", got)
				}
				return
			}
			if got.State != rtapi.TaskLost || got.EndedAt != nil || got.ExitCode != nil || got.Reason == "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestALogThatCannotBeKeptIsSaid: the program runs to its end and the task has FAILED, for its log is not complete.
func TestALogThatCannotBeKeptIsSaid(t *testing.T) {
	t.Parallel()
	dir := made(t, taskdir.Meta{}, launch.Spec{Line: "echo out; exit 0"})
	if err := os.Symlink("/dev/full", filepath.Join(dir, taskdir.LogFile)); err != nil {
		t.Fatal(err)
	}
	_ = startRunner(t, dir, "").Wait() // the state is looked at
	if got := look(dir); got.State != rtapi.TaskFailed || !strings.Contains(got.Reason, "no space left") || *got.ExitCode != 0 {
		t.Errorf("%+v", got)
	}
}

// TestAHangUpIsNoEnd: without a word of why, the task is lost and nothing of it lives.
func TestAHangUpIsNoEnd(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		dir := made(t, taskdir.Meta{Grace: 200 * time.Millisecond}, launch.Spec{Line: `trap "" HUP TERM; echo up; sleep 1000; sleep 1000`})
		r := startRunner(t, dir, "")
		await(t, func() bool {
			b, err := os.ReadFile(filepath.Join(dir, taskdir.LogFile))
			return err == nil && string(b) == "up\n"
		})
		if got := look(dir); got.State != rtapi.TaskRunning {
			t.Errorf("%+v", got)
		}
		if err := r.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = r.Wait() // likewise
		if got := look(dir); got.State != rtapi.TaskLost {
			t.Errorf("%v: %+v", sig, got)
		}
		if left := procfs.WithVariable("CORRAL_TASK_ID=" + dir); len(left) > 0 {
			t.Errorf("%v: %v still run", sig, left)
		}
	}
}

// TestTheDirectoryIsGone: a task that waited may find its directory gone.
func TestTheDirectoryIsGone(t *testing.T) {
	t.Parallel()
	dir := made(t, taskdir.Meta{CWD: "/nonexistent/x"}, launch.Spec{Argv: []string{"true"}})
	_ = startRunner(t, dir, "").Wait() // likewise
	if got := look(dir); got.State != rtapi.TaskFailed || !strings.Contains(got.Reason, "/nonexistent/x cannot be entered: no such file") {
		t.Errorf("%+v", got)
	}
}

// TestMarksSayWhenBytesCame: the index finds the time of a byte.
func TestMarksSayWhenBytesCame(t *testing.T) {
	t.Parallel()
	dir := made(t, taskdir.Meta{}, launch.Spec{Line: "echo one; sleep 0.3; echo two"})
	_ = startRunner(t, dir, "").Wait() // likewise
	marks, err := taskdir.Marks(dir, 0)
	if err != nil || len(marks) != 2 || marks[0].Offset != 0 || marks[1].Offset != 4 || marks[1].At.Sub(marks[0].At) < 200*time.Millisecond {
		t.Errorf("%+v, %v", marks, err)
	}
	if later, err := taskdir.Marks(dir, 5); err != nil || len(later) != 1 || later[0] != marks[1] {
		t.Errorf("%+v, %v", later, err)
	}
}

func TestAgentUsage(t *testing.T) {
	t.Parallel()
	got := parseAgentUsage([]byte("warning\n" + `{"type":"result","total_cost_usd":0.25,"num_turns":3,"session_id":"x","usage":{"input_tokens":5,"cache_read_input_tokens":7,"output_tokens":2}}` + "\n"))
	if got == nil || *got != (rtapi.AgentUsage{InputTokens: 12, OutputTokens: 2, CostUSD: 0.25, Turns: 3, ConversationID: "x"}) {
		t.Errorf("%+v", got)
	}
	if got := parseAgentUsage([]byte("{}")); got != nil {
		t.Errorf("%+v", got)
	}
}

func await(t *testing.T, what func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !what(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}
