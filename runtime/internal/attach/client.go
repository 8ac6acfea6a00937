package attach

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// client is one tmux attach process in a PTY of its own.
type client struct {
	cmd  *exec.Cmd
	pty  *os.File // the master's side; non-blocking, so that Close ends a Read
	tty  string   // path of the slave's side
	gone chan struct{}
}

// cellWidth is the width of a cell in pixels that stands for a redraw; see markerFields. Eight numbers are enough to
// tell a redraw from the ones before it.
func cellWidth(redraw int) int { return 8 + redraw%8 }

// startClient runs cmd in a new PTY and hands all of its output to drain, from a goroutine that ends, with gone closed,
// when the process is dead and reaped.
func startClient(cmd *exec.Cmd, cols, rows, redraw int, drain func([]byte)) (*client, error) {
	master, slave, err := openPTY()
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	c := &client{cmd: cmd, pty: master, tty: slave.Name(), gone: make(chan struct{})}
	if err := c.resize(cols, rows, redraw); err != nil {
		return nil, errors.Join(err, master.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the tmux client: %w", err), master.Close())
	}
	go c.drain(drain)
	return c, nil
}

// openPTY opens a PTY whose master is non-blocking. The PTY package leaves its descriptors blocking, so the master is
// duplicated into a file that the poller knows.
func openPTY() (master, slave *os.File, err error) {
	m, slave, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a pty: %w", err)
	}
	defer m.Close()
	fd, err := unix.FcntlInt(m.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open a pty: %w", err), slave.Close())
	}
	return os.NewFile(uintptr(fd), m.Name()), slave, nil
}

// drain reads the PTY until it ends, whatever anybody does with the output: tmux 3.3 buffers without bound for a client
// that is not read.
func (c *client) drain(take func([]byte)) {
	defer close(c.gone)
	buf := make([]byte, 32<<10)
	for {
		n, err := c.pty.Read(buf)
		if n > 0 {
			take(buf[:n])
		}
		if err != nil { // EIO when the process has ended, ErrClosed after kill
			break
		}
	}
	c.kill()
	_ = c.cmd.Wait() // its exit code means nothing: it was killed, or the terminal is gone
}

// resize sets the size of the PTY and has tmux redraw it from nothing, even when the size is the same.
func (c *client) resize(cols, rows, redraw int) error {
	ws := &unix.Winsize{
		Col: clampUint16(cols), Row: clampUint16(rows),
		Xpixel: clampUint16(cols * cellWidth(redraw)), Ypixel: clampUint16(rows * cellHeight),
	}
	err := c.control(func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, ws) })
	if err != nil {
		return fmt.Errorf("resize the pty: %w", err)
	}
	return nil
}

func (c *client) control(f func(fd int) error) error {
	raw, err := c.pty.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}

func clampUint16(n int) uint16 { return uint16(min(max(n, 0), math.MaxUint16)) }

// write types p. It blocks while tmux does not read, and ends when the client is killed.
func (c *client) write(p []byte) error {
	_, err := c.pty.Write(p)
	return err
}

// drained reports whether tmux has read everything that was written. Polling the slave's side says so: Linux then first
// moves what is still between the two sides (n_tty.c: n_tty_poll), which TIOCINQ alone would not count.
func (c *client) drained() (bool, error) {
	fd, err := unix.Open(c.tty, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n == 0, err
}

// hasEnded reports whether the process is dead and reaped.
func (c *client) hasEnded() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// kill ends the process at once: tmux forgets a killed client immediately, while a polite one would first print its
// farewell. It may be called more than once.
func (c *client) kill() {
	_ = c.cmd.Process.Kill() // an error says that it has ended already
	_ = c.pty.Close()        // and this one, that it was closed already
}
