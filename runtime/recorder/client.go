package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"corral/runtime/internal/journal"
)

const (
	// writeTimeout bounds the wait of whoever types for a recorder whose socket is full: longer than a worker takes to start.
	writeTimeout = 2 * time.Second
	// maxPending is how many bytes wait while there is no recorder.
	maxPending = 1 << 20
	// maxPiece is how much of a long input one record has.
	maxPiece = 16 << 10
	// answerTimeout bounds a question.
	answerTimeout = 2 * time.Second
	clientRetry   = 100 * time.Millisecond
)

// errAway says that there is no recorder at the moment.
var errAway = errors.New("the recorder is away") //nolint:gochecknoglobals // a constant

// Client is the runtime's way to the worker. Its methods may be called by several goroutines at once; Record and Input
// return when the record has been handed over, so what is done after that is recorded after it.
type Client struct {
	Socket string
	// Snapshot is told that a session's screen is worth a snapshot; it must not block.
	Snapshot func(id string)
	// Joined is called whenever there is another recorder or worker, which may not have what was told the one before
	// last; nil for nothing. It may call Record.
	Joined func()
	// Warned is told what keeps the recorder from recording, "" when nothing does any more; nil for nothing. It must not
	// block.
	Warned func(text string)
	Log    *slog.Logger

	mu      sync.Mutex
	conn    *net.UnixConn          // nil while away; guarded by mu
	number  int64                  // of the last message; guarded by mu
	pending [][]byte               // what is sent when there is a recorder; guarded by mu
	waiting int                    // bytes of pending; guarded by mu
	dropped map[string]int64       // bytes of what was not kept, by session; guarded by mu
	asked   map[int64]chan message // guarded by mu
	warning string                 // guarded by mu
}

// Run keeps a connection until ctx ends.
func (c *Client) Run(ctx context.Context) error {
	retry := time.NewTicker(clientRetry)
	defer retry.Stop()
	for ctx.Err() == nil {
		if err := c.serve(ctx); err != nil && ctx.Err() == nil {
			c.Log.Debug("recorder not reached", "err", err)
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
		}
	}
	return nil
}

func (c *Client) warn(text string) {
	c.mu.Lock()
	changed := c.warning != text
	c.warning = text
	c.mu.Unlock()
	if changed && c.Warned != nil {
		c.Warned(text)
	}
}

// serve is one connection.
func (c *Client) serve(ctx context.Context) error {
	ours, theirs, err := packetPair()
	if err != nil {
		return err
	}
	defer theirs.Close() //nolint:errcheck // the recorder has its own
	conn, err := packetConn(ours)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing waits in it
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := give(limited, c.Socket, clientVerb, theirs); err != nil {
		return err
	}
	_ = theirs.Close() // closed again above; the end of the recorder's must be seen
	buf := make([]byte, maxMessage)
	// What is written before a worker knows the socket might be read after the echo.
	_ = conn.SetReadDeadline(time.Now().Add(requestTimeout)) // an error shows when reading
	n, err := conn.Read(buf)
	if err != nil {
		return fmt.Errorf("wait for the recorder's worker: %w", err)
	}
	var hello message
	if err := json.Unmarshal(buf[:n], &hello); err != nil {
		return fmt.Errorf("wait for the recorder's worker: %w", err)
	}
	_ = conn.SetReadDeadline(time.Time{}) // likewise
	if err := c.join(conn); err != nil {
		return err
	}
	defer c.part(conn)
	c.hear(hello)
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return fmt.Errorf("read from the recorder: %w", err)
		}
		var m message
		if err := json.Unmarshal(buf[:n], &m); err != nil {
			return fmt.Errorf("read from the recorder: %w", err)
		}
		c.hear(m)
	}
}

// join makes conn the connection, once it has taken what waits.
func (c *Client) join(conn *net.UnixConn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, n := range c.dropped {
		b, err := c.encodeLocked(message{Op: opAppend, ID: id, Record: &journal.Record{
			Kind: journal.Gap, Details: journal.Details{Bytes: n, Why: "the recorder was away for long"},
		}})
		if err == nil {
			c.pending = append(c.pending, b)
		}
	}
	c.dropped = nil
	for len(c.pending) > 0 {
		if err := write(conn, c.pending[0], requestTimeout); err != nil {
			return err
		}
		c.waiting -= len(c.pending[0])
		c.pending = c.pending[1:]
	}
	c.pending, c.waiting, c.conn = nil, 0, conn
	return nil
}

func (c *Client) part(conn *net.UnixConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		c.conn = nil
	}
	for n, answer := range c.asked {
		close(answer)
		delete(c.asked, n)
	}
}

func write(conn *net.UnixConn, b []byte, timeout time.Duration) error {
	_ = conn.SetWriteDeadline(time.Now().Add(timeout)) // an error shows when writing
	if _, err := conn.Write(b); err != nil {
		return fmt.Errorf("write to the recorder: %w", err)
	}
	return nil
}

func (c *Client) hear(m message) {
	switch m.Op {
	case opSnapshot:
		c.Snapshot(m.ID)
	case opHello:
		c.warn(m.Text)
		if c.Joined != nil {
			c.Joined()
		}
	case opWarning:
		c.warn(m.Text)
	default:
		c.mu.Lock()
		answer := c.asked[m.N]
		delete(c.asked, m.N)
		c.mu.Unlock()
		if answer != nil {
			answer <- m // it has room
		}
	}
}

func (c *Client) encodeLocked(m message) ([]byte, error) {
	c.number++
	m.N = c.number
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write to the recorder: %w", err)
	}
	if len(b) > maxMessage {
		return nil, fmt.Errorf("write to the recorder: a record of %d bytes is too large", len(b))
	}
	return b, nil
}

// Record hands over a record for the journal of id.
func (c *Client) Record(id string, r journal.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := c.encodeLocked(message{Op: opAppend, ID: id, Record: &r})
	if err != nil {
		c.Log.Warn("not recorded", "id", id, "kind", string(r.Kind), "err", err)
		return
	}
	if c.conn != nil {
		err := write(c.conn, b, writeTimeout)
		if err == nil {
			return
		}
		c.Log.Warn("recorder lost", "err", err)
		_ = c.conn.Close() // its reader ends
		c.conn = nil
	}
	if c.waiting+len(b) > maxPending {
		if c.dropped == nil {
			c.dropped = map[string]int64{}
		}
		c.dropped[id] += int64(len(r.Payload))
		return
	}
	c.pending = append(c.pending, b)
	c.waiting += len(b)
}

// Input hands over what is about to be typed; of what is redacted only the length.
func (c *Client) Input(id string, p []byte, redacted bool) {
	if redacted {
		c.Record(id, journal.Record{Kind: journal.Input, Details: journal.Details{Redacted: true, Bytes: int64(len(p))}})
		return
	}
	for len(p) > 0 {
		n := len(p)
		if n > maxPiece {
			if n = journal.Whole(p[:maxPiece]); n == 0 {
				n = maxPiece
			}
		}
		r := journal.Record{Kind: journal.Input}
		r.SetData(p[:n])
		c.Record(id, r)
		p = p[n:]
	}
}

// Sequence returns the last sequence in the journal of id, after everything that the session has printed so far.
func (c *Client) Sequence(ctx context.Context, id string) (int64, error) {
	m, err := c.ask(ctx, message{Op: opSequence, ID: id})
	return m.Sequence, err
}

// Remove removes the journal of id.
func (c *Client) Remove(ctx context.Context, id string) error {
	_, err := c.ask(ctx, message{Op: opRemove, ID: id})
	return err
}

func (c *Client) ask(ctx context.Context, m message) (message, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	answer := make(chan message, 1)
	c.mu.Lock()
	b, err := c.encodeLocked(m)
	n := c.number
	if err == nil && c.conn == nil {
		err = errAway
	}
	if err == nil {
		err = write(c.conn, b, writeTimeout)
	}
	if err == nil {
		if c.asked == nil {
			c.asked = map[int64]chan message{}
		}
		c.asked[n] = answer
	}
	c.mu.Unlock()
	if err != nil {
		return message{}, err
	}
	select {
	case m, ok := <-answer:
		if !ok {
			return message{}, errAway
		}
		return m, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.asked, n)
		c.mu.Unlock()
		return message{}, fmt.Errorf("ask the recorder: %w", ctx.Err())
	}
}
