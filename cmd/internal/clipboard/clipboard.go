// Package clipboard fills the clipboard of the desktop that this machine shows, by whatever program does that here. A
// dashboard that is used over SSH has none; what it copies goes to the user's terminal (OSC 52) alone.
package clipboard

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Desktop says which desktops there are, by the variables that name their sockets.
type Desktop struct {
	Wayland string // WAYLAND_DISPLAY
	X11     string // DISPLAY
}

// Tool fills the clipboard.
type Tool struct {
	path string
	args []string
}

// Find returns the first program that is installed and fits the desktop, nil when there is none.
func Find(d Desktop) *Tool {
	for _, c := range []struct {
		fits bool
		name string
		args []string
	}{
		{runtime.GOOS == "darwin", "pbcopy", nil},
		{d.Wayland != "", "wl-copy", nil},
		{d.X11 != "", "xclip", []string{"-selection", "clipboard"}},
		{d.X11 != "", "xsel", []string{"--clipboard", "--input"}},
	} {
		if !c.fits {
			continue
		}
		if path, err := exec.LookPath(c.name); err == nil {
			return &Tool{path: path, args: c.args}
		}
	}
	return nil
}

// Copy replaces what is in the clipboard. Where the clipboard is a running program, that stays behind until somebody else
// fills the clipboard, also when this process ends.
func (t *Tool) Copy(ctx context.Context, text []byte) error {
	cmd := exec.CommandContext(ctx, t.path, t.args...)
	cmd.Stdin = bytes.NewReader(text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it must not hang up with our terminal
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("copy by %s: %w", t.path, err)
	}
	return nil
}
