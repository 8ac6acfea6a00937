// Package rtclient is the Go client of the runtime's API on its unix socket.
package rtclient

import (
	"context"
	"errors"

	"github.com/coder/websocket"

	"corral/runtime/rtapi"
)

// ErrUnreachable means that no runtime answered; nothing is known about its terminals. Errors that the runtime itself
// gave are *rtapi.Error.
var ErrUnreachable = errors.New("the runtime does not answer")

// Client talks to one runtime. It is safe for use by several goroutines.
type Client struct{ socket string }

// New returns a client of the runtime that listens on socket. It dials when first used.
func New(socket string) *Client { return &Client{socket: socket} }

// Close drops idle connections.
func (c *Client) Close() {}

// Status asks how the runtime is.
func (c *Client) Status(ctx context.Context) (rtapi.Status, error) {
	return rtapi.Status{}, ErrUnreachable
}

// Inventory asks for everything the node's tmux server knows.
func (c *Client) Inventory(ctx context.Context) (rtapi.Inventory, error) {
	return rtapi.Inventory{}, ErrUnreachable
}

// Events follows the runtime's events, the first of which is an inventory, and calls each for every one from this
// goroutine. It returns when ctx ends or the stream is cut, also after 15 s of silence (an alive event comes every 5 s).
func (c *Client) Events(ctx context.Context, each func(rtapi.Event)) error { return ErrUnreachable }

// Create starts a terminal.
func (c *Client) Create(ctx context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	return rtapi.Terminal{}, ErrUnreachable
}

// Respawn starts a fresh process in the terminal req.Meta.ID, kept or new.
func (c *Client) Respawn(ctx context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	return rtapi.Terminal{}, ErrUnreachable
}

// Signal signals the program of terminal id.
func (c *Client) Signal(ctx context.Context, id string, req rtapi.SignalRequest) error {
	return ErrUnreachable
}

// Remove kills terminal id and forgets its screen and history.
func (c *Client) Remove(ctx context.Context, id string) error { return ErrUnreachable }

// SetMeta replaces what terminal id carries for adoption; ID and Run of it are kept.
func (c *Client) SetMeta(ctx context.Context, id string, meta rtapi.Meta) error {
	return ErrUnreachable
}

// Input types into terminal id.
func (c *Client) Input(ctx context.Context, id string, req rtapi.InputRequest) error {
	return ErrUnreachable
}

// Screen reads the visible screen of terminal id.
func (c *Client) Screen(ctx context.Context, id string) (rtapi.Screen, error) {
	return rtapi.Screen{}, ErrUnreachable
}

// HistoryRange says which rows of history are wanted: Lines rows that precede the Before newest ones. Lines 0 means
// all of them.
type HistoryRange struct {
	Lines  int
	Before int
	ANSI   bool // with colours and attributes as SGR sequences
}

// History reads rows that have left the screen of terminal id, oldest first, soft-wrapped rows joined to lines.
func (c *Client) History(ctx context.Context, id string, r HistoryRange) (rtapi.History, error) {
	return rtapi.History{}, ErrUnreachable
}

// DialStream opens a viewer's stream on terminal id with the query of the sessions API's stream.
func (c *Client) DialStream(ctx context.Context, id, rawQuery string) (*websocket.Conn, error) {
	return nil, ErrUnreachable
}

// Shutdown asks the runtime to end; tmux, recorder and all terminals live on.
func (c *Client) Shutdown(ctx context.Context) error { return ErrUnreachable }
