package sock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// How long to wait before the next try when a deleted socket could not be bound again (disk full, foreign process).
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// watch binds the socket again whenever it is gone. It runs until Close, or until there is nothing left to bind to.
func (l *Listener) watch() {
	defer close(l.watched)
	defer l.watcher.Close()
	retry := firstRetry
	timer := time.NewTimer(Settle) // the first look covers what happened before the watch began
	defer timer.Stop()
	for {
		select {
		case <-l.done:
			return
		case _, ok := <-l.watcher.Events:
			if !ok {
				return
			}
			if !l.intact() {
				timer.Reset(Settle)
			}
		case err := <-l.watcher.Errors:
			// An overflow lost events: look.
			l.log.Warn("socket watch lost events", "socket", l.path, "error", err)
			timer.Reset(Settle)
		case <-timer.C:
			if l.intact() {
				retry = firstRetry
				continue
			}
			if parent := filepath.Dir(filepath.Dir(l.path)); gone(parent) {
				l.log.Warn("directory of the socket deleted", "directory", parent)
				l.stop(ErrGone)
				return
			}
			if err := l.bind(); err != nil {
				l.log.Error("socket not bound again", "socket", l.path, "error", err, "retry", retry)
				timer.Reset(retry)
				retry = min(2*retry, lastRetry)
				continue
			}
			l.log.Info("socket bound again", "socket", l.path)
			// The directory may have been deleted between its making and its watch.
			timer.Reset(Settle)
		}
	}
}

// intact reports whether the path still names the socket that we listen on.
func (l *Listener) intact() bool {
	id, err := identify(l.path)
	l.mu.Lock()
	defer l.mu.Unlock()
	return err == nil && id == l.id
}

func gone(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}
