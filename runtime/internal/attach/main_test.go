package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"corral/internal/ws"
	"corral/runtime/internal/tmux"
	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/vt"
)

// patience is how long a test waits for what must happen; only a failing test waits that long.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a Hub over a private tmux server, served on a unix socket.
type bed struct {
	*Hub
	tmux   *tmux.Server
	dir    string
	client *http.Client

	mu     sync.Mutex
	counts map[string][2]int
}

type bedOption func(*tmux.Config, *Hub)

func withHistory(limit int) bedOption { return func(c *tmux.Config, _ *Hub) { c.HistoryLimit = limit } }

func newBed(t testing.TB, options ...bedOption) *bed {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cra")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg := tmux.Config{
		Socket:       filepath.Join(dir, "run", "t.sock"),
		ConfPath:     filepath.Join(dir, "tmux.conf"),
		StatePath:    filepath.Join(dir, "tmux.json"),
		HistoryLimit: 22300,
		Env:          []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "LANG=C.UTF-8"},
		Log:          slog.New(slog.DiscardHandler),
	}
	b := &bed{dir: dir, counts: make(map[string][2]int)}
	b.Hub = New(Config{Counts: b.count, Dir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))})
	for _, o := range options {
		o(&cfg, b.Hub)
	}
	if b.tmux, err = tmux.New(t.Context(), cfg); err != nil {
		t.Fatal(err) // names the Debian package when tmux is missing
	}
	b.Hub.cfg.Tmux = b.tmux
	b.serve(t)
	return b
}

// serve runs the tmux server's keeper and the HTTP server until the test ends, in which order they end then.
func (b *bed) serve(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.tmux.Serve(ctx); err != nil {
			t.Errorf("serve tmux: %v", err)
		}
	})
	socket := filepath.Join(b.dir, "h.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := ws.Accept(w, r)
		if err != nil {
			return
		}
		if err := b.Serve(ctx, conn, strings.TrimPrefix(r.URL.Path, "/"), r.URL.Query()); err != nil {
			t.Logf("stream: %v", err)
		}
	})}
	wg.Go(func() { _ = srv.Serve(l) })
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	b.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		short, done := context.WithTimeout(context.Background(), 15*time.Second)
		defer done()
		if err := b.Shutdown(short); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		transport.CloseIdleConnections()
		_ = srv.Close()
		server := b.tmux.Status().Server.PID
		cancel()
		wg.Wait()
		if server > 1 {
			_ = syscall.Kill(server, syscall.SIGKILL)
		}
	})
}

func (b *bed) count(id string, attached, watching int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[id] = [2]int{attached, watching}
}

func (b *bed) counted(id string) [2]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts[id]
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("the test's patience ended"))
	t.Cleanup(cancel)
	return ctx
}

// must runs commands and returns the lines of their replies.
func (b *bed) must(t testing.TB, list ...tmux.Command) []string {
	t.Helper()
	replies, err := b.tmux.Run(deadline(t), list...)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range replies {
		lines = append(lines, r.Lines...)
	}
	return lines
}

// start makes a terminal that runs script, with a size of its own.
func (b *bed) start(t testing.TB, id string, cols, rows int, script string) {
	t.Helper()
	x, y := strconv.Itoa(cols), strconv.Itoa(rows)
	b.must(t,
		tmux.Command{"new-session", "-d", "-s", "cr-" + id, "-x", x, "-y", y, "--", "sh", "-c", script},
		tmux.Command{"resize-window", "-t", "=cr-" + id + ":", "-x", x, "-y", y})
}

// ask returns one format of a terminal.
func (b *bed) ask(t testing.TB, id, format string) string {
	t.Helper()
	return strings.Join(b.must(t, tmux.Command{"display-message", "-p", "-t", "=cr-" + id + ":", format}), "\n")
}

// capture is the screen as tmux has it, without trailing blank lines.
func (b *bed) capture(t testing.TB, id string) string {
	t.Helper()
	return strings.TrimRight(strings.Join(b.must(t, tmux.Command{"capture-pane", "-p", "-t", "=cr-" + id + ":"}), "\n"), "\n")
}

// until waits until cond holds; it is for what tells nobody that it has happened.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); !cond(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: did not happen", what)
		}
	}
}

// viewing is the client's side of a stream, as a dashboard would use it.
type viewing struct {
	t    testing.TB
	conn *websocket.Conn

	mu      sync.Mutex // guards what follows
	events  []string   // frames by type, and "bytes" for runs of binary messages
	frames  []sessions.Frame
	exit    *rtapi.ExitedFrame
	replay  []byte
	raw     []byte // live bytes, and the picture of a raw stream
	screen  *vt.Screen
	size    sessions.Frame
	longest int
	code    websocket.StatusCode // once ended
	ended   bool
	stage   sessions.FrameType
	paused  chan struct{} // reading waits while it is not nil and open
}

// view opens a stream. The query is given as pairs.
func (b *bed) view(t testing.TB, id string, query ...string) *viewing {
	t.Helper()
	q := url.Values{}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	conn, _, err := websocket.Dial(deadline(t), "ws://runtime/"+id+"?"+q.Encode(), &websocket.DialOptions{HTTPClient: b.client})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(4 << 20)
	v := &viewing{t: t, conn: conn}
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.read()
	}()
	t.Cleanup(func() {
		v.resume()
		_ = conn.CloseNow()
		<-done
	})
	return v
}

func (v *viewing) read() {
	for {
		v.mu.Lock()
		paused := v.paused
		v.mu.Unlock()
		if paused != nil {
			<-paused
		}
		kind, data, err := v.conn.Read(context.Background())
		v.mu.Lock()
		switch {
		case err != nil:
			v.ended, v.code = true, websocket.CloseStatus(err)
		case kind == websocket.MessageBinary:
			v.bytesLocked(data)
		default:
			v.frameLocked(data)
		}
		v.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (v *viewing) bytesLocked(p []byte) {
	v.longest = max(v.longest, len(p))
	if n := len(v.events); n == 0 || v.events[n-1] != "bytes" {
		v.events = append(v.events, "bytes")
	}
	if v.stage == sessions.FrameReplay {
		v.replay = append(v.replay, p...)
		return
	}
	v.raw = append(v.raw, p...)
	if v.screen != nil {
		_, _ = v.screen.Write(p)
	}
}

func (v *viewing) frameLocked(data []byte) {
	f, err := sessions.ParseFrame(data)
	if err != nil {
		v.t.Errorf("frame %q: %v", data, err)
	}
	v.events = append(v.events, string(f.Type))
	v.frames = append(v.frames, f)
	switch f.Type {
	case sessions.FrameAttached, sessions.FrameSize:
		v.size = f
		if v.screen != nil {
			v.screen.Resize(f.Cols, f.Rows)
		}
	case sessions.FrameReplay:
		v.stage, v.replay = f.Type, nil
	case sessions.FrameRestore:
		v.stage = f.Type
		v.screen = vt.New(v.size.Cols, v.size.Rows)
		_, _ = v.screen.Write([]byte(f.ScreenText))
	case sessions.FrameLive:
		v.stage = f.Type
	case rtapi.FrameExited:
		v.exit = new(rtapi.ExitedFrame)
		_ = json.Unmarshal(data, v.exit)
	}
}

// wait waits until cond holds of what was received.
func (v *viewing) wait(what string, cond func() bool) {
	v.t.Helper()
	until(v.t, what, func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return cond()
	})
}

// live waits for the n-th live frame.
func (v *viewing) live(n int) {
	v.t.Helper()
	v.wait(fmt.Sprintf("live %d", n), func() bool { return v.countLocked(sessions.FrameLive) >= n })
}

func (v *viewing) countLocked(typ sessions.FrameType) int {
	n := 0
	for _, f := range v.frames {
		if f.Type == typ {
			n++
		}
	}
	return n
}

// last returns the last frame of a type, or an empty one.
func (v *viewing) last(typ sessions.FrameType) sessions.Frame {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := len(v.frames) - 1; i >= 0; i-- {
		if v.frames[i].Type == typ {
			return v.frames[i]
		}
	}
	return sessions.Frame{}
}

// text is the screen as the viewer sees it, without trailing blanks.
func (v *viewing) text() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.textLocked()
}

func (v *viewing) textLocked() string {
	if v.screen == nil {
		return ""
	}
	return strings.TrimRight(strings.Join(frameRows(v.screen.Frame()), "\n"), "\n")
}

// shows waits until the screen contains s.
func (v *viewing) shows(s string) {
	v.t.Helper()
	ok := false
	defer func() {
		if !ok {
			v.t.Logf("screen:\n%s\nevents: %v", v.text(), v.events)
		}
	}()
	v.wait(fmt.Sprintf("%q on the screen", s), func() bool { return strings.Contains(v.textLocked(), s) })
	ok = true
}

func (v *viewing) send(f sessions.Frame) {
	v.t.Helper()
	text, err := json.Marshal(f)
	if err == nil {
		err = v.conn.Write(deadline(v.t), websocket.MessageText, text)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v *viewing) typeKeys(p string) {
	v.t.Helper()
	if err := v.conn.Write(deadline(v.t), websocket.MessageBinary, []byte(p)); err != nil {
		v.t.Fatal(err)
	}
}

func (v *viewing) pause() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.paused = make(chan struct{})
}

func (v *viewing) resume() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.paused != nil {
		close(v.paused)
		v.paused = nil
	}
}

// closed waits for the end of the stream and returns its code.
func (v *viewing) closed() sessions.CloseCode {
	v.t.Helper()
	v.wait("the end of the stream", func() bool { return v.ended })
	v.mu.Lock()
	defer v.mu.Unlock()
	return sessions.CloseCode(v.code)
}
