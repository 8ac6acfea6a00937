package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// tty is the device: its line discipline, its size, and a way to write to it that can be given up.
type tty struct {
	in, out *os.File
	w       *os.File // out, or the same device opened anew so that a write can have a deadline
	ours    bool     // w is not out
	partial atomic.Bool

	before    *term.State // the line discipline to restore
	statePath string
}

func openTTY(in, out *os.File, statePath string) *tty {
	t := &tty{in: in, out: out, w: out}
	if statePath != "" {
		t.statePath = fmt.Sprintf("%s-%x", statePath, device(out))
	}
	// A write to a terminal that takes nothing (a dead SSH connection, ctrl+s) blocks for ever, and making out
	// non-blocking would make it so for the shell too, which shares the open file. A second open of the device shares
	// nothing. Where that is not to be had (no /proc, no permission after su), a blocked write is abandoned at Close.
	w, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", out.Fd()), os.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return t
	}
	if w.SetWriteDeadline(time.Time{}) != nil {
		_ = w.Close() // opened, but the poller cannot wait for it
		return t
	}
	t.w, t.ours = w, true
	return t
}

// device returns the number of the terminal's device, which names it among the terminals of this host.
func device(f *os.File) uint64 {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0
	}
	return uint64(st.Rdev) //nolint:unconvert // the type differs between systems
}

// write sends p. Only one goroutine at a time writes.
func (t *tty) write(p []byte) error {
	t.partial.Store(true)
	if _, err := t.w.Write(p); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	t.partial.Store(false)
	return nil
}

// giveUp makes a write that is under way, and every later one, fail after d; 0 lifts that.
func (t *tty) giveUp(d time.Duration) {
	var at time.Time
	if d > 0 {
		at = time.Now().Add(d)
	}
	_ = t.w.SetWriteDeadline(at) // without deadlines the writer is abandoned instead
}

// size returns the size in cells; 80x24 when the terminal does not know, as serial lines do not.
func (t *tty) size() (cols, rows int) {
	cols, rows, err := term.GetSize(t.out.Fd())
	if err != nil || cols <= 0 || rows <= 0 {
		return 80, 24
	}
	return cols, rows
}

// raw switches the line discipline to raw. What was before is remembered the first time only.
func (t *tty) raw() error {
	st, err := term.MakeRaw(t.in.Fd())
	if err != nil {
		return fmt.Errorf("switch the terminal to raw mode: %w", err)
	}
	if t.before == nil {
		t.before = st
	}
	return nil
}

// cooked restores the line discipline.
func (t *tty) cooked() error {
	if t.before == nil {
		return nil
	}
	if err := term.Restore(t.in.Fd(), t.before); err != nil {
		return fmt.Errorf("restore the terminal's line discipline: %w", err)
	}
	return nil
}

func (t *tty) close() {
	if t.ours {
		_ = t.w.Close()
	}
}

// leftover is what the state file holds: how the line discipline was before Corral took the terminal. The file exists
// while the terminal is held. If it exists at the start, the one who held it last on this device was killed: the modes
// have to be reset first, and a line discipline that is still raw is not the user's.
type leftover struct {
	PID     int           `json:"pid"`
	Termios *unix.Termios `json:"termios"`
}

// recover reports whether the terminal was left in our modes, and finds the line discipline to go back to.
func (t *tty) recover() (bool, error) {
	if t.statePath == "" {
		return false, nil
	}
	b, err := os.ReadFile(t.statePath)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the terminal's state file: %w", err)
	}
	var l leftover
	if json.Unmarshal(b, &l) != nil || l.Termios == nil {
		return true, nil // cut short by the kill: the modes are reset all the same
	}
	now, err := term.GetState(t.in.Fd())
	if err != nil {
		return true, fmt.Errorf("read the terminal's line discipline: %w", err)
	}
	if now.Termios.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) == 0 {
		t.before = &term.State{}
		t.before.Termios = *l.Termios
	}
	return true, nil
}

// hold writes the state file.
func (t *tty) hold() error {
	if t.statePath == "" || t.before == nil {
		return nil
	}
	b, err := json.Marshal(leftover{PID: os.Getpid(), Termios: &t.before.Termios})
	if err != nil {
		return fmt.Errorf("write the terminal's state file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(t.statePath), 0o700); err != nil {
		return fmt.Errorf("write the terminal's state file: %w", err)
	}
	if err := os.WriteFile(t.statePath, b, 0o600); err != nil {
		return fmt.Errorf("write the terminal's state file: %w", err)
	}
	return nil
}

// release removes the state file.
func (t *tty) release() {
	if t.statePath != "" {
		_ = os.Remove(t.statePath) // absent is what is wanted; anything else shows at the next start
	}
}
