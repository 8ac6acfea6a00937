package rttest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// stream is one viewer's stream: it echoes what is typed.
type stream struct {
	id   string
	ctx  context.Context
	cut  context.CancelFunc
	conn *websocket.Conn
	once sync.Once
	dead chan rtapi.Terminal

	draining chan struct{} // a token for every draining frame
}

func (s *stream) exit(t rtapi.Terminal) { s.once.Do(func() { s.dead <- t }) }

// Print sends output to every viewer of a terminal.
func (r *Runtime) Print(id string, output []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.streams {
		if s.id == id {
			_ = s.conn.Write(s.ctx, websocket.MessageBinary, output)
		}
	}
}

// PrintTo sends output to every viewer of a terminal as the viewer takes it, and meanwhile holds nobody else up.
func (r *Runtime) PrintTo(id string, output []byte) {
	for _, s := range r.of(id) {
		_ = s.conn.Write(s.ctx, websocket.MessageBinary, output)
	}
}

// AwaitDraining waits until the server has said so often that the terminal's viewer reads.
func (r *Runtime) AwaitDraining(ctx context.Context, id string, times int) {
	for _, s := range r.of(id) {
		for range times {
			select {
			case <-s.draining:
			case <-s.ctx.Done():
			case <-ctx.Done():
			}
		}
	}
}

func (r *Runtime) of(id string) []*stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*stream
	for s := range r.streams {
		if s.id == id {
			list = append(list, s)
		}
	}
	return list
}

// CloseStreams closes every viewer stream with a code.
func (r *Runtime) CloseStreams(code sessions.CloseCode) {
	r.mu.Lock()
	open := make([]*stream, 0, len(r.streams))
	for s := range r.streams {
		open = append(open, s)
	}
	r.mu.Unlock()
	for _, s := range open {
		_ = s.conn.Close(websocket.StatusCode(code), "as the test wants")
	}
}

// DialStream implements the runtime's API: over a pipe, but with real WebSockets at both ends. A terminal that does not
// exist shows in the close code.
func (r *Runtime) DialStream(ctx context.Context, id, rawQuery string) (*websocket.Conn, error) {
	r.mu.Lock()
	away := r.away
	r.mu.Unlock()
	if away {
		return nil, ErrAway
	}
	ours, theirs := net.Pipe()
	srv := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.serveStream(w, req, id)
	})}
	go func() { _ = srv.Serve(&oneConn{conn: theirs}) }()
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return ours, nil },
	}}
	conn, resp, err := websocket.Dial(ctx, "ws://runtime/v1/terminals/"+id+"/stream?"+rawQuery, &websocket.DialOptions{HTTPClient: client})
	if err != nil && resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	return conn, err
}

// serveStream speaks the protocol of design section 6 in its order.
func (r *Runtime) serveStream(w http.ResponseWriter, req *http.Request, id string) {
	conn, err := websocket.Accept(w, req, nil)
	if err != nil {
		return
	}
	conn.SetReadLimit(sessions.MaxUp)
	ctx, cut := context.WithCancel(context.Background())
	s := &stream{id: id, ctx: ctx, cut: cut, conn: conn, dead: make(chan rtapi.Terminal, 1), draining: make(chan struct{}, 1000)}
	defer cut()
	defer conn.CloseNow() //nolint:errcheck // the end of it
	r.mu.Lock()
	var t rtapi.Terminal
	found, ok := r.terms[id]
	if ok {
		t = found.Terminal
	}
	r.streams[s] = struct{}{}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.streams, s)
		r.mu.Unlock()
	}()
	if !ok {
		_ = conn.Close(websocket.StatusCode(sessions.CloseNotFound), "no such terminal")
		return
	}
	s.frame(sessions.Frame{Type: sessions.FrameAttached, Cols: t.Cols, Rows: t.Rows})
	s.frame(sessions.Frame{Type: sessions.FrameReplay, Lines: 1, Bytes: 5})
	_ = conn.Write(ctx, websocket.MessageBinary, []byte("old\r\n"))
	s.frame(sessions.Frame{Type: sessions.FrameRestore, ScreenText: "$ " + req.URL.RawQuery})
	s.frame(sessions.Frame{Type: sessions.FrameLive})
	if t.Dead {
		s.exit(t)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read()
	}()
	select {
	case t := <-s.dead:
		b, _ := json.Marshal(rtapi.ExitedFrame{Type: rtapi.FrameExited, ExitCode: t.ExitCode, Signal: t.Signal})
		_ = conn.Write(ctx, websocket.MessageText, b)
		_ = conn.Close(websocket.StatusNormalClosure, "")
	case <-read:
	case <-ctx.Done():
	}
	cut()
	<-read
}

// read answers pings and echoes binary messages; other frames come back as clipboard frames, for tests to see.
func (s *stream) read() {
	for {
		typ, b, err := s.conn.Read(s.ctx)
		if err != nil {
			return
		}
		if typ == websocket.MessageBinary {
			_ = s.conn.Write(s.ctx, typ, b)
			continue
		}
		f, err := sessions.ParseFrame(b)
		if err != nil {
			continue
		}
		if f.Type == rtapi.FrameDraining {
			s.draining <- struct{}{}
			continue
		}
		if f.Type == sessions.FramePing {
			s.frame(sessions.Frame{Type: sessions.FramePong, Nonce: f.Nonce})
			continue
		}
		s.frame(sessions.Frame{Type: sessions.FrameClipboard, Data: string(b)})
	}
}

func (s *stream) frame(f sessions.Frame) {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	_ = s.conn.Write(s.ctx, websocket.MessageText, b)
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn net.Conn
}

// Accept returns the connection once.
func (l *oneConn) Accept() (net.Conn, error) {
	conn := l.conn
	l.conn = nil
	if conn == nil {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close does nothing: the connection is its user's.
func (l *oneConn) Close() error { return nil }

// Addr is nowhere.
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
