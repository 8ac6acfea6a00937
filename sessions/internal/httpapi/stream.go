package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"corral/internal/ws"
	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/service"
)

const (
	// dialTimeout bounds the way to the runtime, which is a unix socket on this machine.
	dialTimeout = 5 * time.Second
	// endWait is how long a stream waits for its session's end to be written: a death that could be part of a shutdown is
	// written 5 s late.
	endWait = 7 * time.Second
	// closeWait is how long a viewer has to answer a close before the connection is cut.
	closeWait = time.Second
	// stallTimeout is how long one message may wait for a viewer that reads nothing.
	stallTimeout = 30 * time.Second
	// stalledLinger is how long such a viewer may take to fetch its close code: one that was suspended reads it when it
	// wakes. All that waits for it is one message.
	stalledLinger = 5 * time.Minute
	// maxRestore bounds a frame from the runtime: a whole screen with the colours of every cell.
	maxRestore = 16 << 20
)

// end is how a stream ends: the close to send, or nothing when the viewer has gone.
type end struct {
	code   sessions.CloseCode
	reason string // at most 123 bytes, never dynamic
}

var (
	viewerGone      = end{}
	serverStops     = end{sessions.CloseGoingAway, "the server stops"}
	noSuchSession   = end{sessions.CloseNotFound, "no such session"}
	runtimeAway     = end{sessions.CloseRuntimeUnreachable, "the runtime is unreachable"}
	sessionEnded    = end{sessions.CloseEnded, "the session has ended"}
	stateUnknown    = end{sessions.CloseCode(websocket.StatusInternalError), "the session's state is not known yet"}
	viewerTooSlow   = end{sessions.CloseNotDraining, "the viewer does not read"}
	runtimeGoesAway = end{sessions.CloseGoingAway, "the runtime stops"}
)

// stream is GET /v1/sessions/{id}/stream.
func (a *API) stream(w http.ResponseWriter, r *http.Request) {
	conn, err := ws.Accept(w, r)
	if err != nil {
		a.cfg.Log.Debug("stream not opened", "error", err) // the answer has been sent
		return
	}
	a.serving.Add(1)
	defer a.serving.Done()
	conn.SetReadLimit(sessions.MaxUp)
	// The connection is hijacked: its context is not the request's, whose cancelling would cut it without a close.
	io, cut := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cut()
	s := &stream{
		id: id(r), query: a.streamQuery(r.URL.Query()),
		viewer: conn, io: io, stop: a.stop, stallTimeout: a.stallTimeout, stalled: make(chan struct{}),
		board: a.cfg.Board, dial: a.cfg.DialStream, screen: a.cfg.Service.Screen,
		log: a.cfg.Log.With("session", id(r)),
	}
	e := s.run()
	s.log.Debug("stream ended", "code", int(e.code), "reason", e.reason)
	if e == viewerTooSlow {
		s.linger()
	}
	if e == viewerGone {
		_ = conn.CloseNow()
	} else {
		// A viewer that does not answer is cut, which ends the wait for it.
		timer := time.AfterFunc(closeWait, cut)
		_ = conn.Close(websocket.StatusCode(e.code), e.reason)
		timer.Stop()
	}
	cut()
	if s.pumps != nil {
		s.pumps.wait.Wait()
	}
}

func (a *API) streamQuery(q url.Values) string {
	if q.Get("replay") == "" && q.Get("mode") != string(sessions.ModePreview) {
		q.Set("replay", strconv.Itoa(a.cfg.ReplayLines))
	}
	return q.Encode()
}

// stream relays one viewer.
type stream struct {
	id     sessions.ID
	query  string
	viewer *ws.Conn
	io     context.Context //nolint:containedctx // ends the connections' I/O without a close
	stop   context.Context //nolint:containedctx // the server's life

	stallTimeout time.Duration // stallTimeout, but for tests
	stalled      chan struct{} // closed when the viewer has read nothing for so long
	stall        sync.Once

	board  *service.Board
	dial   func(ctx context.Context, id, rawQuery string) (*websocket.Conn, error)
	screen func(ctx context.Context, id sessions.ID) (sessions.Screen, error)
	log    *slog.Logger

	sub   *service.Subscription
	pumps *pumps           // nil until the runtime's stream is open
	sent  sessions.Session // the state that the viewer was told last; the pump writes it until the stream is live
}

// run relays until something ends the stream and says how to close it.
func (s *stream) run() end {
	s.sub = s.board.SubscribeTo(s.id)
	defer s.board.Unsubscribe(s.sub)
	for {
		now, known := s.board.Get(s.id)
		if !known && s.board.Complete() {
			return noSuchSession
		}
		up, err := s.connect()
		switch {
		case err == nil:
			return s.relay(up)
		case !isNoTerminal(err):
			s.log.Debug("runtime not reached", "error", err)
			return runtimeAway
		case !known:
			return stateUnknown
		}
		// A session without a terminal: ended, or about to be written as lost, or about to start.
		before := now.State
		now, e := s.await(nil, func(now sessions.Session) bool {
			return now.State.Ended() || now.State != before && now.State != sessions.Stopping
		})
		if e != nil {
			return *e
		}
		if now.State.Ended() {
			if err := s.last(); err != nil {
				return viewerGone
			}
			return s.ended(now)
		}
	}
}

// upstream is an open stream of the runtime, whose first message has been read.
type upstream struct {
	conn  *websocket.Conn
	typ   websocket.MessageType
	first []byte
}

// connect opens the runtime's stream. Only its first message tells that there is a terminal: of one that does not exist
// comes a close.
func (s *stream) connect() (upstream, error) {
	ctx, cancel := context.WithTimeout(s.io, dialTimeout)
	defer cancel()
	conn, err := s.dial(ctx, string(s.id), s.query)
	if err != nil {
		return upstream{}, err
	}
	conn.SetReadLimit(maxRestore)
	typ, first, err := ws.Read(ctx, conn, nil)
	if err != nil {
		_ = conn.CloseNow()
		return upstream{}, err
	}
	return upstream{conn, typ, first}, nil
}

func isNoTerminal(err error) bool {
	if websocket.CloseStatus(err) == websocket.StatusCode(sessions.CloseNotFound) {
		return true
	}
	var refused *rtapi.Error
	return errors.As(err, &refused) && sessions.Code(refused.Code) == sessions.CodeNotFound
}

// relay runs the two pumps and puts the session's state between what they carry.
func (s *stream) relay(up upstream) end {
	p := newPumps(s, up.conn)
	s.pumps = p
	defer p.close()
	p.start(up)
	live := p.live
	for {
		select {
		case <-s.stop.Done():
			return serverStops
		case <-p.viewerGone:
			return viewerGone
		case <-s.stalled:
			return viewerTooSlow
		case <-live:
			live = nil // from here on the viewer is told of changes
			if s.tell() != nil {
				return viewerGone
			}
		case c, open := <-s.sub.Changes:
			switch {
			case !open:
				return stateUnknown
			case c.Type == sessions.ChangeRemoved:
				return noSuchSession
			case live == nil && s.tell() != nil:
				return viewerGone
			}
		case down := <-p.down:
			return s.runtimeEnded(p, down)
		}
	}
}

// runtimeEnded turns the end of the runtime's stream into the end of the viewer's.
func (s *stream) runtimeEnded(p *pumps, down runtimeEnd) end {
	switch {
	case down.viewerGone:
		return viewerGone
	case down.exited, down.code == sessions.CloseEnded, down.code == sessions.CloseNotFound:
		now, e := s.await(p.viewerGone, func(now sessions.Session) bool { return now.State.Ended() })
		if e != nil {
			return *e
		}
		return s.ended(now)
	case down.code == sessions.CloseGoingAway:
		return runtimeGoesAway
	case down.code == sessions.CloseNotDraining:
		return viewerTooSlow
	}
	s.log.Debug("runtime's stream cut", "error", down.err)
	return runtimeAway
}

// await waits until the session satisfies ok, or says how the stream ends otherwise. The end of a session that is being
// removed is not waited for but its removal.
func (s *stream) await(gone <-chan struct{}, satisfied func(sessions.Session) bool) (sessions.Session, *end) {
	ok := func(now sessions.Session) bool { return satisfied(now) && !s.board.Removing(s.id) }
	timer := time.NewTimer(endWait)
	defer timer.Stop()
	for {
		now, known := s.board.Get(s.id)
		switch {
		case !known && s.board.Complete():
			return now, &noSuchSession
		case known && ok(now):
			return now, nil
		}
		select {
		case <-s.stop.Done():
			return now, &serverStops
		case <-gone:
			return now, &viewerGone
		case <-timer.C:
			return now, &stateUnknown
		case c, open := <-s.sub.Changes:
			switch {
			case !open:
				return now, &stateUnknown
			case c.Type == sessions.ChangeRemoved:
				return now, &noSuchSession
			case c.Session != nil && ok(*c.Session):
				return *c.Session, nil // also when it has moved on since: this is what the viewer waits to be told
			}
		}
	}
}

// attached completes the runtime's attached frame by the state, which the runtime does not know.
func (s *stream) attached(f sessions.Frame) sessions.Frame {
	now, _ := s.board.Get(s.id)
	s.sent = now
	f.SessionID, f.State = s.id, now.State
	return f
}

// tell sends a state frame if the state now is not what the viewer was told last. A queued change may be older than
// that, so it is only a reason to look.
func (s *stream) tell() error {
	now, ok := s.board.Get(s.id)
	if !ok || now.State == s.sent.State && now.StateReason == s.sent.StateReason {
		return nil
	}
	s.sent = now
	return s.send(sessions.Frame{
		Type: sessions.FrameState, State: now.State, Reason: now.StateReason, ExitCode: now.ExitCode,
	})
}

func (s *stream) ended(now sessions.Session) end {
	err := s.send(sessions.Frame{
		Type: sessions.FrameEnded, State: now.State, Reason: now.StateReason, ExitCode: now.ExitCode, At: &now.UpdatedAt,
	})
	if err != nil {
		return viewerGone
	}
	return sessionEnded
}

func (s *stream) send(f sessions.Frame) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return s.write(websocket.MessageText, b)
}

// write sends one message to the viewer, however long that takes; it may be called from several goroutines. While it
// waits for a viewer that reads, the runtime is told so; one that does not read is given up, but the message stays where
// it is, since the close code can only follow it.
func (s *stream) write(typ websocket.MessageType, b []byte) error {
	defer ws.Watch(s.stallTimeout, s.unread, s.draining, func() {
		s.stall.Do(func() { close(s.stalled) })
	})()
	return s.viewer.Write(s.io, typ, b)
}

func (s *stream) unread() int64 {
	n, _ := s.viewer.Unread()
	return int64(n)
}

func (s *stream) draining() {
	if s.pumps != nil {
		s.pumps.draining()
	}
}

// linger waits until a viewer that was given up has taken the message that it is being sent.
func (s *stream) linger() {
	bound := time.NewTimer(stalledLinger)
	defer bound.Stop()
	select {
	case <-s.pumps.written:
	case <-s.pumps.viewerGone:
	case <-s.stop.Done():
	case <-bound.C:
	}
}
