package task

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"corral/runtime/internal/taskdir"
	"corral/runtime/rtapi"
)

// gated is a line that waits for a file, then ends with a code.
func gated(gate, end string) string {
	return "while [ ! -e " + gate + " ]; do sleep 0.02; done; " + end
}

func open(t *testing.T, gate string) {
	t.Helper()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTheQueueOutlivesItsManager: what waits, waits in every life, starts once when its turn has come, and is refused
// when that can never come.
func TestTheQueueOutlivesItsManager(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	end := b.life()
	gate := filepath.Join(t.TempDir(), "gate")
	b.run("well", gated(gate, "exit 0"))
	b.run("badly", gated(gate, "exit 3"))
	b.run("next", "true", after("well"))
	b.run("chained", "true", after("next"))
	b.run("never", "true", after("badly"))
	b.run("nor-this", "true", after("never"))
	for _, id := range []string{"g1", "g2", "g3"} {
		b.run(id, gated(gate, "true"), group(2))
	}
	waiting := []string{"next", "chained", "never", "nor-this", "g3"}
	for _, id := range waiting {
		b.wait(id, rtapi.TaskQueued)
	}
	end()

	end = b.life()
	defer func() { end() }()
	for _, id := range waiting {
		b.wait(id, rtapi.TaskQueued)
	}
	for _, id := range []string{"well", "badly", "g1", "g2"} {
		b.wait(id, rtapi.TaskRunning)
	}
	open(t, gate)
	for _, id := range []string{"well", "next", "chained", "g1", "g2", "g3"} {
		b.wait(id, rtapi.TaskSucceeded)
		if n := b.starts(id); n != 1 {
			t.Errorf("%s was started %d times", id, n)
		}
	}
	for id, why := range map[string]string{"never": "is FAILED", "nor-this": "is FAILED"} {
		if now := b.wait(id, rtapi.TaskFailed); !strings.Contains(now.Reason, why) || b.starts(id) != 0 {
			t.Errorf("%s: %q, %d starts", id, now.Reason, b.starts(id))
		}
	}
}

// TestEndsInNobodysLife: a task that ends while there is no manager has its true end in the next life; one whose runner
// was killed is lost, and what it left running is ended.
func TestEndsInNobodysLife(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	end := b.life()
	gate := filepath.Join(t.TempDir(), "gate")
	b.run("seven", gated(gate, "exit 7"))
	b.run("orphaned", "sleep 1000")
	for _, id := range []string{"seven", "orphaned"} {
		b.wait(id, rtapi.TaskRunning)
	}
	waitFile(t, filepath.Join(b.path("orphaned"), taskdir.RunFile))
	end()
	open(t, gate)
	_ = b.runners["seven"].Wait()
	_ = b.runners["orphaned"].Process.Kill()
	_ = b.runners["orphaned"].Wait()

	end = b.life()
	defer func() { end() }()
	if now := b.wait("seven", rtapi.TaskFailed); now.ExitCode == nil || *now.ExitCode != 7 || now.EndedAt == nil {
		t.Errorf("%+v", now)
	}
	if now := b.wait("orphaned", rtapi.TaskLost); now.EndedAt != nil || now.ExitCode != nil {
		t.Errorf("%+v", now)
	}
	eventually(t, "the lost task's program is ended", func() bool { return alive("orphaned") == 0 })
}

// TestCancel: one that runs ends by the signal, one that waits never starts; who asked is kept.
func TestCancel(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	end := b.life()
	defer func() { end() }()
	b.run("runs", "sleep 1000")
	b.run("waits", "true", after("runs"))
	waitFile(t, filepath.Join(b.path("runs"), taskdir.RunFile))
	for _, id := range []string{"waits", "runs"} {
		if _, err := b.Cancel(t.Context(), id, rtapi.CancelRequest{By: "me"}); err != nil {
			now, _ := b.Get(t.Context(), id)
			t.Fatalf("cancel %s: %v: %+v", id, err, now)
		}
		if now := b.wait(id, rtapi.TaskCancelled); now.CancelledBy != "me" || now.EndedAt == nil {
			t.Errorf("%s: %+v", id, now)
		}
	}
	if b.starts("waits") != 0 || alive("runs") != 0 {
		t.Errorf("%d starts of the one that waited, %d processes of the one that ran", b.starts("waits"), alive("runs"))
	}
	if _, err := b.Cancel(t.Context(), "runs", rtapi.CancelRequest{By: "me"}); code(err) != "conflict" {
		t.Errorf("cancelled twice: %v", err)
	}
	if err := b.Remove(t.Context(), "runs"); err != nil {
		t.Error(err)
	}
	if _, err := b.Get(t.Context(), "runs"); code(err) != "not_found" {
		t.Errorf("a removed task: %v", err)
	}
}

// TestWhatTmuxRefuses is FAILED with the reason, and never tried again.
func TestWhatTmuxRefuses(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	end := b.life()
	defer func() { end() }()
	b.mu.Lock()
	b.refuses = true
	b.mu.Unlock()
	_, _ = b.Create(t.Context(), rtapi.TaskRequest{ID: "refused", CWD: "/", Command: []string{"true"}})
	if now := b.wait("refused", rtapi.TaskFailed); !strings.Contains(now.Reason, "no room") {
		t.Errorf("%+v", now)
	}
}

// TestDamage: a directory that cannot be understood is LOST with the reason, in the way of nothing, and can be removed;
// what is half made or half removed goes.
func TestDamage(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.life()()
	for name, meta := range map[string]string{"torn": `{"id":"to`, "stranger": `{"id":"other"}`, newPrefix + "x": "{}", gonePrefix + "y": "{}"} {
		dir := filepath.Join(b.cfg.Dir, name)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, taskdir.MetaFile), []byte(meta), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	end := b.life()
	defer func() { end() }()
	for _, id := range []string{"torn", "stranger"} {
		if now := b.wait(id, rtapi.TaskLost); !strings.Contains(now.Reason, "damaged") {
			t.Errorf("%+v", now)
		}
		if err := b.Remove(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	b.run("good", "exit 0")
	b.wait("good", rtapi.TaskSucceeded)
	if left, _ := filepath.Glob(filepath.Join(b.cfg.Dir, ".*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestBadTasksAreRefused before anything is on the disk.
func TestBadTasksAreRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	end := b.life()
	defer func() { end() }()
	good := rtapi.TaskRequest{ID: "x", CWD: "/", Command: []string{"true"}}
	for name, spoil := range map[string]func(*rtapi.TaskRequest){
		"no id":            func(r *rtapi.TaskRequest) { r.ID = "" },
		"path as id":       func(r *rtapi.TaskRequest) { r.ID = "../x" },
		"option as id":     func(r *rtapi.TaskRequest) { r.ID = "-x" },
		"no command":       func(r *rtapi.TaskRequest) { r.Command = nil },
		"two lines":        func(r *rtapi.TaskRequest) { r.Shell, r.Command = true, []string{"a", "b"} },
		"relative":         func(r *rtapi.TaskRequest) { r.CWD = "here" },
		"negative":         func(r *rtapi.TaskRequest) { r.Timeout = -1 },
		"NUL":              func(r *rtapi.TaskRequest) { r.Command = []string{"a\x00b"} },
		"after an unknown": func(r *rtapi.TaskRequest) { r.After = "nobody" },
	} {
		r := good
		spoil(&r)
		if _, err := b.Create(t.Context(), r); code(err) != "invalid" && code(err) != "not_found" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if made, _ := os.ReadDir(b.cfg.Dir); len(made) > 0 {
		t.Errorf("made: %v", made)
	}
}
