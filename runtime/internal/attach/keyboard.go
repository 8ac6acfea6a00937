package attach

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"time"

	"corral/sessions"
)

const (
	// tailWait is how long the beginning of an escape sequence or character waits for the rest. tmux up to 3.5 drops a
	// character that arrives in two reads, and takes half a sequence for keys.
	tailWait = 30 * time.Millisecond
	maxTail  = 4 << 10 // what is longer is no key

	// maxTyped is the longest write to the PTY, and maxUnread what is written before tmux has read all of it. The kernel
	// keeps a write of up to 1792 bytes in one piece, as long as its buffer of 4095 bytes has room for all of it.
	maxTyped  = 1 << 10
	maxUnread = 3 << 10

	// maxPastedAsKeys is the longest paste that is typed. Typing costs tmux 3 µs a byte, a buffer 60 ns.
	maxPastedAsKeys = 16 << 10

	pasteDeadline = 10 * time.Second

	// lastWords is how long what was typed last may take to tmux after its viewer has gone.
	lastWords = 500 * time.Millisecond
)

var (
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// input is one thing that a viewer has sent: keys, or a whole paste.
type input struct {
	bytes []byte
	paste bool
}

// keyboard types what a viewer sends into its tmux client. Its Run goroutine is the only writer of the PTY, so input
// keeps its order and a paste is never mixed with keys.
type keyboard struct {
	bracketed func() bool                                  // whether the program wants pastes between markers
	buffer    func(ctx context.Context, text []byte) error // pastes a big text through tmux
	typed     func(p []byte)                               // is told what is about to be typed
	modified  func(ctx context.Context) bool               // whether the program asked for keys with modifiers
	refused   func(*sessions.Error)                        // tells the viewer what was not done
	log       *slog.Logger
	clients   chan *client
	answers   chan []byte
	inputs    chan input
	unread    int // bytes written since tmux was last seen to have read everything; of run's goroutine
}

func newKeyboard(log *slog.Logger) *keyboard {
	return &keyboard{
		log:      log,
		typed:    func([]byte) {},
		modified: func(context.Context) bool { return false },
		clients:  make(chan *client),
		answers:  make(chan []byte, 16),
		inputs:   make(chan input, 1),
	}
}

// use makes c the client that is typed into.
func (k *keyboard) use(ctx context.Context, c *client) {
	select {
	case k.clients <- c:
	case <-ctx.Done():
	}
}

// answer has p typed, unless too many answers wait already: then tmux does not read, and may go without.
func (k *keyboard) answer(p []byte) {
	select {
	case k.answers <- bytes.Clone(p):
	default:
	}
}

// put hands over input; it waits while earlier input is still being typed.
func (k *keyboard) put(ctx context.Context, in input) {
	select {
	case k.inputs <- in:
	case <-ctx.Done():
	}
}

// run types until ctx ends. What was taken by then is typed, and has been read by tmux, when it returns: whoever ends a
// client ends what it has not read.
func (k *keyboard) run(ctx context.Context) {
	var (
		c    *client
		tail []byte
	)
	patience := time.NewTimer(tailWait)
	patience.Stop()
	defer patience.Stop()
	for {
		answers, inputs := k.answers, k.inputs
		if c == nil {
			answers, inputs = nil, nil
		}
		select {
		case <-ctx.Done():
			if c != nil {
				k.finish(context.WithoutCancel(ctx), c, tail)
			}
			return
		case c = <-k.clients:
		case p := <-answers:
			k.write(c, p)
		case <-patience.C:
			k.press(c, tail)
			tail = nil
		case in := <-inputs:
			patience.Stop()
			if in.paste {
				k.press(c, tail)
				tail = nil
				k.paste(ctx, c, in.bytes)
				continue
			}
			tail = k.keys(ctx, c, append(tail, in.bytes...))
			if len(tail) > 0 {
				patience.Reset(tailWait)
			}
		}
	}
}

// finish types what is left.
func (k *keyboard) finish(ctx context.Context, c *client, tail []byte) {
	ctx, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	select {
	case in := <-k.inputs:
		if in.paste {
			k.press(c, tail)
			k.paste(ctx, c, in.bytes)
			tail = nil
		} else {
			tail = append(tail, in.bytes...)
		}
	default:
	}
	k.press(c, k.keys(ctx, c, tail))
	if k.unread > 0 {
		k.settle(ctx, c)
	}
}

// keys types every whole key of p and returns the rest.
func (k *keyboard) keys(ctx context.Context, c *client, p []byte) (rest []byte) {
	var piece []byte
	for len(p) > 0 {
		kind, n := scanKey(p)
		if kind == incomplete && len(p) < maxTail {
			break
		}
		token := p[:pieceLen(kind, n, p)]
		p = p[len(token):]
		if !isReply(kind, token) {
			piece = k.gather(ctx, c, piece, k.known(ctx, token))
		}
	}
	k.paced(ctx, c, piece)
	return bytes.Clone(p)
}

// text types all of p.
func (k *keyboard) text(ctx context.Context, c *client, p []byte) {
	var piece []byte
	for len(p) > 0 {
		kind, n := scanKey(p)
		token := p[:pieceLen(kind, n, p)]
		p = p[len(token):]
		piece = k.gather(ctx, c, piece, token)
	}
	k.paced(ctx, c, piece)
}

// pieceLen is how much of p, whose first token has this kind and length, may be typed in one piece. Between the
// characters of plain text, and in what only looks like a sequence, a cut does no harm.
func pieceLen(kind kind, n int, p []byte) int {
	if kind == incomplete {
		n = len(p)
	}
	if n <= maxTyped {
		return n
	}
	return maxTyped - unfinished(p[:maxTyped])
}

// gather adds token to piece, which is typed first when it would become too long.
func (k *keyboard) gather(ctx context.Context, c *client, piece, token []byte) []byte {
	if len(piece)+len(token) > maxTyped {
		k.paced(ctx, c, piece)
		piece = piece[:0]
	}
	return append(piece, token...)
}

// paced writes a piece when there is room for all of it.
func (k *keyboard) paced(ctx context.Context, c *client, p []byte) {
	if k.unread+len(p) > maxUnread {
		k.settle(ctx, c)
	}
	k.press(c, p)
}

// press writes what a viewer has sent, which is recorded before.
func (k *keyboard) press(c *client, p []byte) {
	if len(p) > 0 {
		k.typed(p)
	}
	k.write(c, p)
}

// settle waits until tmux has read all input. There is no event for this; it looks every millisecond, which happens only
// with more input at once than anybody types.
func (k *keyboard) settle(ctx context.Context, c *client) {
	defer func() { k.unread = 0 }()
	for deadline := time.Now().Add(pasteDeadline); time.Now().Before(deadline); {
		if drained, err := c.drained(); err != nil || drained {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

func (k *keyboard) write(c *client, p []byte) {
	if len(p) == 0 {
		return
	}
	k.unread += len(p)
	if err := c.write(p); err != nil {
		k.log.Debug("input lost", "bytes", len(p), "err", err)
	}
}

// paste hands text to the program as one paste. The end marker inside it would end the paste early and have the rest
// taken for keys, so it is removed.
func (k *keyboard) paste(ctx context.Context, c *client, text []byte) {
	for bytes.Contains(text, pasteEnd) {
		text = bytes.ReplaceAll(text, pasteEnd, nil)
	}
	if len(text) > maxPastedAsKeys {
		k.pasteBuffer(ctx, c, text)
		return
	}
	if k.bracketed() {
		text = bytes.Join([][]byte{pasteBegin, text, pasteEnd}, nil)
	}
	k.text(ctx, c, text)
}

// pasteBuffer pastes through tmux. The command and the PTY are different ways into tmux, so what was typed before must
// have arrived first.
func (k *keyboard) pasteBuffer(ctx context.Context, c *client, text []byte) {
	k.settle(ctx, c)
	ctx, cancel := context.WithTimeout(ctx, pasteDeadline)
	defer cancel()
	err := k.buffer(ctx, text)
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	k.log.Warn("paste lost", "bytes", len(text), "err", err)
	k.refused(&sessions.Error{Code: sessions.CodeOf(err), Message: "the paste did not reach the program", Hint: "paste it again"})
}
