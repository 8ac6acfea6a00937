package sessionclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"corral/internal/ws"
	"corral/sessions"
)

const (
	dialTimeout  = 10 * time.Second
	writeTimeout = 10 * time.Second
	// flushTimeout is how long Close waits for what was typed before it to go out.
	flushTimeout = 300 * time.Millisecond
	// giveUpTimeout is how long the last frame of a connection that is given up may take.
	giveUpTimeout = 2 * time.Second
	// maxPings is how many pings may stay unanswered before a connection counts as dead.
	maxPings = 3
	// maxDown bounds one message from the server: a restore with the colours of every cell of a large screen.
	maxDown = 16 << 20
)

// Stream is one viewer's connection to a session; it mends itself. No method but Close blocks, and Close must not be
// called from the handler.
type Stream struct {
	c       *Client
	id      sessions.ID
	options sessions.StreamOptions
	handler sessions.StreamHandler

	ctx    context.Context //nolint:containedctx // the stream's life
	cancel context.CancelFunc
	done   chan struct{}
	wake   chan struct{} // holds one
	missed chan struct{} // input was dropped; holds one
	queue  queue

	closing atomic.Bool
	heard   atomic.Uint64 // messages read, by which the writer sees that the other side lives
	busy    atomic.Bool   // the handler is at work: silence is ours
}

// Attach opens a stream that reconnects by itself until it is closed or ends for good. It returns at once.
func (c *Client) Attach(id sessions.ID, o sessions.StreamOptions, h sessions.StreamHandler) *Stream {
	if o.Client == "" {
		o.Client = c.cfg.ClientName
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Stream{
		c: c, id: id, options: o, handler: h,
		ctx: ctx, cancel: cancel, done: make(chan struct{}),
		wake: make(chan struct{}, 1), missed: make(chan struct{}, 1),
		queue: queue{ready: make(chan struct{}, 1), size: [2]int{o.Cols, o.Rows}},
	}
	go s.run()
	return s
}

// Send queues terminal input; false means it was dropped: not live, or the queue is full.
func (s *Stream) Send(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	return s.took(s.queue.input(p))
}

// Paste queues a paste, taken whole or refused whole.
func (s *Stream) Paste(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	return s.took(s.queue.paste(p))
}

func (s *Stream) took(ok bool) bool {
	if !ok {
		signal(s.missed)
	}
	return ok
}

// Resize tells the size of the viewer's pane.
func (s *Stream) Resize(cols, rows int) { s.queue.resize(cols, rows) }

// Own takes the keyboard.
func (s *Stream) Own() { s.queue.own(true) }

// Release gives the keyboard back.
func (s *Stream) Release() { s.queue.own(false) }

// Resync asks for a fresh restore.
func (s *Stream) Resync() { s.queue.control(sessions.Frame{Type: sessions.FrameResync}) }

// Replay asks for a fresh restore with up to lines of the history above it.
func (s *Stream) Replay(lines int) {
	s.queue.control(sessions.Frame{Type: sessions.FrameResync, Lines: lines})
}

// Wake makes a waiting reconnect start at once, and a connection prove that it is alive.
func (s *Stream) Wake() { signal(s.wake) }

// Close ends the stream and waits for its goroutines. What was sent before still goes out if the server takes it
// promptly. The handler is not called after Close has returned.
func (s *Stream) Close() {
	s.closing.Store(true)
	signal(s.queue.ready)
	timer := time.AfterFunc(flushTimeout, s.cancel)
	defer timer.Stop()
	signal(s.wake) // ends a pause
	<-s.done
}

// run connects, again and again, until the stream is closed or ends for good.
func (s *Stream) run() {
	defer close(s.done)
	defer s.cancel()
	for attempt := 0; ; attempt++ {
		s.handler.StreamLink(sessions.Link{State: sessions.LinkConnecting, Attempt: attempt, Dropped: s.queue.droppedCount()})
		wasLive, code, err := s.connection()
		s.queue.disconnect()
		if s.over() {
			return
		}
		if ended := s.ended(code, err); ended != nil {
			s.handler.StreamLink(*ended)
			return
		}
		if wasLive {
			attempt = 0
		}
		s.c.cfg.Log.Debug("stream cut", "session", s.id, "code", int(code), "error", err, "attempt", attempt+1)
		if s.pause(attempt+1, err); s.over() {
			return
		}
	}
}

func (s *Stream) over() bool { return s.ctx.Err() != nil || s.closing.Load() }

// ended returns the link of a stream that must not be connected again, nil for one that must.
func (s *Stream) ended(code sessions.CloseCode, err error) *sessions.Link {
	if code != 0 && !code.Reconnects() {
		link := &sessions.Link{State: sessions.LinkEnded, Code: code}
		switch code {
		case sessions.CloseNotFound:
			link.Err = &sessions.Error{Code: sessions.CodeNotFound, Message: "there is no such session any more", Hint: "see corral ls"}
		case sessions.CloseAuthExpired:
			link.Err = &sessions.Error{Code: sessions.CodeUnauthenticated, Message: "the login has expired", Hint: "run corral login"}
		}
		return link
	}
	// A refusal before the stream was open will be the same next time.
	switch sessions.CodeOf(err) {
	case sessions.CodeInvalid, sessions.CodeNotFound, sessions.CodeForbidden, sessions.CodeUnauthenticated:
		return &sessions.Link{State: sessions.LinkEnded, Err: err}
	}
	return nil
}

// pause waits before a reconnect, and says again how many keys were dropped whenever that changes.
func (s *Stream) pause(attempt int, err error) {
	d := s.c.timing.pause(attempt)
	link := sessions.Link{State: sessions.LinkReconnecting, Attempt: attempt, RetryAt: time.Now().Add(d), Err: err}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		link.Dropped = s.queue.droppedCount()
		s.handler.StreamLink(link)
		select {
		case <-timer.C:
			return
		case <-s.wake:
			return
		case <-s.ctx.Done():
			return
		case <-s.missed:
		}
	}
}

// dial opens the connection, and starts the server first where nothing listens and that is allowed.
func (s *Stream) dial(size [2]int) (*websocket.Conn, error) {
	conn, err := s.dialOnce(size)
	if notListening(err) && s.c.cfg.EnsureServer != nil {
		if err := s.c.ensureServer(s.ctx); err != nil {
			return nil, err
		}
		conn, err = s.dialOnce(size)
	}
	return conn, err
}

func (s *Stream) dialOnce(size [2]int) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, dialTimeout)
	defer cancel()
	address := "ws://corral" + sessionPath(s.id, "/stream?"+streamQuery(s.options, size).Encode())
	conn, resp, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPClient: s.c.http, HTTPHeader: s.c.header(), CompressionMode: websocket.CompressionDisabled,
	})
	if err == nil {
		conn.SetReadLimit(maxDown)
		return conn, nil
	}
	if resp != nil && resp.Body != nil {
		defer resp.Body.Close()
		return nil, answeredError(resp)
	}
	return nil, s.c.transportError(ctx, err)
}

func streamQuery(o sessions.StreamOptions, size [2]int) url.Values {
	q := url.Values{
		"cols": {strconv.Itoa(size[0])}, "rows": {strconv.Itoa(size[1])},
		"replay": {strconv.Itoa(o.Replay)},
	}
	for name, value := range map[string]string{
		"mode": string(o.Mode), "fg": o.Foreground, "bg": o.Background, "client": o.Client,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if o.ReadOnly {
		q.Set("readOnly", "true")
	}
	return q
}

// connection is the life of one connection: it reads until that ends.
func (s *Stream) connection() (wasLive bool, code sessions.CloseCode, err error) {
	size := s.queue.wanted()
	conn, err := s.dial(size)
	if err != nil {
		return false, 0, err
	}
	ctx, cut := context.WithCancelCause(s.ctx)
	written := make(chan struct{})
	s.queue.connect(size)
	var gaveUp bool
	go func() {
		defer close(written)
		err := s.write(ctx, conn)
		gaveUp = errors.Is(err, errDead)
		cut(err)
	}()
	wasLive, err = s.read(ctx, conn)
	if websocket.CloseStatus(err) != -1 {
		code = sessions.CloseCode(websocket.CloseStatus(err))
	} else if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cut(err)
	_ = conn.CloseNow()
	<-written
	if gaveUp { // the reader may have seen the end of the connection before the writer had said why
		s.queue.lost()
	}
	return wasLive, code, err
}

// read hands what comes to the handler until the connection ends.
func (s *Stream) read(ctx context.Context, conn *websocket.Conn) (wasLive bool, err error) {
	var buf []byte
	dropped := 0
	for {
		typ, message, err := ws.Read(ctx, conn, buf)
		buf = message
		if err != nil {
			return wasLive, err
		}
		s.heard.Add(1)
		if s.over() {
			return wasLive, s.ctx.Err()
		}
		s.busy.Store(true)
		if typ == websocket.MessageBinary {
			s.queue.heard()
			s.handler.StreamBytes(message)
		} else if f, err := sessions.ParseFrame(message); err == nil {
			s.frame(f, &wasLive, &dropped)
		}
		s.busy.Store(false)
	}
}

// frame takes a control frame. dropped is what was dropped before the restore and not yet told.
func (s *Stream) frame(f sessions.Frame, wasLive *bool, dropped *int) {
	if f.Type != sessions.FrameState { // which is the server's; all others come from where input goes
		s.queue.heard()
	}
	live := f.Type == sessions.FrameLive
	switch {
	case f.Type == sessions.FramePong:
		return
	case live, f.Type == sessions.FrameRestore:
		// From the restore on the user sees the screen, and what is typed to it must get there.
		*dropped += s.queue.goLive()
	}
	s.handler.StreamFrame(f)
	if live {
		*wasLive = true
		s.options.Replay = 0 // once is enough; who wants it anew asks for it
		s.handler.StreamLink(sessions.Link{State: sessions.LinkLive, Dropped: *dropped})
		*dropped = 0
	}
}

// Reasons for giving up a connection that was not closed.
var (
	errDead   = errors.New("the connection is dead: the server does not answer")
	errClosed = errors.New("the stream was closed")
)

// write sends what is queued, and pings, until the connection ends or the stream is closed.
func (s *Stream) write(ctx context.Context, conn *websocket.Conn) error {
	send := func(typ websocket.MessageType, b []byte) error {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		return conn.Write(ctx, typ, b)
	}
	ticker := time.NewTicker(s.c.timing.pingEvery)
	defer ticker.Stop()
	var probe <-chan time.Time
	alive := pulse{stream: s}
	for {
		for i, ok := s.queue.take(); ok; i, ok = s.queue.take() {
			if err := i.messages(send); err != nil {
				return err
			}
		}
		if s.closing.Load() {
			s.cancel()
			return errClosed
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.queue.ready:
		case <-ticker.C:
			if alive.beat() > maxPings {
				giveUp(ctx, conn)
				return errDead
			}
			s.queue.control(sessions.Frame{Type: sessions.FramePing})
		case <-s.wake:
			alive.beat()
			s.queue.control(sessions.Frame{Type: sessions.FramePing})
			probe = time.After(s.c.timing.probe)
		case <-probe:
			probe = nil
			if alive.silent() {
				giveUp(ctx, conn)
				return errDead
			}
		}
	}
}

// giveUp tells a server that does not answer, should it come back, that what it has not read by then is void.
func giveUp(ctx context.Context, conn *websocket.Conn) {
	ctx, cancel := context.WithTimeout(ctx, giveUpTimeout)
	defer cancel()
	_ = conn.Write(ctx, websocket.MessageText, []byte(`{"type":"`+string(sessions.FrameGiveUp)+`"}`)) // the connection ends now
}

// pulse counts pings that nothing was heard after. Whatever comes counts as an answer: under a flood the pong is far
// behind it.
type pulse struct {
	stream     *Stream
	heard      uint64
	unanswered int
}

func (p *pulse) silent() bool { return p.stream.heard.Load() == p.heard && !p.stream.busy.Load() }

// beat is called with every ping and returns how many in a row have stayed unanswered, this one included.
func (p *pulse) beat() int {
	if !p.silent() {
		p.unanswered = 0
	}
	p.heard = p.stream.heard.Load()
	p.unanswered++
	return p.unanswered
}

func encode(f sessions.Frame) ([]byte, error) { return json.Marshal(f) }
