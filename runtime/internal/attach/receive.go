package attach

import (
	"context"

	"github.com/coder/websocket"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// keysRoom is as much as a key or two need; what is longer gets more.
const keysRoom = 64

// receive reads the WebSocket until it ends. Reading goes on until the connection is closed, also when ctx has ended,
// because the close handshake needs a reader.
func (v *viewer) receive(reading, ctx context.Context) {
	defer v.end(0, "") // nobody is there any more
	var p paste
	for {
		kind, data, err := v.conn.Next(reading, make([]byte, 0, keysRoom), sessions.GivesUp)
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			v.input(ctx, &p, data)
			continue
		}
		f, err := sessions.ParseFrame(data)
		if err != nil {
			v.refuse(&sessions.Error{Code: sessions.CodeInvalid, Message: "the stream carried a control frame that is no JSON"})
			continue
		}
		v.control(&p, f)
	}
}

// refuse tells the viewer why something was not done.
func (v *viewer) refuse(err *sessions.Error) {
	v.queue.hurry(sessions.Frame{Type: sessions.FrameError, Error: err})
}

// paste is a paste that is being received.
type paste struct {
	missing int  // bytes still to come
	refused bool // they will be dropped
	text    []byte
}

// control does what a frame asks for. Unknown ones are from a newer viewer and ask for nothing.
func (v *viewer) control(p *paste, f sessions.Frame) {
	switch f.Type {
	case sessions.FrameResize:
		v.terminal.resize(v, f.Cols, f.Rows)
	case sessions.FrameOwn:
		v.terminal.own(v)
	case sessions.FrameRelease:
		v.terminal.release(v)
	case sessions.FramePing:
		v.queue.hurry(sessions.Frame{Type: sessions.FramePong, Nonce: f.Nonce})
	case rtapi.FrameDraining:
		v.draining.Add(1)
	case sessions.FrameResync:
		select {
		case v.resyncs <- max(f.Lines, 0):
		default: // one is on its way
		}
	case sessions.FramePaste:
		*p = paste{missing: max(f.Bytes, 0), refused: f.Bytes > sessions.MaxPaste}
		if p.refused {
			v.refuse(&sessions.Error{
				Code: sessions.CodeTooLarge, Message: "the paste is larger than 16 MiB",
				Hint: "copy it into a file on the node instead",
			})
		}
	}
}

// input takes a binary message: a part of the announced paste, or keys.
func (v *viewer) input(ctx context.Context, p *paste, data []byte) {
	if n := min(p.missing, len(data)); n > 0 {
		p.missing -= n
		if !p.refused {
			p.text = append(p.text, data[:n]...)
		}
		data = data[n:]
		if p.missing == 0 {
			v.put(ctx, input{bytes: p.text, paste: true})
			*p = paste{}
		}
	}
	v.put(ctx, input{bytes: data})
}

// put hands input to the keyboard if the viewer may type.
func (v *viewer) put(ctx context.Context, in input) {
	if len(in.bytes) > 0 && v.terminal.typed(v) {
		v.keyboard.put(ctx, in)
	}
}
