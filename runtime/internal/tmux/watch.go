package tmux

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"corral/runtime/internal/procfs"
)

// settle is how long a deletion is left to finish before what it deleted is made anew: whoever removes a directory with
// all that is in it must not find it filled again half-way.
const settle = 20 * time.Millisecond

// reviveEvery is how long a tmux server gets to make its socket anew before it is asked again.
const reviveEvery = 100 * time.Millisecond

// watchSocket brings the socket back as soon as it, or its directory, is deleted. The connections live on through
// that; new clients need the path.
func (s *Server) watchSocket(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		// Without it a deletion shows when the next connection is made.
		s.log.Warn("tmux socket not watched", "err", err)
		return
	}
	defer w.Close() //nolint:errcheck // nothing was written
	var retry <-chan time.Time
	for {
		retry = nil
		if !s.guardSocket(w) {
			retry = time.After(reviveEvery)
		}
		if !s.awaitDeletion(ctx, w, retry) || !sleep(ctx, settle) {
			return
		}
	}
}

// guardSocket watches the socket's directory, makes both anew when they are missing and reports whether all is well.
func (s *Server) guardSocket(w *fsnotify.Watcher) bool {
	s.mu.Lock()
	socket, server := s.cfg.Socket, s.state.Server
	if s.state.Socket != "" {
		socket = s.state.Socket
	}
	s.mu.Unlock()
	if err := mkSocketDir(socket); err != nil {
		s.log.Warn("tmux socket directory missing", "err", err)
		return false
	}
	if err := w.Add(filepath.Dir(socket)); err != nil {
		return false // deleted again meanwhile
	}
	if server.PID == 0 {
		return true // there will be a socket when a server starts
	}
	if _, err := os.Lstat(socket); err == nil {
		return true
	}
	s.reviveSocket()
	return false
}

// awaitDeletion returns true when the socket may have to be brought back, false when ctx ends.
func (s *Server) awaitDeletion(ctx context.Context, w *fsnotify.Watcher, retry <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-retry:
			return true
		case ev, ok := <-w.Events:
			if !ok {
				return false
			}
			if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
				return true
			}
		case err, ok := <-w.Errors:
			if !ok {
				return false
			}
			s.log.Warn("tmux socket watch", "err", err)
			return true
		}
	}
}

// reviveSocket asks the connected or recorded server to make its socket anew, which tmux does on SIGUSR1.
func (s *Server) reviveSocket() {
	s.mu.Lock()
	server, socket := s.state.Server, s.state.Socket
	s.mu.Unlock()
	if server.PID == 0 || !procfs.Alive(server) {
		return
	}
	if err := mkSocketDir(socket); err != nil {
		s.log.Warn("tmux socket not made anew", "err", err)
		return
	}
	s.log.Warn("tmux socket was deleted", "socket", socket)
	if err := syscall.Kill(server.PID, syscall.SIGUSR1); err != nil {
		s.log.Warn("tmux socket not made anew", "err", err)
	}
}
