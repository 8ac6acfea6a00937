package tui_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
)

// task returns a task that was created n minutes after the first session.
func task(n int, title string, state sessions.TaskState) sessions.Task {
	at := birth.Add(time.Duration(n) * time.Minute)
	t := sessions.Task{
		ID:      sessions.ID(fmt.Sprintf("%08d-0000-4000-8000-0000000000aa", n)),
		Title:   title,
		CWD:     "/srv/" + title,
		Command: []string{"make", title}, State: state, Node: "box", CreatedAt: at,
	}
	if state != sessions.TaskQueued {
		t.StartedAt = &at
	}
	if state.Ended() && state != sessions.TaskLost {
		end := at.Add(83 * time.Second)
		t.EndedAt = &end
	}
	return t
}

// everyTask returns one task in each state.
func everyTask() []sessions.Task {
	var all []sessions.Task
	for i, state := range sessions.TaskStates() {
		t := task(i+1, []string{"deploy", "build", "tests", "lint", "bench", "backup"}[i], state)
		zero, seven := 0, 7
		switch state {
		case sessions.TaskSucceeded:
			t.ExitCode, t.Usage = &zero, &sessions.Usage{UserSeconds: 60.2, SystemSeconds: 4, MemoryBytes: 300 << 20}
		case sessions.TaskFailed:
			t.ExitCode = &seven
		case sessions.TaskCancelled:
			t.CancelledBy = "dashboard"
		case sessions.TaskQueued, sessions.TaskRunning, sessions.TaskLost:
		}
		all = append(all, t)
	}
	return all
}

// withTasks opens a dashboard that shows sessions and tasks.
func withTasks(t *testing.T, cols, rows int, b *tuitest.Backend, all []sessions.Session, tasks ...sessions.Task) *dashboard {
	t.Helper()
	d := open(t, cols, rows, tui.Config{Version: "1.0"}, b)
	d.now = birth.Add(5 * time.Minute)
	d.backend.Link(sessions.Link{State: sessions.LinkLive})
	d.backend.Tell(sessions.Change{Type: sessions.ChangeSnapshot, Sessions: all, Tasks: tasks})
	d.Until("the list", d.app.Listed)
	return d
}

func (d *dashboard) tellTask(t sessions.Task) {
	d.t.Helper()
	d.backend.Tell(sessions.Change{Type: sessions.ChangeTask, Task: &t})
}

func TestTaskLogFollowsTheSelection(t *testing.T) {
	t.Parallel()
	build := task(1, "build", sessions.TaskRunning)
	log := tuitest.NewLog("compiling\n")
	b := &tuitest.Backend{Tasks: tuitest.Tasks{Logs: map[sessions.ID]*tuitest.Log{build.ID: log}}}
	one := session(1, "one", sessions.Detached)
	d := withTasks(t, 80, 24, b, []sessions.Session{one}, build)
	d.stream(one.ID, 1).Live(55, 22, "screen of one")
	d.shows("screen of one")
	d.Press("j")
	d.shows("compiling")
	d.shows("RUNNING 4m")
	if strings.Contains(d.display.Text(), "screen of one") {
		t.Errorf("the session still shows:\n%s", d.display.Text())
	}
	log.Append("linking\n")
	d.shows("linking")
	d.Press("k")
	d.shows("screen of one")
}

func TestLogHasTheKeyboardUntilItIsGivenBack(t *testing.T) {
	t.Parallel()
	build := task(1, "build", sessions.TaskSucceeded)
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "step %d\n", i)
	}
	b := &tuitest.Backend{Tasks: tuitest.Tasks{Logs: map[sessions.ID]*tuitest.Log{build.ID: tuitest.NewLog(text.String())}}}
	d := withTasks(t, 80, 24, b, nil, build)
	d.shows("step 99")
	d.Press("l", "g")
	d.shows("step 0")
	d.Press("/")
	d.Type("step 5")
	d.Press("enter")
	d.shows(`"step 5" 1 of 11`)
	d.Press("q")
	if d.Quit() {
		t.Error("q quit the dashboard instead of the log")
	}
	d.Press("q")
	d.Until("the end", d.Quit)
}

func TestKeysOfTheQuestionAreNotTheDashboards(t *testing.T) {
	t.Parallel()
	build := task(1, "build", sessions.TaskSucceeded)
	d := withTasks(t, 80, 24, &tuitest.Backend{}, nil, build)
	d.Press("l", "/")
	d.Type("quxz?")
	d.shows("search: quxz?")
	d.Press("esc", "z")
	d.Until("zoom", func() bool { return !strings.Contains(d.display.Text(), "Tasks") })
	if d.Quit() {
		t.Error("a key of the question quit the dashboard")
	}
}

func TestRunTask(t *testing.T) {
	t.Parallel()
	var asked sessions.CreateTaskRequest
	made := task(9, "tests", sessions.TaskRunning)
	b := &tuitest.Backend{Tasks: tuitest.Tasks{
		OnRun: func(r sessions.CreateTaskRequest) (sessions.Task, error) { asked = r; return made, nil },
		Logs:  map[sessions.ID]*tuitest.Log{made.ID: tuitest.NewLog("ok corral/tui\n")},
	}}
	d := withTasks(t, 80, 24, b, []sessions.Session{session(1, "one", sessions.Detached)})
	d.Press("t")
	d.Press("enter")
	d.shows("which command")
	d.Type("make test 2>&1")
	d.Press("enter")
	d.shows("ok corral/tui")
	want := sessions.CreateTaskRequest{CWD: "/srv/one", Command: []string{"make test 2>&1"}, Shell: true}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestTaskIsCancelledOnlyWhenConfirmed(t *testing.T) {
	t.Parallel()
	build := task(1, "build", sessions.TaskRunning)
	b := &tuitest.Backend{Tasks: tuitest.Tasks{OnCancel: func(sessions.ID) (sessions.Task, error) { return build, nil }}}
	d := withTasks(t, 80, 24, b, nil, build)
	d.Press("X")
	d.shows("only an ended task can be removed")
	d.Press("x")
	d.shows(`Cancel "build"?`)
	d.Press("n")
	d.Press("x", "y")
	d.shows("cancelling build")
	over := task(1, "build", sessions.TaskCancelled)
	d.tellTask(over)
	d.shows("CANCELLED")
	calls := slices.DeleteFunc(d.backend.Calls(), func(c string) bool { return c == "task usage" || c == "see task" })
	if diff := cmp.Diff([]string{"cancel task"}, calls); diff != "" {
		t.Error(diff)
	}
}

func TestEndedTaskIsUnseenUntilShown(t *testing.T) {
	t.Parallel()
	build := task(1, "build", sessions.TaskRunning)
	d := withTasks(t, 80, 24, &tuitest.Backend{}, []sessions.Session{session(1, "one", sessions.Detached)}, build)
	d.tellTask(task(1, "build", sessions.TaskFailed))
	d.shows("•✗ build")
	d.Press("j")
	d.shows("▌✗ build")
	d.Press("k")
	d.shows(" ✗ build")
}

func TestSeenTaskIsToldAgainWhenTheRuntimeWasAway(t *testing.T) {
	t.Parallel()
	var told atomic.Int32
	b := &tuitest.Backend{Tasks: tuitest.Tasks{OnSee: func() error {
		if told.Add(1) == 1 {
			return errors.New("the runtime is away")
		}
		return nil
	}}}
	d := withTasks(t, 80, 24, b, []sessions.Session{session(1, "one", sessions.Detached)}, task(1, "build", sessions.TaskFailed))
	d.shows("•✗ build")
	d.Press("j")
	d.Until("told once", func() bool { return told.Load() == 1 })
	d.backend.Tell(sessions.Change{Type: sessions.ChangeNode, Nodes: []sessions.NodeStatus{{Name: "box", State: sessions.Offline}}})
	d.shows("box")
	d.backend.Tell(sessions.Change{Type: sessions.ChangeNode, Nodes: []sessions.NodeStatus{{Name: "box", State: sessions.Up}}})
	d.Until("told again", func() bool { return told.Load() == 2 })
	d.shows("▌✗ build")
}

func TestNothingTicksWhileNoTaskRuns(t *testing.T) {
	t.Parallel()
	d := withTasks(t, 80, 24, &tuitest.Backend{}, []sessions.Session{session(1, "one", sessions.Starting)}, task(1, "build", sessions.TaskFailed))
	if n := d.Running(); n != 0 {
		t.Errorf("%d clocks run", n)
	}
	d.tellTask(task(2, "tests", sessions.TaskRunning))
	d.Until("the run time's clock", func() bool { return d.Running() == 1 })
	if calls := d.backend.Calls(); len(calls) > 0 {
		t.Errorf("nobody looks at a task, and yet there were calls: %v", calls)
	}
}

func TestGoldenTasks(t *testing.T) {
	t.Parallel()
	inEverySize(t, "tasks", func(t *testing.T, cols, rows int) *dashboard {
		all := everyTask()
		b := &tuitest.Backend{Tasks: tuitest.Tasks{
			OnUsage: func() map[sessions.ID]sessions.Usage {
				return map[sessions.ID]sessions.Usage{all[1].ID: {WallSeconds: 190, UserSeconds: 170, SystemSeconds: 12, MemoryBytes: 84 << 20}}
			},
			Logs: map[sessions.ID]*tuitest.Log{all[1].ID: tuitest.NewLog("\x1b[32mok\x1b[m   corral/vt  1.2s\n\x1b[32mok\x1b[m   corral/tui  3.4s\n")},
		}}
		d := withTasks(t, cols, rows, b, []sessions.Session{session(1, "one", sessions.Starting)}, all...)
		d.Press("G", "k")
		if rows >= 12 {
			d.shows("corral/tui  3.4s")
			d.Press("l")
		}
		if cols >= 80 {
			d.shows("cpu 182.0 s")
		}
		return d
	})
}

func TestGoldenTaskForm(t *testing.T) {
	t.Parallel()
	inEverySize(t, "task-form", func(t *testing.T, cols, rows int) *dashboard {
		d := withTasks(t, cols, rows, &tuitest.Backend{}, nil, everyTask()[3])
		if rows >= 12 {
			d.shows("nothing printed")
		}
		d.Press("R")
		return d
	})
}

func TestGoldenTaskDetails(t *testing.T) {
	t.Parallel()
	inEverySize(t, "task-details", func(t *testing.T, cols, rows int) *dashboard {
		d := withTasks(t, cols, rows, &tuitest.Backend{}, nil, everyTask()[2])
		if rows >= 12 {
			d.shows("nothing printed")
		}
		d.Press("i")
		return d
	})
}
