// Package rtclient is the Go client of the runtime's API on its unix socket.
package rtclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"corral/runtime/rtapi"
)

// ErrUnreachable means that no runtime answered; nothing is known about its terminals. Errors that the runtime itself
// gave are *rtapi.Error.
var ErrUnreachable = errors.New("the runtime does not answer")

const (
	// maxAnswer bounds an answer: a full history of 20 000 rows with colours is some 40 MB.
	maxAnswer = 128 << 20
	// maxErrorBody bounds the body of a refusal.
	maxErrorBody = 64 << 10
	// silence is how long an event stream may say nothing; an alive event comes every 5 s.
	silence = 15 * time.Second
)

// Client talks to one runtime. It is safe for use by several goroutines.
type Client struct{ http *http.Client }

// New returns a client of the runtime that listens on socket. It dials when first used.
func New(socket string) *Client {
	var d net.Dialer
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		},
		DisableCompression: true,
		IdleConnTimeout:    time.Minute,
	}}}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks how the runtime is.
func (c *Client) Status(ctx context.Context) (rtapi.Status, error) {
	var st rtapi.Status
	return st, c.call(ctx, http.MethodGet, "/v1/status", nil, &st)
}

// Inventory asks for everything the node's tmux server knows.
func (c *Client) Inventory(ctx context.Context) (rtapi.Inventory, error) {
	var inv rtapi.Inventory
	return inv, c.call(ctx, http.MethodGet, "/v1/inventory", nil, &inv)
}

// Create starts a terminal.
func (c *Client) Create(ctx context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	var t rtapi.Terminal
	return t, c.call(ctx, http.MethodPost, "/v1/terminals", req, &t)
}

// Respawn starts a fresh process in the terminal req.Meta.ID, kept or new.
func (c *Client) Respawn(ctx context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	var t rtapi.Terminal
	return t, c.call(ctx, http.MethodPost, terminal(req.Meta.ID, "respawn"), req, &t)
}

// Signal signals the program of terminal id. A program that has ended already is no error.
func (c *Client) Signal(ctx context.Context, id string, req rtapi.SignalRequest) error {
	return c.call(ctx, http.MethodPost, terminal(id, "signal"), req, nil)
}

// Remove kills terminal id and forgets its screen and history.
func (c *Client) Remove(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, terminal(id), nil, nil)
}

// SetMeta replaces what terminal id carries for adoption; its ID and Run stay.
func (c *Client) SetMeta(ctx context.Context, id string, meta rtapi.Meta) error {
	return c.call(ctx, http.MethodPatch, terminal(id), meta, nil)
}

// Variables asks for those of the named variables that the program of terminal id has at its start, whether it lives or
// not. With login the user's login scripts are run for the answer.
func (c *Client) Variables(ctx context.Context, id string, names []string, login bool) (map[string]string, error) {
	q := url.Values{"name": names, "login": {strconv.FormatBool(login)}}
	var found map[string]string
	return found, c.call(ctx, http.MethodGet, terminal(id, "variables")+"?"+q.Encode(), nil, &found)
}

// Input types into terminal id.
func (c *Client) Input(ctx context.Context, id string, req rtapi.InputRequest) error {
	return c.call(ctx, http.MethodPost, terminal(id, "input"), req, nil)
}

// Screen reads the visible screen of terminal id.
func (c *Client) Screen(ctx context.Context, id string) (rtapi.Screen, error) {
	var s rtapi.Screen
	return s, c.call(ctx, http.MethodGet, terminal(id, "screen"), nil, &s)
}

// HistoryRange says which rows of history are wanted: the Lines rows that precede the Before newest ones. Lines 0
// means all of them.
type HistoryRange struct {
	Lines  int
	Before int
	ANSI   bool // with colours and attributes as SGR sequences
}

// History reads rows that have left the screen of terminal id, oldest first, soft-wrapped rows joined to lines.
func (c *Client) History(ctx context.Context, id string, r HistoryRange) (rtapi.History, error) {
	q := url.Values{}
	q.Set("lines", strconv.Itoa(r.Lines))
	q.Set("before", strconv.Itoa(r.Before))
	q.Set("ansi", strconv.FormatBool(r.ANSI))
	var h rtapi.History
	return h, c.call(ctx, http.MethodGet, terminal(id, "history")+"?"+q.Encode(), nil, &h)
}

// Journal opens the records of id, a line of JSON each, for the query of the sessions API. The caller closes it.
func (c *Client) Journal(ctx context.Context, id, rawQuery string) (io.ReadCloser, error) {
	answer, err := c.send(ctx, http.MethodGet, terminal(id, "journal")+"?"+rawQuery, nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// RemoveJournal removes the records of id.
func (c *Client) RemoveJournal(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, terminal(id, "journal"), nil, nil)
}

// Shutdown asks the runtime to end; tmux, recorder and all terminals live on.
func (c *Client) Shutdown(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/v1/shutdown", nil, nil)
}

// DialStream opens a viewer's stream on terminal id with the query of the sessions API's stream. A terminal that does
// not exist shows in the stream's close code.
func (c *Client) DialStream(ctx context.Context, id, rawQuery string) (*websocket.Conn, error) {
	target := "http://runtime" + terminal(id, "stream") + "?" + rawQuery
	conn, answer, err := websocket.Dial(ctx, target, &websocket.DialOptions{
		HTTPClient:      c.http,
		HTTPHeader:      http.Header{rtapi.VersionHeader: {rtapi.Version}},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err == nil {
		return conn, nil
	}
	if answer != nil && answer.Body != nil {
		return nil, fmt.Errorf("open the stream of terminal %s: %w", id, refusal(answer))
	}
	return nil, fmt.Errorf("open the stream of terminal %s: %w", id, unreachable(ctx, err))
}

// Events follows the runtime's events, the first of which is an inventory, and calls each for every one from this
// goroutine. It returns when ctx ends or the stream is cut, also after 15 s of silence.
func (c *Client) Events(ctx context.Context, each func(rtapi.Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(fmt.Errorf("%w: no event for %v", ErrUnreachable, silence)) })
	defer quiet.Stop()

	answer, err := c.send(ctx, http.MethodGet, "/v1/events", nil)
	if err != nil {
		return fmt.Errorf("follow the runtime: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // nothing was written
	lines := json.NewDecoder(answer.Body)
	for {
		var e rtapi.Event
		if err := lines.Decode(&e); err != nil {
			return fmt.Errorf("follow the runtime: %w", unreachable(ctx, err))
		}
		quiet.Reset(silence)
		each(e)
	}
}

// terminal returns the path of a terminal or of something in it.
func terminal(id string, rest ...string) string {
	p := "/v1/terminals/" + url.PathEscape(id)
	for _, r := range rest {
		p += "/" + r
	}
	return p
}

// call sends one request and reads its answer into out, which may be nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	answer, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // nothing was written
	body := io.LimitReader(answer.Body, maxAnswer)
	if out == nil {
		_, err = io.Copy(io.Discard, body)
	} else {
		err = json.NewDecoder(body).Decode(out)
	}
	if err != nil {
		return fmt.Errorf("read the runtime's answer: %w", unreachable(ctx, err))
	}
	return nil
}

// send sends one request and returns its answer when that is no refusal.
func (c *Client) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("write a request to the runtime: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://runtime"+path, body)
	if err != nil {
		return nil, fmt.Errorf("write a request to the runtime: %w", err)
	}
	req.Header.Set(rtapi.VersionHeader, rtapi.Version)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	if answer.StatusCode >= 400 {
		defer answer.Body.Close() //nolint:errcheck // nothing was written
		return nil, refusal(answer)
	}
	return answer, nil
}

// refusal reads the runtime's own error.
func refusal(answer *http.Response) error {
	var e rtapi.Error
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxErrorBody)).Decode(&e); err != nil || e.Code == "" {
		return &rtapi.Error{Code: "internal", Message: "the runtime answered " + answer.Status}
	}
	return &e
}

// unreachable says why nothing came: the caller's own reason when its context ended, else that the runtime is away.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}
