package taskdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"corral/runtime/internal/procfs"
	"corral/runtime/rtapi"
)

// shutdownWindow is how close to the end of its tmux server a death that nobody asked for counts as a part of it.
const shutdownWindow = 30 * time.Second

// World is what a look at a directory must know of the rest.
type World struct {
	// Begun reports whether the runner of a task that was started, and has not been heard of, may still come.
	Begun func(id string, s Start) bool
	// Ends are the ends of former tmux servers.
	Ends []rtapi.ServerEnd
}

// Look concludes what a task's directory says. It never fails: what cannot be understood is a task that is LOST, with
// the reason.
func Look(dir string, w World) rtapi.Task {
	t := look(dir, w)
	if t.Ended() {
		_, err := os.Lstat(filepath.Join(dir, SeenFile))
		t.Seen = err == nil
	}
	return t
}

func look(dir string, w World) rtapi.Task {
	id := filepath.Base(dir)
	meta, err := Read[Meta](dir, MetaFile)
	if err == nil && meta.ID != id {
		err = fmt.Errorf("it is of the task %q", meta.ID)
	}
	if err != nil {
		t := rtapi.Task{ID: id, Title: id, State: rtapi.TaskLost, Reason: "its directory is damaged: " + MetaFile + " cannot be read: " + plain(err)}
		if info, err := os.Stat(dir); err == nil {
			t.CreatedAt = info.ModTime().UTC()
		}
		return t
	}
	t := rtapi.Task{
		ID: id, Title: meta.Title, CWD: meta.CWD, Command: meta.Command, Shell: meta.Shell, TTY: meta.TTY,
		CreatedAt: meta.CreatedAt, After: meta.After, Group: meta.Group, GroupLimit: meta.GroupLimit,
	}
	run, runErr := Read[Run](dir, RunFile)
	if runErr == nil && !run.StartedAt.IsZero() {
		t.StartedAt = &run.StartedAt
	}
	if ended(&t, dir, w) {
		return t
	}
	locked, err := Locked(dir)
	switch {
	case err != nil:
		t.State, t.Reason = rtapi.TaskLost, "its directory is damaged: "+plain(err)
		return t
	case locked:
		t.State = rtapi.TaskRunning
		if c, err := Read[Cancel](dir, CancelFile); err == nil {
			t.CancelledBy, t.Reason = c.By, "it was asked to end"
		}
		return t
	}
	// A runner may have written its last word between the two looks.
	if ended(&t, dir, w) {
		return t
	}
	start, err := Read[Start](dir, StartFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.State = rtapi.TaskQueued
	case err != nil:
		t.State, t.Reason = rtapi.TaskLost, "its directory is damaged: "+plain(err)
	case errors.Is(runErr, fs.ErrNotExist) && w.Begun(id, start):
		t.State = rtapi.TaskRunning
	default:
		t.State, t.Reason = rtapi.TaskLost, lostReason(start, runErr)
	}
	return t
}

// ended reads the task's last word, if there is one.
func ended(t *rtapi.Task, dir string, w World) bool {
	e, err := Read[Exit](dir, ExitFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		t.State, t.Reason = rtapi.TaskLost, "its directory is damaged: "+plain(err)
		return true
	}
	if u, err := Read[rtapi.Usage](dir, UsageFile); err == nil {
		t.Usage = &u
	}
	if e.Unasked {
		for _, end := range w.Ends {
			if d := end.At.Sub(e.EndedAt); d > -shutdownWindow && d < shutdownWindow {
				t.State, t.Reason = rtapi.TaskLost, "the host went down"
				return true
			}
		}
	}
	t.ExitCode, t.Signal, t.Strays, t.CancelledBy, t.Reason = e.Code, e.Signal, e.Strays, e.CancelledBy, e.Reason
	at := e.EndedAt
	t.EndedAt = &at
	switch {
	case e.CancelledBy != "":
		t.State = rtapi.TaskCancelled
	case e.Failed || e.Code == nil || *e.Code != 0:
		t.State = rtapi.TaskFailed
	default:
		t.State = rtapi.TaskSucceeded
	}
	if t.State == rtapi.TaskFailed && t.Reason == "" && e.Signal == nil && e.Code != nil {
		t.Reason = codeReason(*e.Code)
	}
	return true
}

// codeReason explains the two codes by which shells say that there was nothing to run.
func codeReason(code int) string {
	switch code {
	case 126:
		return "the command cannot be executed; see its log"
	case 127:
		return "the command was not found; see its log"
	}
	return ""
}

func lostReason(s Start, runErr error) string {
	switch {
	case !procfs.ThisBoot(s.Server.BootID):
		return "the machine went down while it ran"
	case !procfs.Alive(s.Server):
		return "the tmux server ended while it ran"
	case runErr != nil:
		return "its runner ended before it began"
	}
	return "its runner was killed"
}

// plain strips the path, which is long and known.
func plain(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return filepath.Base(p.Path) + ": " + p.Err.Error()
	}
	return err.Error()
}
