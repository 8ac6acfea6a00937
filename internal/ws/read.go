package ws

import (
	"context"
	"errors"
	"io"

	"github.com/coder/websocket"
)

// Read reads one whole message into buf, which grows as needed, and returns it as far as it was read.
func Read(ctx context.Context, c *websocket.Conn, buf []byte) (websocket.MessageType, []byte, error) {
	buf = buf[:0]
	typ, r, err := c.Reader(ctx)
	if err != nil {
		return 0, buf, err
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, make([]byte, max(4<<10, cap(buf)))...)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return typ, buf, nil
		}
		if err != nil {
			return 0, buf, err
		}
	}
}
