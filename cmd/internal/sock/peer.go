package sock

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// InUseError says that a living process listens at the path.
type InUseError struct {
	Path string
	PID  int
	UID  int // of that process
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("process %d (uid %d) already listens on %s; end it, or set CR_RUN_DIR to another directory", e.PID, e.UID, e.Path)
}

func inUse(path string, conn net.Conn) error {
	e := &InUseError{Path: path}
	if cred, err := credentials(conn); err == nil {
		e.PID, e.UID = int(cred.Pid), int(cred.Uid)
	}
	return e
}

// Listening returns the process that listens on the unix socket at path, 0 when nobody does.
func Listening(ctx context.Context, path string) int {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return 0
	}
	defer conn.Close()
	cred, err := credentials(conn)
	if err != nil {
		return 0
	}
	return int(cred.Pid)
}

// allowed refuses peers of other users. Root reaches everything anyway; root's own Corral lets only root in.
func allowed(conn net.Conn, uid int) error {
	cred, err := credentials(conn)
	if err != nil {
		return fmt.Errorf("ask who the peer is: %w", err)
	}
	if int(cred.Uid) != uid && cred.Uid != 0 {
		return fmt.Errorf("process %d belongs to uid %d", cred.Pid, cred.Uid)
	}
	return nil
}

func credentials(conn net.Conn) (*unix.Ucred, error) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T is no socket", conn)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return nil, err
	}
	return cred, credErr
}

// private refuses a directory in which somebody else could replace the socket.
func private(dir string, uid int) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at the socket directory: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no directory; move it away", dir)
	case ok && int(st.Uid) != uid:
		return fmt.Errorf("%s belongs to uid %d; set CR_RUN_DIR to a directory of your own", dir, st.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is open to other users (mode %04o); run chmod 700 %s", dir, info.Mode().Perm(), dir)
	}
	return nil
}
