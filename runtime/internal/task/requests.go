package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/inotify"
	"corral/runtime/internal/procfs"
	"corral/runtime/internal/taskdir"
	"corral/runtime/launch"
	"corral/runtime/rtapi"
)

// Create makes a task, and starts it when nothing is in its way. One that exists is answered as it is.
func (m *Manager) Create(ctx context.Context, req rtapi.TaskRequest) (rtapi.Task, error) {
	if err := valid(req); err != nil {
		return rtapi.Task{}, err
	}
	var t rtapi.Task
	err := m.do(ctx, func(life context.Context) error {
		if have, err := m.find(req.ID); err == nil {
			t = have
			return nil
		}
		if req.After != "" {
			if _, err := m.find(req.After); err != nil {
				return err
			}
		}
		if err := m.make(req); err != nil {
			return err
		}
		m.look(req.ID)
		m.queue(life)
		t = m.look(req.ID)
		return nil
	})
	return t, err
}

// make makes the directory under another name and then gives it its own, so that there is never half of one.
func (m *Manager) make(req rtapi.TaskRequest) error {
	dir := filepath.Join(m.cfg.Dir, newPrefix+req.ID)
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = m.fill(dir, req)
	}
	if err == nil {
		err = os.Rename(dir, m.path(req.ID))
	}
	if err == nil {
		err = taskdir.SyncDir(m.cfg.Dir)
	}
	if err == nil {
		return nil
	}
	_ = os.RemoveAll(dir) // what stays goes at the next start
	err = fmt.Errorf("make the task: %w", err)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: %w", err, &rtapi.Error{Code: "internal", Message: "the disk of the data directory is full", Hint: "make room, then try again"})
	}
	return err
}

func (m *Manager) fill(dir string, req rtapi.TaskRequest) error {
	spec := launch.Spec{Env: append([]string{Mark + "=" + req.ID}, req.Env...), CWD: req.CWD}
	if req.Shell {
		spec.Line = req.Command[0]
	} else {
		spec.Argv = req.Command
	}
	if err := launch.Write(filepath.Join(dir, taskdir.LaunchFile), spec); err != nil {
		return err
	}
	return taskdir.Write(dir, taskdir.MetaFile, taskdir.Meta{
		ID: req.ID, Title: req.Title, CWD: req.CWD, Command: req.Command, Shell: req.Shell, TTY: req.TTY,
		Cols: req.Cols, Rows: req.Rows, Timeout: req.Timeout, Grace: req.Grace, LogLimit: req.LogLimit,
		After: req.After, Group: req.Group, GroupLimit: req.GroupLimit, CreatedAt: time.Now().UTC(),
	})
}

// valid checks a request's form; who sends it has explained it to people.
func valid(req rtapi.TaskRequest) error {
	invalid := func(format string, args ...any) error {
		return &rtapi.Error{Code: "invalid", Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case !validID(req.ID) || req.After != "" && !validID(req.After):
		return invalid("%q is no id of a task", req.ID)
	case len(req.Command) == 0 || req.Command[0] == "":
		return invalid("the task has no command")
	case req.Shell && len(req.Command) != 1:
		return invalid("a shell's line is one argument, not %d", len(req.Command))
	case !filepath.IsAbs(req.CWD):
		return invalid("the directory %q is not an absolute path", req.CWD)
	case req.Timeout < 0 || req.Grace < 0 || req.GroupLimit < 0:
		return invalid("no time and no limit of a task can be negative")
	}
	for _, text := range append(append([]string{req.CWD, req.Title}, req.Command...), req.Env...) {
		if strings.ContainsRune(text, 0) {
			return invalid("no argument, directory or variable can hold a NUL character")
		}
	}
	return nil
}

// Get returns one task as it is now.
func (m *Manager) Get(ctx context.Context, id string) (t rtapi.Task, err error) {
	err = m.do(ctx, func(context.Context) error {
		t, err = m.find(id)
		return err
	})
	return t, err
}

// List returns all tasks, oldest first.
func (m *Manager) List(ctx context.Context) (all []rtapi.Task, err error) {
	err = m.do(ctx, func(context.Context) error {
		for _, t := range m.unended() {
			m.look(t.ID)
		}
		all = m.list()
		return nil
	})
	return all, err
}

// Cancel asks for a task's end; one that waits ends at once.
func (m *Manager) Cancel(ctx context.Context, id string, req rtapi.CancelRequest) (t rtapi.Task, err error) {
	if req.By == "" {
		req.By = "unknown"
	}
	err = m.do(ctx, func(context.Context) error {
		if t, err = m.find(id); err != nil {
			return err
		}
		if t.Ended() {
			return conflict("the task has ended already: it is %s", t.State)
		}
		now := time.Now().UTC()
		err = taskdir.Create(m.path(id), taskdir.CancelFile, taskdir.Cancel{By: req.By, At: now})
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if t.State == rtapi.TaskQueued {
			m.write(id, taskdir.Exit{EndedAt: now, CancelledBy: req.By, Failed: true, Reason: "never started"})
		}
		t, err = m.find(id)
		return err
	})
	return t, err
}

// See notes that somebody has looked at an ended task.
func (m *Manager) See(ctx context.Context, id string) (t rtapi.Task, err error) {
	err = m.do(ctx, func(context.Context) error {
		if t, err = m.find(id); err != nil {
			return err
		}
		if !t.Ended() {
			return conflict("the task is still %s", t.State)
		}
		if t.Seen {
			return nil
		}
		err = taskdir.Create(m.path(id), taskdir.SeenFile, taskdir.Seen{At: time.Now().UTC()})
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		t, err = m.find(id)
		return err
	})
	return t, err
}

// Remove deletes an ended task.
func (m *Manager) Remove(ctx context.Context, id string) error {
	return m.do(ctx, func(context.Context) error {
		t, err := m.find(id)
		if err != nil {
			return err
		}
		if !t.Ended() {
			return conflict("the task is %s; cancel it first", t.State)
		}
		gone := filepath.Join(m.cfg.Dir, gonePrefix+id)
		if err := os.Rename(m.path(id), gone); err != nil {
			return fmt.Errorf("remove task %s: %w", id, err)
		}
		m.look(id)
		if err := os.RemoveAll(gone); err != nil {
			return fmt.Errorf("remove task %s: %w", id, err)
		}
		return nil
	})
}

// Usage looks what the running tasks use now.
func (m *Manager) Usage(context.Context) (map[string]rtapi.Usage, error) {
	all := map[string]rtapi.Usage{}
	var runners []int
	ids := map[int]string{}
	for _, t := range m.unended() {
		run, err := taskdir.Read[taskdir.Run](m.path(t.ID), taskdir.RunFile)
		if t.State != rtapi.TaskRunning || err != nil || !procfs.Alive(run.Runner) {
			continue
		}
		ids[run.Runner.PID] = t.ID
		runners = append(runners, run.Runner.PID)
		all[t.ID] = rtapi.Usage{WallSeconds: time.Since(run.StartedAt).Seconds()}
	}
	for runner, sum := range procfs.Sum(runners) {
		u := all[ids[runner]]
		u.UserSeconds, u.SystemSeconds, u.MemoryBytes = sum.User.Seconds(), sum.System.Seconds(), sum.Memory
		all[ids[runner]] = u
	}
	return all, nil
}

// logWait is how long a reader waits for output before it is answered that there is none, logPoll how often it is looked
// when the kernel has no watch left.
const logWait, logPoll = 25 * time.Second, 250 * time.Millisecond

// Log opens a task's log at offset and says how it is. With wait it first waits for a byte there, or the end. The reader
// is nil when there is nothing to read.
func (m *Manager) Log(ctx context.Context, id string, offset int64, wait bool) (rtapi.LogInfo, *os.File, error) {
	info, err := m.logInfo(ctx, id)
	if err == nil && wait && !info.Ended && info.Size <= offset {
		info, err = m.awaitLog(ctx, id, offset)
	}
	if err != nil || offset >= info.Size || offset >= info.CutFrom && offset < info.CutTo {
		return info, nil, err
	}
	f, err := os.Open(filepath.Join(m.path(id), taskdir.LogFile))
	if err != nil {
		return info, nil, fmt.Errorf("read the log of task %s: %w", id, err)
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return info, nil, errors.Join(fmt.Errorf("read the log of task %s: %w", id, err), f.Close())
	}
	return info, f, nil
}

// logInfo looks first whether the task has ended, then how long its log is: the end's length is then the last.
func (m *Manager) logInfo(ctx context.Context, id string) (rtapi.LogInfo, error) {
	t, err := m.Get(ctx, id)
	if err != nil {
		return rtapi.LogInfo{}, err
	}
	info, err := taskdir.LogInfo(m.path(id))
	if err != nil {
		return info, fmt.Errorf("read the log of task %s: %w", id, err)
	}
	info.Ended = t.Ended()
	return info, nil
}

func (m *Manager) awaitLog(ctx context.Context, id string, offset int64) (rtapi.LogInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, logWait)
	defer cancel()
	happened := make(chan struct{}, 1)
	poll := time.NewTicker(logPoll)
	defer poll.Stop()
	w, err := inotify.New()
	if err == nil {
		if err = w.Add(m.path(id), inotify.Written|inotify.Names|inotify.Closed); err == nil {
			poll.Stop()
		}
		done := make(chan struct{})
		defer func() { <-done }()
		defer w.Close() //nolint:errcheck // nothing was written
		go func() {
			defer close(done)
			for {
				if _, err := w.Next(); err != nil {
					return
				}
				select {
				case happened <- struct{}{}:
				default:
				}
			}
		}()
	}
	for {
		info, err := m.logInfo(ctx, id)
		if err != nil || info.Size > offset || info.Ended {
			return info, err
		}
		select {
		case <-happened:
			// An end shows in the files a moment before the lock is free.
			select {
			case <-time.After(relook):
			case <-ctx.Done():
			}
		case <-poll.C:
		case <-ctx.Done():
			return info, nil
		}
	}
}

// Find looks for text in a task's log.
func (m *Manager) Find(ctx context.Context, id, text string, from, to int64) (rtapi.LogPlace, error) {
	if !validID(id) {
		return rtapi.LogPlace{}, notFound(id)
	}
	if _, err := os.Stat(m.path(id)); err != nil {
		return rtapi.LogPlace{}, notFound(id)
	}
	at, err := taskdir.Find(ctx, m.path(id), []byte(text), from, to)
	if err != nil {
		return rtapi.LogPlace{}, fmt.Errorf("search the log of task %s: %w", id, err)
	}
	return rtapi.LogPlace{At: at}, nil
}

// Marks returns when the bytes of a task's log came.
func (m *Manager) Marks(_ context.Context, id string, from int64) ([]rtapi.LogMark, error) {
	if !validID(id) {
		return nil, notFound(id)
	}
	if _, err := os.Stat(m.path(id)); err != nil {
		return nil, notFound(id)
	}
	marks, err := taskdir.Marks(m.path(id), from)
	if err != nil {
		return nil, fmt.Errorf("read the log of task %s: %w", id, err)
	}
	return marks, nil
}
