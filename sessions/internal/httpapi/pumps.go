package httpapi

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/coder/websocket"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// pumps carry messages between a viewer and the runtime, one goroutine in each direction, each message as one write and
// without a copy in between. Binary messages are not looked at.
type pumps struct {
	s       *stream
	runtime *websocket.Conn
	wait    sync.WaitGroup

	live       chan struct{}   // closed when the live frame has gone to the viewer
	down       chan runtimeEnd // the end of the runtime's stream; one value
	viewerGone chan struct{}   // closed when the viewer's connection has ended
}

// runtimeEnd is how the runtime's stream ended.
type runtimeEnd struct {
	code          sessions.CloseCode // 0 when it was cut
	exited        bool               // the program ended
	viewerStalled bool               // it did not end at all: the viewer does not take what it brings
	err           error
}

func newPumps(s *stream, up upstream) *pumps {
	p := &pumps{
		s: s, runtime: up.conn,
		live: make(chan struct{}), down: make(chan runtimeEnd, 1), viewerGone: make(chan struct{}),
	}
	p.wait.Go(func() { p.down <- p.toViewer(up.typ, up.first) })
	p.wait.Go(func() {
		defer close(p.viewerGone)
		p.toRuntime()
	})
	return p
}

// close ends the connection to the runtime. The pump that reads from the viewer goes on until the viewer's connection
// ends: it is the one that sees the viewer answer the close.
func (p *pumps) close() { _ = p.runtime.CloseNow() }

// toViewer carries what the runtime sends, beginning with a message that was read already, until its stream ends.
func (p *pumps) toViewer(typ websocket.MessageType, message []byte) runtimeEnd {
	var end runtimeEnd
	isLive := false
	for {
		var err error
		if typ == websocket.MessageText {
			err = p.frame(message, &isLive, &end)
		} else {
			err = p.s.write(typ, message)
		}
		if err != nil {
			return runtimeEnd{viewerStalled: errors.Is(err, context.DeadlineExceeded), err: err}
		}
		typ, message, err = readMessage(p.s.io, p.runtime, message)
		if err != nil {
			if code := websocket.CloseStatus(err); code != -1 {
				end.code = sessions.CloseCode(code)
			}
			end.err = err
			return end
		}
	}
}

// frame carries a control frame. Three of them mean something to the relay; a frame that it cannot read is for the
// viewer to skip.
func (p *pumps) frame(message []byte, isLive *bool, end *runtimeEnd) error {
	f, err := sessions.ParseFrame(message)
	switch {
	case err == nil && f.Type == rtapi.FrameExited:
		end.exited = true
		return nil
	case err == nil && f.Type == sessions.FrameAttached && !*isLive:
		return p.s.send(p.s.attached(f))
	}
	if err := p.s.write(websocket.MessageText, message); err != nil {
		return err
	}
	if f.Type == sessions.FrameLive && !*isLive {
		*isLive = true
		close(p.live)
	}
	return nil
}

// toRuntime carries what the viewer sends until the viewer leaves. When the runtime takes no more it goes on reading,
// to notice that.
func (p *pumps) toRuntime() {
	var buf []byte
	taken := true
	for {
		typ, message, err := readMessage(p.s.io, p.s.viewer, buf)
		buf = message
		if err != nil {
			return
		}
		if taken {
			taken = p.runtime.Write(p.s.io, typ, message) == nil
		}
	}
}

// readMessage reads one whole message into buf, which grows as needed, and returns it as far as it was read.
func readMessage(ctx context.Context, c *websocket.Conn, buf []byte) (websocket.MessageType, []byte, error) {
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
