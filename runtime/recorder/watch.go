package recorder

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"
)

// Watch is a connection to a living recorder.
type Watch struct {
	PID  int
	Held []string // terminals whose pipes it held when the watch began

	conn net.Conn
}

// Dial connects to the recorder behind socket, if there is one.
func Dial(ctx context.Context, socket string) (*Watch, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("reach the recorder: %w", err)
	}
	h, err := greet(conn)
	if err != nil {
		_ = conn.Close() // the first error counts
		return nil, err
	}
	return &Watch{PID: h.PID, Held: h.Held, conn: conn}, nil
}

func greet(conn net.Conn) (hello, error) {
	if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return hello{}, fmt.Errorf("watch the recorder: %w", err)
	}
	if _, err := io.WriteString(conn, watchVerb+"\n"); err != nil {
		return hello{}, fmt.Errorf("watch the recorder: %w", err)
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		return hello{}, fmt.Errorf("watch the recorder: %w", err)
	}
	var h hello
	if err := json.Unmarshal(line, &h); err != nil {
		return hello{}, fmt.Errorf("watch the recorder: %w", err)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return hello{}, fmt.Errorf("watch the recorder: %w", err)
	}
	return h, nil
}

// Wait returns when the recorder has ended, or ctx.
func (w *Watch) Wait(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { _ = w.conn.Close() })()
	var b [1]byte
	_, _ = w.conn.Read(b[:]) // it says nothing: this is its end
	_ = w.conn.Close()       // may be closed already
}

// Close ends the watch.
func (w *Watch) Close() { _ = w.conn.Close() } // nothing was written
