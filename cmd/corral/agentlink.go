package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"corral/runtime/daemon"
)

// linkAgent makes the link that sessions have for their ssh-agent lead to the one that this login brought along. Only an
// SSH login does: inside a session there is none, so no session can lead the others to an agent of its own.
func (c *corral) linkAgent(log *slog.Logger) {
	if c.env.SSHClient == "" || c.env.SSHAuthSock == "" || c.remote != "" {
		return
	}
	if err := link(c.env.SSHAuthSock, filepath.Join(c.paths.Run, daemon.AgentLink)); err != nil {
		log.Warn("ssh-agent not linked", "error", err) // sessions do without
	}
}

// link makes path a symbolic link to socket, which must be one of ours, in one step.
func link(socket, path string) error {
	if socket == path {
		return nil
	}
	info, err := os.Stat(socket)
	if err != nil {
		return fmt.Errorf("look at the ssh-agent: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if info.Mode().Type() != os.ModeSocket || !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is no socket of ours", socket)
	}
	if old, err := os.Readlink(path); err == nil && old == socket {
		return nil
	}
	next := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.Symlink(socket, next); err != nil {
		return fmt.Errorf("link the ssh-agent: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		_ = os.Remove(next)
		return fmt.Errorf("link the ssh-agent: %w", err)
	}
	return nil
}
