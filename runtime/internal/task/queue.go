package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"corral/runtime/internal/procfs"
	"corral/runtime/internal/taskdir"
	"corral/runtime/rtapi"
)

// queue starts every task whose turn has come, oldest first.
func (m *Manager) queue(ctx context.Context) {
	all := m.list()
	running := map[string]int{} // by group
	state := map[string]rtapi.Task{}
	for _, t := range all {
		state[t.ID] = t
		if t.State == rtapi.TaskRunning && t.Group != "" {
			running[t.Group]++
		}
	}
	for _, t := range all {
		if t.State != rtapi.TaskQueued || ctx.Err() != nil {
			continue
		}
		if t.After != "" {
			before, known := state[t.After]
			switch {
			case !known:
				m.refuse(t.ID, fmt.Sprintf("never started: the task %s, which it was to follow, is not there any more", short(t.After)))
				continue
			case before.Ended() && before.State != rtapi.TaskSucceeded:
				m.refuse(t.ID, fmt.Sprintf("never started: the task %s, which it was to follow, is %s", short(t.After), before.State))
				continue
			case !before.Ended():
				continue
			}
		}
		if t.Group != "" && running[t.Group] >= max(1, t.GroupLimit) {
			continue
		}
		err := m.start(ctx, t.ID)
		if errors.Is(err, errNoTmux) {
			return
		}
		if err != nil {
			m.cfg.Log.Warn("task not started", "task", t.ID, "err", err)
			continue
		}
		if t.Group != "" {
			running[t.Group]++
		}
	}
}

func short(id string) string { return id[:min(8, len(id))] }

// start starts a task's runner, once in the task's life: the file start, which can be made only once, decides.
func (m *Manager) start(ctx context.Context, id string) error {
	server, ok := m.cfg.Tmux.Server()
	if !ok {
		return errNoTmux // it stays queued; the next listing comes when there is a server
	}
	dir := m.path(id)
	err := taskdir.Create(dir, taskdir.StartFile, taskdir.Start{Server: server, At: time.Now().UTC()})
	if err != nil {
		m.refuse(id, "it could not be started: "+err.Error())
		return err
	}
	m.starting[id] = true
	defer delete(m.starting, id)
	m.look(id)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	refused, err := m.cfg.Tmux.Start(ctx, server, SessionPrefix+id, []string{m.cfg.Self, "taskrunner", dir})
	if refused {
		m.refuse(id, "it could not be started: "+err.Error())
		return err
	}
	if err == nil && m.seen.Server == server && m.seen.Dead != nil {
		m.seen.Dead[id] = false // until the next listing
	}
	return err
}

// refuse writes down that a task never started.
func (m *Manager) refuse(id, why string) {
	m.write(id, taskdir.Exit{EndedAt: time.Now().UTC(), Reason: why, Failed: true})
}

// write ends a task without a runner. The lock keeps a runner from doing so at the same moment.
func (m *Manager) write(id string, e taskdir.Exit) {
	lock, err := taskdir.Lock(m.path(id))
	if err != nil {
		m.cfg.Log.Error("task not ended", "task", id, "err", err)
		return
	}
	defer lock.Close() //nolint:errcheck // nothing was written
	if err := taskdir.Write(m.path(id), taskdir.ExitFile, e); err != nil {
		m.cfg.Log.Error("task not ended", "task", id, "err", err)
	}
	_ = os.Remove(filepath.Join(m.path(id), taskdir.LaunchFile)) // nobody will read it
	m.look(id)
}

// endSessions removes the tmux sessions of tasks that are over.
func (m *Manager) endSessions(ctx context.Context) {
	for id, dead := range m.seen.Dead {
		m.mu.Lock()
		t, known := m.tasks[id]
		m.mu.Unlock()
		if known && !t.Ended() || !known && !dead {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		if err := m.cfg.Tmux.End(ctx, m.seen.Server, SessionPrefix+id); err != nil {
			m.cfg.Log.Debug("task's session not ended", "task", id, "err", err)
		}
		cancel()
		delete(m.seen.Dead, id)
	}
}

// Mark is the variable by which a task's processes can be told from all others.
const Mark = "CORRAL_TASK_ID"

// endOrphans kills what a runner that was killed left running. A task that is lost must not go on unseen.
func (m *Manager) endOrphans(id string) {
	if locked, err := taskdir.Locked(m.path(id)); err != nil || locked {
		return // only its directory is damaged
	}
	for range 10 { // what they start meanwhile
		left := procfs.WithVariable(Mark + "=" + id)
		if len(left) == 0 {
			return
		}
		m.cfg.Log.Warn("lost task still ran", "task", id, "processes", len(left))
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone is as well
		}
	}
}
