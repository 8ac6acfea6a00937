package taskdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"corral/runtime/internal/procfs"
	"corral/runtime/rtapi"
)

func number(n int) *int { return &n }

// TestStates: what a directory says, file by file.
func TestStates(t *testing.T) {
	t.Parallel()
	here, err := procfs.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	gone, rebooted := here, here
	gone.Start--
	rebooted.BootID = "another"
	now := time.Now().UTC()
	for name, c := range map[string]struct {
		start  *Start
		exit   *Exit
		cancel bool
		lock   bool
		begun  bool
		ends   []rtapi.ServerEnd
		state  string
		reason string
	}{
		"waits":            {state: rtapi.TaskQueued},
		"just started":     {start: &Start{Server: here}, begun: true, state: rtapi.TaskRunning},
		"never came":       {start: &Start{Server: here}, state: rtapi.TaskLost, reason: "before it began"},
		"tmux is gone":     {start: &Start{Server: gone}, state: rtapi.TaskLost, reason: "tmux server ended"},
		"a boot ago":       {start: &Start{Server: rebooted}, state: rtapi.TaskLost, reason: "machine went down"},
		"runs":             {start: &Start{Server: here}, lock: true, state: rtapi.TaskRunning},
		"is being ended":   {start: &Start{Server: here}, lock: true, cancel: true, state: rtapi.TaskRunning, reason: "asked to end"},
		"well":             {exit: &Exit{Code: number(0), EndedAt: now}, state: rtapi.TaskSucceeded},
		"well, still held": {exit: &Exit{Code: number(0), EndedAt: now}, lock: true, state: rtapi.TaskSucceeded},
		"badly":            {exit: &Exit{Code: number(7), EndedAt: now}, state: rtapi.TaskFailed},
		"too long":         {exit: &Exit{Code: number(0), EndedAt: now, Failed: true, Reason: "late"}, state: rtapi.TaskFailed, reason: "late"},
		"no command":       {exit: &Exit{Code: number(127), EndedAt: now}, state: rtapi.TaskFailed, reason: "not found"},
		"cancelled":        {exit: &Exit{Code: number(0), EndedAt: now, CancelledBy: "me"}, state: rtapi.TaskCancelled},
		"killed":           {exit: &Exit{Code: number(137), Signal: number(9), EndedAt: now, Unasked: true}, state: rtapi.TaskFailed},
		"host went down": {
			exit: &Exit{Code: number(137), Signal: number(9), EndedAt: now, Unasked: true},
			ends: []rtapi.ServerEnd{{At: now.Add(20 * time.Second)}}, state: rtapi.TaskLost, reason: "host went down",
		},
		"long before": {
			exit: &Exit{Code: number(137), Signal: number(9), EndedAt: now, Unasked: true},
			ends: []rtapi.ServerEnd{{At: now.Add(40 * time.Second)}}, state: rtapi.TaskFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "a")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			write := func(file string, v any) {
				if err := Write(dir, file, v); err != nil {
					t.Fatal(err)
				}
			}
			write(MetaFile, Meta{ID: "a", Command: []string{"true"}})
			if c.start != nil {
				write(StartFile, *c.start)
			}
			if c.cancel {
				write(CancelFile, Cancel{By: "me"})
			}
			if c.exit != nil {
				write(ExitFile, *c.exit)
			}
			if c.lock {
				lock, err := Lock(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer lock.Close() //nolint:errcheck // nothing was written
			}
			got := Look(dir, World{Begun: func(string, Start) bool { return c.begun }, Ends: c.ends})
			if got.State != c.state || !strings.Contains(got.Reason, c.reason) || (got.EndedAt != nil) != (c.exit != nil && c.state != rtapi.TaskLost) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestCreateHappensOnce: of two starts of a task only one may happen.
func TestCreateHappensOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Create(dir, StartFile, Start{}); err != nil {
		t.Fatal(err)
	}
	if err := Create(dir, StartFile, Start{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
}
