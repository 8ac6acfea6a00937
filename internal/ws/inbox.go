package ws

import (
	"context"

	"github.com/coder/websocket"
)

// inbox is what a viewer that has gone had sent before.
type inbox struct {
	messages []message
	err      error // behind them; nil while the viewer is there
}

type message struct {
	typ  websocket.MessageType
	data []byte
}

// Next reads the next message into buf, as Read does. What a viewer has left behind is looked through first: when it
// gave up, as gaveUp tells from a text message, its binary messages are dropped.
func (c *Conn) Next(ctx context.Context, buf []byte, gaveUp func(text []byte) bool) (websocket.MessageType, []byte, error) {
	if c.inbox.err == nil {
		typ, data, err := Read(ctx, c.Conn, buf)
		if err != nil || !c.left() {
			return typ, data, err
		}
		c.inbox.fill(ctx, c.Conn, message{typ, data}, gaveUp)
	}
	if len(c.inbox.messages) == 0 {
		return 0, buf[:0], c.inbox.err
	}
	m := c.inbox.messages[0]
	c.inbox.messages = c.inbox.messages[1:]
	return m.typ, m.data, nil
}

// fill takes m and everything behind it, which lies in the socket already.
func (i *inbox) fill(ctx context.Context, c *websocket.Conn, m message, gaveUp func(text []byte) bool) {
	void := false
	for i.err == nil {
		void = void || m.typ == websocket.MessageText && gaveUp(m.data)
		i.messages = append(i.messages, m)
		m.typ, m.data, i.err = Read(ctx, c, nil)
	}
	if !void {
		return
	}
	kept := i.messages[:0]
	for _, m := range i.messages {
		if m.typ != websocket.MessageBinary {
			kept = append(kept, m)
		}
	}
	i.messages = kept
}
