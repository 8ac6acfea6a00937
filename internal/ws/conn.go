package ws

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"syscall"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"
)

// piece is the most that is written at once. The kernel counts what it was given in one write as unread until all of it
// is read (af_unix.c: unix_stream_read_generic), so a reader of 1 KB/s is seen to move every 4 seconds.
const piece = 4 << 10

// Conn is the server's side of a WebSocket.
type Conn struct {
	*websocket.Conn
	socket syscall.RawConn // nil when it is none
	inbox  inbox
}

// Accept turns a request into a WebSocket. On an error it has answered.
func Accept(w http.ResponseWriter, r *http.Request) (*Conn, error) {
	tap := &hijacker{ResponseWriter: w}
	conn, err := websocket.Accept(tap, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil, fmt.Errorf("open the stream: %w", err)
	}
	return &Conn{Conn: conn, socket: socketOf(tap.conn)}, nil
}

// Unread returns how many bytes of memory hold what was written and not read by the other side. ok is false where nobody
// can tell.
func (c *Conn) Unread() (n int, ok bool) {
	c.control(func(fd int) {
		var err error
		n, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		ok = err == nil
	})
	return n, ok
}

// left reports whether the other side has closed the connection, also when there is still something to read.
func (c *Conn) left() (left bool) {
	c.control(func(fd int) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a descriptor
		n, err := unix.Poll(fds, 0)
		left = err == nil && n > 0
	})
	return left
}

func (c *Conn) control(f func(fd int)) {
	if c.socket != nil {
		_ = c.socket.Control(func(fd uintptr) { f(int(fd)) }) // an error says that it is closed
	}
}

// hijacker keeps the connection that a WebSocket takes over, and has it written in pieces.
type hijacker struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = conn
	return conn, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(pieces{conn}, piece)), nil
}

// pieces writes to a connection in pieces.
type pieces struct{ net.Conn }

// Write implements io.Writer.
func (p pieces) Write(b []byte) (written int, err error) {
	for len(b) > 0 && err == nil {
		var n int
		n, err = p.Conn.Write(b[:min(len(b), piece)])
		written += n
		b = b[n:]
	}
	return written, err
}

// socketOf returns the socket below a connection, nil if there is none.
func socketOf(conn net.Conn) syscall.RawConn {
	for {
		switch c := conn.(type) {
		case syscall.Conn:
			raw, err := c.SyscallConn()
			if err != nil {
				return nil
			}
			return raw
		case interface{ NetConn() net.Conn }: // TLS
			conn = c.NetConn()
		default:
			return nil
		}
	}
}
