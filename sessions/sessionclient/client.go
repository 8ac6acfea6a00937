package sessionclient

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"corral/sessions"
)

// Config says how a client reaches its server. Socket or Dial must be set.
type Config struct {
	// Socket is the path of the server's unix socket.
	Socket string
	// Dial, when set, opens the connections instead.
	Dial func(ctx context.Context) (net.Conn, error)
	// EnsureServer, when set, is called before a watch or a stream dials again and nothing listens; it starts the server
	// where that is allowed and returns when the server answers or an error that says why not.
	EnsureServer func(ctx context.Context) error
	// ClientName is what other viewers and logs call this client, as "dashboard on pts/3".
	ClientName string
	Log        *slog.Logger
}

// Client speaks to one server. It is safe for concurrent use.
type Client struct {
	cfg Config
}

// New returns a client. It does not connect.
func New(cfg Config) *Client { return &Client{cfg: cfg} }

// ShutdownRequest is sessions.ShutdownRequest.
type ShutdownRequest = sessions.ShutdownRequest

var errSkeleton = errors.New("not written yet")

// CloseIdleConnections closes the connections kept for the next request.
func (c *Client) CloseIdleConnections() {}

// Create makes a session and starts its program.
func (c *Client) Create(ctx context.Context, r sessions.CreateRequest) (sessions.Session, error) {
	return sessions.Session{}, errSkeleton
}

// Restart starts an ended session again.
func (c *Client) Restart(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	return sessions.Session{}, errSkeleton
}

// Stop asks a live session's program to end; the answer is the session in STOPPING.
func (c *Client) Stop(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	return sessions.Session{}, errSkeleton
}

// Close gives up a RECOVERABLE session: it becomes STOPPED and nothing is started.
func (c *Client) Close(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	return sessions.Session{}, errSkeleton
}

// Update changes title or project.
func (c *Client) Update(ctx context.Context, id sessions.ID, r sessions.UpdateRequest) (sessions.Session, error) {
	return sessions.Session{}, errSkeleton
}

// Remove deletes an ended session; with force also a live one, whose program is killed.
func (c *Client) Remove(ctx context.Context, id sessions.ID, force bool) error { return errSkeleton }

// Get returns one session.
func (c *Client) Get(ctx context.Context, id sessions.ID) (sessions.Session, error) {
	return sessions.Session{}, errSkeleton
}

// List returns all sessions, oldest first.
func (c *Client) List(ctx context.Context) ([]sessions.Session, error) { return nil, errSkeleton }

// Events returns the newest events of a session in rising order.
func (c *Client) Events(ctx context.Context, id sessions.ID) ([]sessions.Event, error) {
	return nil, errSkeleton
}

// EventsFollow calls event for every event after the given id, of one session or, with id "", of all, until ctx ends.
// With follow false it returns after those that exist.
func (c *Client) EventsFollow(ctx context.Context, id sessions.ID, after int64, follow bool, event func(sessions.Event) error) error {
	return errSkeleton
}

// Directories completes a directory on the node.
func (c *Client) Directories(ctx context.Context, prefix string) ([]string, error) {
	return nil, errSkeleton
}

// Screen returns what the session shows now, or showed last.
func (c *Client) Screen(ctx context.Context, id sessions.ID) (sessions.Screen, error) {
	return sessions.Screen{}, errSkeleton
}

// History returns lines of scrollback that end before lines above the newest; lines 0 means as many as there are.
func (c *Client) History(ctx context.Context, id sessions.ID, lines, before int) (sessions.History, error) {
	return sessions.History{}, errSkeleton
}

// Input types into a session.
func (c *Client) Input(ctx context.Context, id sessions.ID, r sessions.InputRequest) error {
	return errSkeleton
}

// Status returns the state of every role. The server's own line is UP when this succeeds.
func (c *Client) Status(ctx context.Context) (sessions.Status, error) {
	return sessions.Status{}, errSkeleton
}

// Wait returns the session as soon as it is in one of the states; ErrDeadline when the timeout (0: none) passes first.
func (c *Client) Wait(ctx context.Context, id sessions.ID, r sessions.WaitRequest) (sessions.Session, error) {
	return sessions.Session{}, errSkeleton
}

// Shutdown stops the server and what r names with it. It returns when the server has taken the order; the socket
// vanishes when it is done.
func (c *Client) Shutdown(ctx context.Context, r ShutdownRequest) error { return errSkeleton }

// Watch follows the list of sessions until ctx ends; see tui.Watcher.
func (c *Client) Watch(ctx context.Context, change func(sessions.Change), link func(sessions.Link)) {
	<-ctx.Done()
}

// Stream is one viewer's connection to a session; it mends itself. See tui.Stream. No method but Close blocks.
type Stream struct{}

// Attach opens a stream that reconnects by itself until it is closed or ends for good. It returns at once.
func (c *Client) Attach(id sessions.ID, o sessions.StreamOptions, h sessions.StreamHandler) *Stream {
	return &Stream{}
}

// Send queues terminal input; false means it was dropped: not live, or the queue is full.
func (s *Stream) Send(p []byte) bool { return false }

// Paste queues a paste, taken whole or refused whole.
func (s *Stream) Paste(p []byte) bool { return false }

// Resize tells the size of the viewer's pane.
func (s *Stream) Resize(cols, rows int) {}

// Own takes the keyboard.
func (s *Stream) Own() {}

// Release gives the keyboard back.
func (s *Stream) Release() {}

// Resync asks for a fresh restore.
func (s *Stream) Resync() {}

// Wake makes a waiting reconnect start at once.
func (s *Stream) Wake() {}

// Close ends the stream and waits for its goroutines.
func (s *Stream) Close() {}
