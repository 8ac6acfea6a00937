package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"corral/internal/ws"
	"corral/runtime/rtapi"
	"corral/sessions"
)

// How long a viewer is waited for.
const (
	// stallLimit is how long one message may wait for a viewer that reads nothing.
	stallLimit = 30 * time.Second
	// stalledLinger is how long a viewer that was given up may take to fetch its close code: one that was suspended
	// reads it when it wakes. All that waits for it is one message.
	stalledLinger = 5 * time.Minute
	// linger is the same for every other end.
	linger = 2 * time.Second
	// exitFlush bounds the wait for the last picture of a program that has ended.
	exitFlush = 300 * time.Millisecond
)

// viewer is one stream. Four goroutines serve it: serve writes the WebSocket, receive reads it, the keyboard types, and
// resizer follows its wishes of size; a fifth, of its client, drains the PTY. serve waits for all of them.
type viewer struct {
	hub      *Hub
	terminal *terminal
	conn     *ws.Conn
	log      *slog.Logger
	cancel   context.CancelFunc

	mode     sessions.Mode
	readOnly bool
	replay   int

	queue    *queue
	stream   *stream
	keyboard *keyboard
	exits    chan exit     // at most one
	resyncs  chan int      // history lines wanted; at most one
	settles  chan struct{} // at most one
	draining atomic.Int64  // how often the server said that it waits for a viewer that reads

	// Guarded by terminal.mu.
	cols, rows               int // wanted, 0 when unknown
	present, attached, holds bool

	mu     sync.Mutex // guards what follows
	client *client
	number int  // of the last redraw asked for
	live   bool // has been given a picture, so sizes are announced to it
	code   sessions.CloseCode
	reason string
	ended  bool
}

func newViewer(h *Hub, conn *ws.Conn, q url.Values, cancel context.CancelFunc) *viewer {
	v := &viewer{
		hub: h, conn: conn, cancel: cancel,
		mode:     sessions.Mode(q.Get("mode")),
		readOnly: q.Get("readOnly") == "true" || q.Get("readOnly") == "1",
		replay:   atoi(q.Get("replay")),
		cols:     clampSize(atoi(q.Get("cols"))),
		rows:     clampSize(atoi(q.Get("rows"))),
		queue:    newQueue(h.maxQueued),
		exits:    make(chan exit, 1),
		resyncs:  make(chan int, 1),
		settles:  make(chan struct{}, 1),
	}
	switch v.mode {
	case sessions.ModePane, sessions.ModeRaw, sessions.ModePreview:
	default:
		v.mode = sessions.ModePreview
	}
	v.stream = newStream(v.queue, replies{fg: q.Get("fg"), bg: q.Get("bg")})
	return v
}

// enter makes v a viewer of t.
func (v *viewer) enter(t *terminal, log *slog.Logger) {
	v.terminal = t
	v.log = log.With("terminal", t.id, "mode", string(v.mode))
	v.keyboard = newKeyboard(v.log)
	v.keyboard.bracketed = v.stream.bracketedPaste
	v.keyboard.refused = v.refuse
	v.keyboard.typed = func(p []byte) { v.hub.cfg.Recorder.Input(t.id, p) }
	v.keyboard.modified = func(ctx context.Context) bool { return v.hub.cfg.Recorder.ModifiedKeys(ctx, t.id) }
	v.keyboard.buffer = func(ctx context.Context, text []byte) error { return v.hub.pasteBuffer(ctx, t, text) }
	v.stream.reply = v.keyboard.answer
}

// atoi reads a number of a query; what is none counts as absent.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// end ends the stream with a close code, 0 for a connection that is broken. Only the first call counts; it returns
// true.
func (v *viewer) end(code sessions.CloseCode, reason string) bool {
	v.mu.Lock()
	first := !v.ended
	if first {
		v.ended, v.code, v.reason = true, code, reason
	}
	v.mu.Unlock()
	v.cancel()
	return first
}

// abandon ends the stream without a word.
func (v *viewer) abandon() { _ = v.conn.CloseNow() }

// exited tells the viewer that the program has ended.
func (v *viewer) exited(e exit) {
	select {
	case v.exits <- e:
	default:
	}
}

// settleSoon has the window's size follow its owner.
func (v *viewer) settleSoon() {
	select {
	case v.settles <- struct{}{}:
	default:
	}
}

// serve is the whole life of the stream, once the terminal is joined.
func (v *viewer) serve(ctx context.Context) error {
	// Writing outlives ctx by a little: the close code has to follow the message that is being written.
	writing, stopWriting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWriting()
	typed := make(chan struct{}) // closed when nothing more is typed
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(v.lingers(), stopWriting)
		select {
		case <-typed:
		case <-time.After(lastWords): // tmux does not read: its end ends the typing
		}
		if c := v.currentClient(); c != nil {
			c.kill()
		}
	})()

	var group sync.WaitGroup
	group.Go(func() { v.receive(writing, ctx) })
	group.Go(func() {
		defer close(typed)
		v.keyboard.run(ctx)
	})
	group.Go(func() { v.resizer(ctx) })
	err := v.relay(ctx, writing)
	err = v.conclude(err)
	select {
	case <-typed:
	case <-time.After(lastWords): // as above
	}
	v.killClient()
	v.close()
	stopWriting()
	group.Wait()
	return err
}

func (v *viewer) lingers() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.code == sessions.CloseNotDraining {
		return stalledLinger
	}
	return linger
}

// conclude settles how the stream ends when relay has returned err, and returns what is worth reporting.
func (v *viewer) conclude(err error) error {
	v.mu.Lock()
	ended, live := v.ended, v.live
	v.mu.Unlock()
	switch {
	case ended:
		return nil
	case errors.Is(err, context.Canceled): // of the caller
		v.end(sessions.CloseGoingAway, "the runtime stops")
		return nil
	case errors.Is(err, errGone) && live:
		v.end(sessions.CloseEnded, "the terminal was removed")
		return nil
	case errors.Is(err, errGone):
		v.end(sessions.CloseNotFound, "no such terminal")
		return nil
	}
	v.end(sessions.CloseGoingAway, "the terminal cannot be reached")
	return err
}

func (v *viewer) close() {
	v.mu.Lock()
	code, reason := v.code, v.reason
	v.mu.Unlock()
	if code == 0 {
		_ = v.conn.CloseNow() // broken already
		return
	}
	_ = v.conn.Close(websocket.StatusCode(code), reason) // the viewer may be gone by now
}

// relay brings the viewer its terminal until something ends the stream.
func (v *viewer) relay(ctx, writing context.Context) error {
	ended, err := v.begin(ctx, writing)
	if err != nil {
		return err
	}
	if ended != nil {
		v.exited(*ended)
	}
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select { // what must not starve while output pours
		case <-ctx.Done():
			return ctx.Err()
		case e := <-v.exits:
			return v.finish(ctx, writing, e)
		case lines := <-v.resyncs:
			if err := v.resync(ctx, writing, lines, false); err != nil {
				return err
			}
		default:
		}
		if v.queue.lagging() {
			if err := v.resync(ctx, writing, 0, true); err != nil {
				return err
			}
		}
		m, wait, ok := v.queue.take(time.Now())
		if ok {
			if err := v.send(writing, m); err != nil {
				return err
			}
			continue
		}
		if err := v.idle(ctx, writing, due, wait); err != nil {
			return err
		}
	}
}

// idle waits until there may be something to do.
func (v *viewer) idle(ctx, writing context.Context, due *time.Timer, wait time.Duration) error {
	var gathered <-chan time.Time
	if wait > 0 {
		due.Reset(wait)
		gathered = due.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-v.queue.ready:
	case <-gathered:
	case e := <-v.exits:
		v.exited(e) // for relay, which ends the stream
	case lines := <-v.resyncs:
		return v.resync(ctx, writing, lines, false)
	case <-v.currentClient().gone:
		return v.reattach(ctx, writing)
	}
	return nil
}

// finish brings the last picture and the end. The redraw that it asks for shows everything the program printed, also
// when tmux had put off drawing it.
func (v *viewer) finish(ctx, writing context.Context, e exit) error {
	if r := v.kick(); r != nil {
		bound := time.NewTimer(exitFlush)
		defer bound.Stop()
		select {
		case <-r.drawn:
		case <-bound.C:
		case <-v.currentClient().gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if v.queue.lagging() {
		if err := v.resync(ctx, writing, 0, true); err != nil && !errors.Is(err, errGone) {
			return err
		}
	}
	for {
		v.queue.flush()
		m, _, ok := v.queue.take(time.Now())
		if !ok {
			break
		}
		if err := v.send(writing, m); err != nil {
			return err
		}
	}
	frame := rtapi.ExitedFrame{Type: rtapi.FrameExited, ExitCode: e.code, Signal: e.signal}
	if err := v.sendJSON(writing, frame); err != nil {
		return err
	}
	v.end(sessions.CloseEnded, "the program has ended")
	return nil
}

// send writes one message.
func (v *viewer) send(writing context.Context, m message) error {
	if m.frame != nil {
		return v.sendJSON(writing, m.frame)
	}
	return v.write(writing, websocket.MessageBinary, m.bytes)
}

func (v *viewer) sendJSON(writing context.Context, frame any) error {
	text, err := json.Marshal(frame)
	if err != nil {
		return fmt.Errorf("write a frame: %w", err)
	}
	return v.write(writing, websocket.MessageText, text)
}

// write writes one message, however long the viewer takes. One that reads nothing for stallLimit is given up: its tmux
// client ends at once and it no longer counts, but the message stays where it is, since the close code can only follow
// it. No lock is held here.
func (v *viewer) write(writing context.Context, t websocket.MessageType, p []byte) error {
	defer ws.Watch(v.hub.stallLimit, v.progress, nil, func() {
		v.end(sessions.CloseNotDraining, "the viewer does not read its stream")
		v.terminal.leave(v)
	})()
	if err := v.conn.Write(writing, t, p); err != nil {
		v.end(0, "")
		return fmt.Errorf("write to the viewer: %w", err)
	}
	return nil
}

// progress is another number whenever the viewer has read something, or the server said that it did.
func (v *viewer) progress() int64 {
	unread, _ := v.conn.Unread()
	return v.draining.Load()<<32 | int64(unread)
}
