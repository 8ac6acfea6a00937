package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// startRetry is how long a start is tried again that the remains of a killed postmaster stand in the way of: its
	// children leave by themselves within about half a second.
	startRetry      = 5 * time.Second
	startRetryPause = 100 * time.Millisecond

	// maxRestarts is how often a postmaster without its socket is replaced before that is called hopeless.
	maxRestarts = 3

	// endGrace is how long a postmaster may take over each kind of shutdown before the next harder one.
	endGrace = 5 * time.Second

	// readyTick stands in for inotify where it cannot be had.
	readyTick = 250 * time.Millisecond

	// maxLog is the size at which a start puts the log aside, as postgres.log.1.
	maxLog = 1 << 20
)

// errEnded reports a postmaster that ended before it was ready.
var errEnded = errors.New("PostgreSQL ended before it was ready")

// postmaster is a running postmaster of the cluster.
type postmaster struct {
	*process
	logFrom int64 // where in the log its life begins; -1 for an adopted one
	socket  os.FileInfo
}

// pidFile is what PostgreSQL writes into postmaster.pid (src/include/utils/pidfile.h), as far as it matters here.
type pidFile struct {
	pid       int
	socketDir string
	status    string // starting, ready, standby, stopping
}

func (c *Cluster) pidFilePath() string { return filepath.Join(c.cfg.Dir, "postmaster.pid") }

func (c *Cluster) readPidFile() (pidFile, error) {
	text, err := os.ReadFile(c.pidFilePath())
	if err != nil {
		return pidFile{}, err
	}
	lines := append(strings.Split(string(text), "\n"), make([]string, 8)...) // it is written line by line
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return pidFile{}, fmt.Errorf("read %s: %w", c.pidFilePath(), err)
	}
	return pidFile{pid: pid, socketDir: strings.TrimSpace(lines[4]), status: strings.TrimSpace(lines[7])}, nil
}

// running returns the postmaster of this cluster, nil when there is none. A pid file that names a dead process, or one
// that is something else, is stale.
func (c *Cluster) running() (*postmaster, error) {
	file, err := c.readPidFile()
	if err != nil {
		return nil, nil //nolint:nilerr // no file, or one that is just being written or is garbage: nobody to adopt
	}
	p, err := openProcess(file.pid)
	if errors.Is(err, os.ErrProcessDone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !c.isOurs(file.pid) { // after the handle was opened, so that the answer is about it
		p.close()
		return nil, nil
	}
	return &postmaster{process: p, logFrom: -1}, nil
}

// isOurs reports whether pid is a postmaster on our data directory. Its command line says so and is readable by all;
// /proc/pid/exe of another user's process is not, where root lacks CAP_SYS_PTRACE.
func (c *Cluster) isOurs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	args := strings.Split(string(text), "\x00")
	if name := filepath.Base(args[0]); name != "postgres" && name != "postmaster" {
		return false
	}
	ours, err := os.Stat(c.cfg.Dir)
	if err != nil {
		return false
	}
	for i, arg := range args[:len(args)-1] {
		if arg != "-D" {
			continue
		}
		if theirs, err := os.Stat(args[i+1]); err == nil && os.SameFile(ours, theirs) {
			return true
		}
	}
	return false
}

// startOrAdopt returns a postmaster that takes connections on our socket. The caller holds the lock.
func (c *Cluster) startOrAdopt(ctx context.Context, as account) (*postmaster, error) {
	var hindered time.Time // since when something stands in the way of a start
	for restarts := 0; ; {
		pm, err := c.running()
		if err != nil {
			return nil, err
		}
		adopted := pm != nil
		if !adopted {
			if pm, err = c.start(ctx, as); err != nil {
				return nil, err
			}
		}
		err = c.waitReady(ctx, pm)
		switch {
		case err == nil && c.reachable(pm):
			c.log.Info("database up", "pid", pm.pid, "adopted", adopted)
			return pm, nil
		case err == nil && restarts == maxRestarts:
			err = problem("PostgreSQL does not keep its socket in "+c.cfg.SocketDir, "see who removes it", nil)
		case err == nil: // its socket is elsewhere, or was deleted; only a restart makes another
			restarts++
			c.log.Warn("database has lost its socket", "pid", pm.pid)
			err = pm.end(endGrace, unix.SIGINT, unix.SIGQUIT, unix.SIGKILL)
		case errors.Is(err, errEnded) && adopted: // it was on its way out
			err = nil
		case errors.Is(err, errEnded):
			if hindered.IsZero() {
				hindered = time.Now()
			}
			if c.mayPassBy(pm) && time.Since(hindered) < startRetry {
				err = pause(ctx, startRetryPause)
			} else {
				err = c.explainEnd(pm)
			}
		}
		pm.close()
		if err != nil {
			return nil, err
		}
	}
}

// start starts a postmaster, in a session of its own so that it outlives us and no signal from our terminal reaches it.
func (c *Cluster) start(ctx context.Context, as account) (*postmaster, error) {
	bin, err := c.prepare(ctx, as)
	if err != nil {
		return nil, err
	}
	if err := c.removeStalePidFile(); err != nil {
		return nil, err
	}
	if err := c.makeSocketDir(as); err != nil {
		return nil, err
	}
	for _, path := range []string{c.cfg.Dir, c.cfg.SocketDir} {
		if err := as.checkReach(ctx, bin.path("postgres"), path); err != nil {
			return nil, err
		}
	}
	log, from, err := c.openLog()
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the postmaster has its own copy
	args := []string{"-D", c.cfg.Dir, "-k", c.cfg.SocketDir}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd := as.command(context.WithoutCancel(ctx), bin.path("postgres"), args...)
	cmd.SysProcAttr.Setsid = true
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, problem("PostgreSQL cannot be started", "try it by hand: "+cmd.Path, err)
	}
	p, err := openProcess(cmd.Process.Pid) // our child: its pid stays its own until we reap it
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	if err := cmd.Process.Release(); err != nil {
		c.log.Warn("release process", "err", err)
	}
	return &postmaster{process: p, logFrom: from}, nil
}

// settings make the server small (20 MB with all its processes), deaf to the network and quiet. They are arguments
// rather than a file, so that a newer binary changes them at the next start. Committed is on disk: fsync stays on.
var settings = []string{
	"port=" + port, "listen_addresses=", "unix_socket_permissions=0700", "cluster_name=corral",
	"shared_buffers=16MB", "max_connections=20", "max_worker_processes=2", "max_parallel_workers=0",
	"autovacuum_max_workers=1", "autovacuum_naptime=5min", "wal_level=minimal", "max_wal_senders=0", "max_wal_size=128MB", "min_wal_size=32MB",
	"jit=off", "timezone=UTC", "log_timezone=UTC", "log_checkpoints=off",
	"log_min_error_statement=panic", // statements hold titles and directories of people
}

// removeStalePidFile removes a pid file that names a live process which is no postmaster of ours. PostgreSQL refuses
// to start over such a one when the process has its own user; one that names nobody it removes itself.
func (c *Cluster) removeStalePidFile() error {
	file, err := c.readPidFile()
	if err != nil {
		return nil //nolint:nilerr // PostgreSQL says what is wrong with it
	}
	p, err := openProcess(file.pid)
	if err != nil {
		return nil //nolint:nilerr // no such process
	}
	defer p.close()
	if c.isOurs(file.pid) {
		return nil
	}
	c.log.Warn("stale postmaster.pid removed", "pid", file.pid)
	if err := os.Remove(c.pidFilePath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return problem("a stale file cannot be removed: "+c.pidFilePath(), "remove it", err)
	}
	return nil
}

// waitReady returns when pm takes connections, with errEnded when it ends before.
func (c *Cluster) waitReady(ctx context.Context, pm *postmaster) error {
	changes := watchDirs(c.log, readyTick, c.cfg.Dir)
	defer changes.close()
	for {
		if file, err := c.readPidFile(); err == nil && file.pid == pm.pid && file.status == "ready" {
			return nil
		}
		select {
		case <-changes.c:
		case <-pm.ended:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("wait for PostgreSQL (pid %d) to be ready: %w", pm.pid, ctx.Err())
		}
	}
}

func (c *Cluster) socketPath() string { return filepath.Join(c.cfg.SocketDir, socketName) }

// reachable reports whether our socket is pm's, and remembers which file it is. PostgreSQL notes the owner of a socket
// in a file beside it.
func (c *Cluster) reachable(pm *postmaster) bool {
	lock, err := os.ReadFile(c.socketPath() + ".lock")
	if err != nil {
		return false
	}
	if first, _, _ := bytes.Cut(lock, []byte("\n")); string(bytes.TrimSpace(first)) != strconv.Itoa(pm.pid) {
		return false
	}
	info, err := os.Stat(c.socketPath())
	if err != nil {
		return false
	}
	conn, err := net.DialTimeout("unix", c.socketPath(), endGrace)
	if err != nil && !errors.Is(err, unix.EAGAIN) { // EAGAIN: busy, but there
		return false
	}
	if conn != nil {
		_ = conn.Close() // nothing was said
	}
	pm.socket = info
	return true
}

func (c *Cluster) logPath() string { return filepath.Join(c.cfg.LogDir, "postgres.log") }

// openLog opens the log for a new postmaster and returns where its part begins.
func (c *Cluster) openLog() (f *os.File, from int64, err error) {
	if info, err := os.Stat(c.logPath()); err == nil && info.Size() > maxLog {
		if err := os.Rename(c.logPath(), c.logPath()+".1"); err != nil {
			c.log.Warn("put the database's log aside", "err", err)
		}
	}
	f, err = os.OpenFile(c.logPath(), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, problem("the database's log cannot be written: "+c.logPath(), "correct its permissions", err)
	}
	from, err = f.Seek(0, io.SeekEnd)
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, 0, fmt.Errorf("read %s: %w", c.logPath(), err)
	}
	return f, from, nil
}

// lastWords returns what pm wrote into the log last.
func (c *Cluster) lastWords(pm *postmaster) string {
	f, err := os.Open(c.logPath())
	if err != nil || pm.logFrom < 0 {
		return ""
	}
	defer f.Close()                                                   //nolint:errcheck // only read
	text, _ := io.ReadAll(io.NewSectionReader(f, pm.logFrom, maxLog)) // what there is will do
	return lastLine(string(text))
}

// mayPassBy reports whether pm ended because something stood in its way that leaves by itself: the children of a
// postmaster that was killed, or another start of the same cluster.
func (c *Cluster) mayPassBy(pm *postmaster) bool {
	words := c.lastWords(pm)
	return strings.Contains(words, "shared memory block") || strings.HasPrefix(words, "lock file") ||
		strings.Contains(words, "already in use")
}

func (c *Cluster) explainEnd(pm *postmaster) error {
	message := "PostgreSQL does not start"
	if words := c.lastWords(pm); words != "" {
		message += ": " + words
	}
	return problem(message, "its log says more: "+c.logPath(), errEnded)
}
