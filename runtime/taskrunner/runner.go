// Package taskrunner runs one task to its end: it is what `corral taskrunner DIR` does inside the tmux session
// crt-<id>. It needs neither runtime nor database, and writes down what happens in the task's directory
// (runtime/internal/taskdir), the exit last.
//
// What it promises: the log has the bytes that the program printed, in order; nothing of the task outlives it, for it
// is the subreaper of all its processes; an end is written down only when it is the task's own. When tmux hangs the
// runner up, or somebody terminates it, without anybody having cancelled the task, it ends the task's processes and says
// nothing: nobody can know what the task would have come to, so it is LOST.
//
// Goroutines: the one of Run, which decides everything; one that copies the output to the log; one that waits for the
// file that cancels. Run waits for the copying one; the other ends with the process, which is all there is to Run.
package taskrunner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/inotify"
	"corral/runtime/internal/procfs"
	"corral/runtime/internal/taskdir"
)

const (
	// lockPatience is how long to try for the lock: whoever looks at a task holds it for a moment.
	lockPatience, lockEvery = 2 * time.Second, 5 * time.Millisecond
	// doubt is how long after a death that looks like a host's shutdown the runner waits whether it is one.
	doubt = 5 * time.Second
	// strayGrace is how long processes that the program left behind have to end.
	strayGrace = 2 * time.Second
	// killEvery is how often what will not die is killed again, killTries how often.
	killEvery, killTries = 200 * time.Millisecond, 100
	// drain is how long output may still come once nothing of the task runs: somebody else may hold the pipe.
	drain = 500 * time.Millisecond
)

// failure is the runner's own exit status when it could not do its work.
const failure = 125

// Config is what a runner needs.
type Config struct {
	Dir  string // the task's directory
	Self string // path of the corral binary, for launch
	// After, if set, is called after each step that others can see; for tests.
	After func(step string)
}

// Run runs the task in cfg.Dir and returns the exit status for the process. Its standard error is the pane.
func Run(cfg Config) int {
	if cfg.After == nil {
		cfg.After = func(string) {}
	}
	code, err := run(cfg)
	if err != nil {
		fmt.Fprintf(os.Stderr, "corral: task %s: %v\n", filepath.Base(cfg.Dir), err)
		return failure
	}
	return code
}

// runner is one run.
type runner struct {
	cfg  Config
	meta taskdir.Meta
	run  taskdir.Run

	signals   chan os.Signal
	children  chan os.Signal
	cancelled chan struct{} // closed when the task is cancelled

	log    *logFile
	copied chan error // the copying goroutine's last word

	pid     int // of the program, which leads its group and session
	main    *syscall.WaitStatus
	deathAt time.Time

	asked     bool // the end was asked for
	cancel    *taskdir.Cancel
	timedOut  bool
	abandoned bool // hung up or terminated: nothing is said of the end
	strays    int
	kills     int
}

func run(cfg Config) (int, error) {
	// Before anything else: a hang-up from here on must not end us in between.
	r := &runner{cfg: cfg, signals: make(chan os.Signal, 4), children: make(chan os.Signal, 1), cancelled: make(chan struct{})}
	signal.Notify(r.signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(r.children, syscall.SIGCHLD)
	lock, err := lockTask(cfg.Dir)
	if err != nil {
		return 0, err
	}
	defer lock.Close() //nolint:errcheck // nothing was written
	cfg.After("lock")
	if _, err := os.Lstat(filepath.Join(cfg.Dir, taskdir.ExitFile)); err == nil {
		return 0, errors.New("it has ended already")
	}
	if r.meta, err = taskdir.Read[taskdir.Meta](cfg.Dir, taskdir.MetaFile); err != nil {
		return 0, err
	}
	// From here on there is room to tell the end.
	if err := taskdir.Reserve(cfg.Dir, taskdir.ExitFile); err != nil {
		return 0, err
	}
	cfg.After("reserve")
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("adopt the task's processes: %w", err)
	}
	watcher, err := r.watchCancel()
	if err != nil {
		return 0, err
	}
	defer watcher.Close() //nolint:errcheck // nothing was written
	if r.log, err = openLog(cfg.Dir, r.meta.LogLimit); err != nil {
		return r.never("its log cannot be made: " + err.Error())
	}
	defer r.log.close() //nolint:errcheck // looked at in finish where it counts
	cfg.After("log")
	if r.cancelNow() {
		return r.never("")
	}
	if err := r.start(); err != nil {
		return r.never(err.Error())
	}
	cfg.After("run")
	r.supervise()
	return r.finish()
}

func lockTask(dir string) (*os.File, error) {
	end := time.After(lockPatience)
	again := time.NewTicker(lockEvery) // flock has no event and no deadline
	defer again.Stop()
	for {
		lock, err := taskdir.Lock(dir)
		if !errors.Is(err, taskdir.ErrLocked) {
			return lock, err
		}
		select {
		case <-again.C:
		case <-end:
			return nil, err
		}
	}
}

// watchCancel closes r.cancelled when the file that cancels appears.
func (r *runner) watchCancel() (*inotify.Watcher, error) {
	w, err := inotify.New()
	if err != nil {
		return nil, err
	}
	if err := w.Add(r.cfg.Dir, inotify.Names); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	go func() {
		for {
			e, err := w.Next()
			if err != nil {
				return
			}
			if e.Name == taskdir.CancelFile || e.Path == "" && r.hasCancel() {
				close(r.cancelled)
				return
			}
		}
	}()
	return w, nil
}

func (r *runner) hasCancel() bool {
	_, err := os.Lstat(filepath.Join(r.cfg.Dir, taskdir.CancelFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// cancelNow looks whether the task was cancelled, and by whom.
func (r *runner) cancelNow() bool {
	if r.cancel == nil && r.hasCancel() {
		c, err := taskdir.Read[taskdir.Cancel](r.cfg.Dir, taskdir.CancelFile)
		if err != nil || c.By == "" {
			c.By = "unknown"
		}
		r.cancel = &c
	}
	return r.cancel != nil
}

// start starts the program through `corral launch`, in a session and process group of its own.
func (r *runner) start() error {
	if err := checkDirectory(r.meta.CWD); err != nil {
		return err
	}
	self, err := procfs.Identify(os.Getpid())
	if err != nil {
		return err
	}
	r.run = taskdir.Run{Runner: self, StartedAt: time.Now().UTC()}
	// Before the program starts: it must never run without anybody knowing that it was begun.
	if err := taskdir.Write(r.cfg.Dir, taskdir.RunFile, r.run); err != nil {
		return err
	}
	r.cfg.After("begun")
	io, err := openOutput(r.meta)
	if err != nil {
		return err
	}
	defer io.closeProgramSide()
	pid, _, err := syscall.StartProcess(r.cfg.Self, []string{r.cfg.Self, "launch", filepath.Join(r.cfg.Dir, taskdir.LaunchFile)},
		&syscall.ProcAttr{
			Dir: "/", Env: os.Environ(), Files: io.files(),
			Sys: &syscall.SysProcAttr{Setsid: true, Setctty: r.meta.TTY, Ctty: 0},
		})
	if err != nil {
		io.closeOurSide()
		return fmt.Errorf("the program cannot be started: %w", err)
	}
	r.pid = pid
	r.copied = make(chan error, 1)
	r.log.source = io.ours
	go func() { r.copied <- r.log.copy(io.ours) }()
	r.cfg.After("started")
	r.run.PID = pid
	if st, err := procfs.ReadStat(pid); err == nil {
		r.run.Start = st.Start
	}
	if err := taskdir.Write(r.cfg.Dir, taskdir.RunFile, r.run); err != nil {
		fmt.Fprintln(os.Stderr, "corral:", err) // it runs all the same
	}
	return nil
}

// checkDirectory says in words what launch would say in the log.
func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	var p *fs.PathError
	switch {
	case errors.As(err, &p):
		return fmt.Errorf("the directory %s cannot be entered: %w", dir, p.Err)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}
