package pgcluster

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

const (
	// Backoff between starts that do not last, as for every role.
	minBackoff = 500 * time.Millisecond
	maxBackoff = 10 * time.Second
	// A postmaster that stayed up this long was not a failed start: the next one is tried at once.
	lasted = 2 * time.Second

	// watchTick stands in for inotify where it cannot be had.
	watchTick = time.Second
)

// Watch keeps the cluster running until ctx ends: it ensures it, and again at once when the postmaster dies or its
// socket is deleted, with backoff while that does not help. It returns nil when ctx ends; the postmaster goes on.
func (c *Cluster) Watch(ctx context.Context) error {
	var backoff time.Duration // before the next start; the first one after a good while is at once
	var reported string
	for {
		pm, err := c.ensure(ctx)
		switch {
		case ctx.Err() != nil:
			if pm != nil {
				pm.close()
			}
			return nil //nolint:nilerr // ended as asked
		case err == nil:
			reported = ""
			up := time.Now()
			c.watchOne(ctx, pm)
			pm.close()
			if time.Since(up) > lasted {
				backoff = 0
				continue
			}
		case err.Error() != reported:
			reported = err.Error()
			c.log.Error("database does not come up", "err", err)
		}
		if pause(ctx, backoff) != nil {
			return nil
		}
		backoff = min(max(2*backoff, minBackoff), maxBackoff)
	}
}

// watchOne returns when pm needs to be replaced or ctx ends. A postmaster that has lost its socket, which it never
// makes again, is ended here.
func (c *Cluster) watchOne(ctx context.Context, pm *postmaster) {
	// The parent too: it is what tells of the directory's own end and of a move.
	changes := watchDirs(c.log, watchTick, c.cfg.SocketDir, filepath.Dir(c.cfg.SocketDir))
	defer changes.close()
	for {
		if info, err := os.Stat(c.socketPath()); err != nil || !os.SameFile(info, pm.socket) {
			select {
			case <-pm.ended: // it removed the socket itself
				c.log.Warn("database ended", "pid", pm.pid)
				return
			default:
			}
			c.log.Warn("database has lost its socket", "pid", pm.pid)
			if err := pm.end(endGrace, unix.SIGINT, unix.SIGQUIT, unix.SIGKILL); err != nil {
				c.log.Error("database cannot be ended", "err", err)
			}
			return
		}
		select {
		case <-changes.c:
		case <-pm.ended:
			c.log.Warn("database ended", "pid", pm.pid)
			return
		case <-ctx.Done():
			return
		}
	}
}

// dirChanges says when something may have changed in some directories. It is a hint: whoever is woken looks.
type dirChanges struct {
	c     <-chan struct{}
	close func()
}

// watchDirs watches the directories that exist. Besides it wakes every tick if inotify cannot be had (a user's limit of
// instances may be used up), which costs a few calls where nothing better is possible.
func watchDirs(log *slog.Logger, tick time.Duration, dirs ...string) dirChanges {
	wake := make(chan struct{}, 1)
	stop, stopped := make(chan struct{}), make(chan struct{})
	watcher, err := fsnotify.NewWatcher()
	var events chan fsnotify.Event
	var errs chan error
	var ticks <-chan time.Time
	for _, dir := range dirs {
		if err == nil {
			err = watcher.Add(dir)
		}
	}
	if err != nil {
		log.Debug("watch directories", "err", err)
		ticks = time.Tick(tick)
	}
	if watcher != nil {
		events, errs = watcher.Events, watcher.Errors
	}
	go func() {
		defer close(stopped)
		for {
			select {
			case <-events:
			case <-errs: // such as an overflow of the queue
			case <-ticks:
			case <-stop:
				return
			}
			select {
			case wake <- struct{}{}:
			default: // a wake-up is due already
			}
		}
	}()
	return dirChanges{c: wake, close: func() {
		close(stop)
		<-stopped
		if watcher != nil {
			_ = watcher.Close() // nothing is left to be told
		}
	}}
}
