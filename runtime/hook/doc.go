// Package hook is what runs inside an agent's session: `corral hook`, which tells the runtime what the agent told it,
// and the settings that make an agent run it.
//
// What it promises: Run never delays its agent longer than 300 ms, prints nothing and cannot fail; a post that could
// not be delivered lies in the spool until a runtime takes it. It reads only what it is handed, sends only what the
// runtime needs of it, and keeps no goroutine.
package hook

import (
	"os"
	"path/filepath"
)

// Names in a session's environment and in the hooks' directory.
const (
	// TokenVariable holds the session's token.
	TokenVariable = "CR_HOOK_TOKEN"
	// endpoint is a symbolic link to the runtime's socket. The link may have any length, a socket's path not.
	endpoint = "endpoint"
	spool    = "spool"
)

// SpoolDir is where undelivered posts lie in the hooks' directory dir.
func SpoolDir(dir string) string { return filepath.Join(dir, spool) }

// Prepare makes the hooks' directory of the runtime that listens on socket.
func Prepare(dir, socket string) error {
	if err := os.MkdirAll(SpoolDir(dir), 0o700); err != nil {
		return err
	}
	link := filepath.Join(dir, endpoint)
	if have, err := os.Readlink(link); err == nil && have == socket {
		return nil
	}
	next := link + ".new"
	_ = os.Remove(next) // left by a runtime that was killed here
	if err := os.Symlink(socket, next); err != nil {
		return err
	}
	return os.Rename(next, link)
}
