package attach

import "bytes"

// maxString is the longest control string that is passed on or read. tmux itself sends none near it; a longer one is
// cut out of the stream up to its end.
const maxString = 16 << 10

// sink takes what a filter finds, in order.
type sink interface {
	output(p []byte) // bytes for the viewer: whole sequences and whole characters
	redraw(m marker) // a full redraw follows
	syncBegin()      // a synchronized update begins
	syncEnd()        // a synchronized update has ended
	answer(p []byte) // for the PTY: the answer to a question of tmux
	detached()       // the tmux client takes leave; what follows is its own business
}

// filter takes the output of one tmux client apart. Markers and questions leave the stream, everything else goes on
// unchanged, but never in the middle of a sequence or character: whoever looks at the stream between two calls of the
// sink may cut it there.
type filter struct {
	nonce   string
	replies replies
	sink    sink
	modes   modes

	pending  []byte // beginning of a token
	skipping bool   // inside a control string longer than maxString
	leave    []byte // what may be the beginning of the client's leave
	left     bool   // the client has taken leave
}

// write takes the next bytes of the client.
func (f *filter) write(p []byte) {
	if f.left {
		return
	}
	if len(f.pending) > 0 {
		p = append(f.pending, p...)
	}
	rest := f.scan(p)
	f.pending = append(f.pending[:0:0], rest...)
}

// scan handles every whole token of p and returns what is left.
func (f *filter) scan(p []byte) []byte {
	for len(p) > 0 && !f.left {
		if f.skipping {
			var rest []byte
			if rest, f.skipping = skipString(p); f.skipping {
				return rest
			}
			p = rest
			continue
		}
		k, n := scan(p)
		if k == incomplete {
			if len(p) < maxString {
				return p
			}
			// Only strings have no natural end; anything else of this length is garbage.
			f.skipping = bytes.IndexByte([]byte("]PX^_"), p[1]) >= 0
			p = p[2:]
			if !f.skipping {
				return nil
			}
			continue
		}
		f.token(k, p[:n])
		p = p[n:]
	}
	return nil
}

// skipString drops p up to the end of a control string. When the end is not in p, more is true and rest is what has to
// be seen again with the bytes that follow.
func skipString(p []byte) (rest []byte, more bool) {
	for i, b := range p {
		switch {
		case b == bel, b == can, b == sub:
			return p[i+1:], false
		case b == esc && i+1 == len(p):
			return p[i:], true
		case b == esc && p[i+1] == '\\':
			return p[i+2:], false
		case b == esc: // breaks the string off
			return p[i:], false
		}
	}
	return nil, true
}

// leaving is how a tmux client begins to give its terminal back, by the rmkx of xterm-256color: CSI ? 1 l, ESC >. It
// then clears the screen and prints why it ends, which is nothing a viewer should see.
var leaving = []byte("\x1b[?1l\x1b>")

func (f *filter) token(k kind, t []byte) {
	if f.leave != nil {
		whole := bytes.Equal(append(f.leave, t...), leaving)
		held := f.leave
		f.leave = nil
		if whole {
			f.left = true
			f.sink.detached()
			return
		}
		f.sink.output(held)
	}
	switch k {
	case csi:
		f.csi(t)
	case osc:
		f.osc(t)
	case otherStr:
		f.dcs(t)
	case plain, escape:
		f.sink.output(t)
	case broken, incomplete: // no terminal could make sense of it either
	}
}

func (f *filter) csi(t []byte) {
	if bytes.HasPrefix(leaving, t) {
		f.modes.csi(t)
		f.leave = bytes.Clone(t)
		return
	}
	if question, answer := f.replies.csi(t); question {
		f.answer(answer)
		return
	}
	f.modes.csi(t)
	if bytes.Equal(t, []byte("\x1b[?2026h")) {
		f.sink.syncBegin()
	}
	f.sink.output(t)
	if bytes.Equal(t, []byte("\x1b[?2026l")) {
		f.sink.syncEnd()
	}
}

func (f *filter) osc(t []byte) {
	body := stringBody(t)
	if m, isMarker, ok := parseMarker(body, f.nonce); isMarker {
		if ok {
			f.sink.redraw(m)
		}
		return
	}
	if question, answer := f.replies.osc(body); question {
		f.answer(answer)
		return
	}
	f.sink.output(t)
}

// dcs knows the synchronized updates of tmux up to 3.3 (DCS = 1 s and = 2 s).
func (f *filter) dcs(t []byte) {
	body := stringBody(t)
	if question, answer := f.replies.dcs(t[1], body); question {
		f.answer(answer)
		return
	}
	if t[1] == 'P' && bytes.Equal(body, []byte("=1s")) {
		f.sink.syncBegin()
	}
	f.sink.output(t)
	if t[1] == 'P' && bytes.Equal(body, []byte("=2s")) {
		f.sink.syncEnd()
	}
}

func (f *filter) answer(p []byte) {
	if len(p) > 0 {
		f.sink.answer(p)
	}
}
