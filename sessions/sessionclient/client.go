package sessionclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"corral/sessions"
)

// requestTimeout bounds a request whose context has no deadline: more than the server's own 10 s, so that its answer
// comes first.
const requestTimeout = 15 * time.Second

// maxAnswer bounds an answer: 20 000 lines of history with colours, with room to spare.
const maxAnswer = 256 << 20

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
	Log        *slog.Logger // nil: nothing is logged
}

// Client speaks to one server. It is safe for concurrent use.
type Client struct {
	cfg    Config
	http   *http.Client
	ensure singleflight.Group
	timing timing
}

// timing is what tests shorten.
type timing struct {
	retryMin, retryMax time.Duration // between reconnects
	pingEvery          time.Duration
	probe              time.Duration // how long a woken stream waits for its ping
	watchSilence       time.Duration // a watch that is quiet for longer is dead; the server speaks every 15 s
}

// New returns a client. It does not connect.
func New(cfg Config) *Client {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{cfg: cfg, timing: timing{
		retryMin: 500 * time.Millisecond, retryMax: 10 * time.Second,
		pingEvery: 5 * time.Second, probe: 2500 * time.Millisecond, watchSilence: 40 * time.Second,
	}}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if cfg.Dial != nil {
				return cfg.Dial(ctx)
			}
			var d net.Dialer
			return d.DialContext(ctx, "unix", cfg.Socket)
		},
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
	}}
	return c
}

// ShutdownRequest is sessions.ShutdownRequest.
type ShutdownRequest = sessions.ShutdownRequest

// CloseIdleConnections closes the connections kept for the next request.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// call sends a request and reads its JSON answer; in and out may be nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	resp, err := c.open(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return c.transportError(ctx, fmt.Errorf("read the answer to %s %s: %w", method, path, err))
	}
	return nil
}

// open sends a request and returns its answer, whose body the caller closes, or the error that it carries.
func (c *Client) open(ctx context.Context, method, path string, in any) (*http.Response, error) {
	if in == nil {
		return c.send(ctx, method, path, "", nil)
	}
	b, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode the request %s %s: %w", method, path, err)
	}
	return c.send(ctx, method, path, "application/json", bytes.NewReader(b))
}

// send is open for a request whose body, if any, is at hand.
func (c *Client) send(ctx context.Context, method, path, contentType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://corral"+path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request %s %s: %w", method, path, err)
	}
	req.Header = c.header()
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.transportError(ctx, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, answeredError(resp)
}

func (c *Client) header() http.Header {
	h := http.Header{}
	h.Set(sessions.VersionHeader, sessions.APIVersion)
	if c.cfg.ClientName != "" {
		h.Set("User-Agent", sessions.CleanLine(c.cfg.ClientName, 100))
	}
	return h
}

// answeredError reads the error that an answer carries.
func answeredError(resp *http.Response) error {
	var body sessions.ErrorBody
	err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&body)
	if err == nil && body.Error != nil && body.Error.Code != "" {
		return body.Error
	}
	return &sessions.Error{
		Code:    sessions.CodeInternal,
		Message: fmt.Sprintf("the server answered %s without saying why", resp.Status),
		Hint:    "client and server may be of different versions; see corral version",
	}
}

// transportError explains why no answer came.
func (c *Client) transportError(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &sessions.Error{
			Code: sessions.CodeDeadline, Message: "the server did not answer in time", Hint: "try again, or see corral status", Cause: err,
		}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case notListening(err):
		return &sessions.Error{
			Code: sessions.CodeUnreachable, Message: "no server answers on " + c.address(), Hint: "start it with corral up", Cause: err,
		}
	}
	return &sessions.Error{
		Code: sessions.CodeUnreachable, Message: "the server went away before it answered",
		Hint: "see corral ls for what was done", Cause: err,
	}
}

func (c *Client) address() string {
	if c.cfg.Dial != nil || c.cfg.Socket == "" {
		return "its address"
	}
	return c.cfg.Socket
}

// notListening reports that nobody was there to be asked, so that the request cannot have had any effect.
func notListening(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}

// ensureServer starts the server if that is allowed; many streams that find it gone at once start it once.
func (c *Client) ensureServer(ctx context.Context) error {
	if c.cfg.EnsureServer == nil {
		return nil
	}
	_, err, _ := c.ensure.Do("", func() (any, error) { return nil, c.cfg.EnsureServer(ctx) })
	return err
}
