package httpapi

import (
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"

	"corral/internal/ws"
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
	written    chan struct{}   // closed when the viewer is written to no more
	telling    atomic.Bool     // the runtime is being told that the viewer reads
	viewerGone chan struct{}   // closed when the viewer's connection has ended
}

// runtimeEnd is how the runtime's stream ended.
type runtimeEnd struct {
	code       sessions.CloseCode // 0 when it was cut
	exited     bool               // the program ended
	viewerGone bool               // it did not end at all: the viewer does not take what it brings
	err        error
}

func newPumps(s *stream, runtime *websocket.Conn) *pumps {
	return &pumps{
		s: s, runtime: runtime,
		live: make(chan struct{}), down: make(chan runtimeEnd, 1), written: make(chan struct{}), viewerGone: make(chan struct{}),
	}
}

// start begins to pump; up is what connect has returned.
func (p *pumps) start(up upstream) {
	p.wait.Go(func() {
		defer close(p.written)
		p.down <- p.toViewer(up.typ, up.first)
	})
	p.wait.Go(func() {
		defer close(p.viewerGone)
		p.toRuntime()
	})
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
			return runtimeEnd{viewerGone: true, err: err}
		}
		typ, message, err = ws.Read(p.s.io, p.runtime, message)
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
		typ, message, err := p.s.viewer.Next(p.s.io, buf, sessions.GivesUp)
		buf = message
		if err != nil {
			return
		}
		if taken {
			taken = p.runtime.Write(p.s.io, typ, message) == nil
		}
	}
}

// draining tells the runtime that the viewer reads, although nothing can be written to it at the moment. It does not
// wait: the runtime may take nothing either. It is called while toViewer runs.
func (p *pumps) draining() {
	if !p.telling.CompareAndSwap(false, true) {
		return
	}
	p.wait.Go(func() {
		defer p.telling.Store(false)
		_ = p.runtime.Write(p.s.io, websocket.MessageText, []byte(`{"type":"`+rtapi.FrameDraining+`"}`)) // toViewer sees its end
	})
}
