package sessionclient

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"corral/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 20 * time.Second
	id       = sessions.ID("0b7c7bb3-7a4f-4e52-9f0a-0a6f6d1c2e31")
)

// serve answers on a unix socket with h until the test ends or stop is called.
func serve(t *testing.T, socket string, h http.Handler) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	stop = func() {
		_ = srv.Close()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cl-") // short: a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c := New(cfg)
	c.timing = timing{
		retryMin: 5 * time.Millisecond, retryMax: 20 * time.Millisecond,
		pingEvery: 20 * time.Millisecond, probe: 30 * time.Millisecond, watchSilence: 100 * time.Millisecond,
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// links is a stream handler that keeps the links.
type links struct {
	c     chan sessions.Link
	block chan struct{} // when set, bytes wait for it
}

func newLinks() *links { return &links{c: make(chan sessions.Link, 1000)} }

func (*links) StreamFrame(sessions.Frame)   {}
func (l *links) StreamLink(k sessions.Link) { l.c <- k }
func (l *links) StreamBytes([]byte) {
	if l.block != nil {
		<-l.block
	}
}

func (l *links) await(t *testing.T, ok func(sessions.Link) bool) sessions.Link {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case k := <-l.c:
			if ok(k) {
				return k
			}
		case <-deadline:
			t.Fatal("no such link")
		}
	}
}

func is(state sessions.LinkState) func(sessions.Link) bool {
	return func(k sessions.Link) bool { return k.State == state }
}

// streams serves streams: live at once, then each is given to talk.
func streams(talk func(ctx context.Context, c *websocket.Conn)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow() //nolint:errcheck // the end of it
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		b, _ := json.Marshal(sessions.Frame{Type: sessions.FrameLive})
		if c.Write(ctx, websocket.MessageText, b) == nil {
			talk(ctx, c)
		}
	})
}

// pong answers pings until the connection ends.
func pong(ctx context.Context, c *websocket.Conn) {
	for {
		_, b, err := c.Read(ctx)
		if err != nil {
			return
		}
		if f, err := sessions.ParseFrame(b); err == nil && f.Type == sessions.FramePing {
			b, _ := json.Marshal(sessions.Frame{Type: sessions.FramePong})
			_ = c.Write(ctx, websocket.MessageText, b)
		}
	}
}

// mute reads and never answers.
func mute(ctx context.Context, c *websocket.Conn) {
	for {
		if _, _, err := c.Read(ctx); err != nil {
			return
		}
	}
}

func TestSilentConnectionIsDead(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	serve(t, socket, streams(mute))
	c := newClient(t, Config{Socket: socket})
	l := newLinks()
	s := c.Attach(id, sessions.StreamOptions{}, l)
	defer s.Close()
	l.await(t, is(sessions.LinkLive))
	if k := l.await(t, is(sessions.LinkReconnecting)); !errors.Is(k.Err, errDead) {
		t.Errorf("given up because of %v", k.Err)
	}
	l.await(t, is(sessions.LinkLive))
}

func TestAnsweringConnectionStays(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	serve(t, socket, streams(pong))
	c := newClient(t, Config{Socket: socket})
	l := newLinks()
	s := c.Attach(id, sessions.StreamOptions{}, l)
	defer s.Close()
	l.await(t, is(sessions.LinkLive))
	select {
	case k := <-l.c:
		t.Errorf("the link became %+v", k)
	case <-time.After(20 * c.timing.pingEvery):
	}
}

// A handler that takes its time is no reason to give up the connection.
func TestSlowHandlerIsNotDeath(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	serve(t, socket, streams(func(ctx context.Context, c *websocket.Conn) {
		_ = c.Write(ctx, websocket.MessageBinary, []byte("x"))
		pong(ctx, c)
	}))
	c := newClient(t, Config{Socket: socket})
	l := newLinks()
	l.block = make(chan struct{})
	s := c.Attach(id, sessions.StreamOptions{}, l)
	defer s.Close()
	l.await(t, is(sessions.LinkLive))
	time.AfterFunc(20*c.timing.pingEvery, func() { close(l.block) })
	select {
	case k := <-l.c:
		t.Errorf("the link became %+v", k)
	case <-time.After(40 * c.timing.pingEvery):
	}
}

// After a suspend one ping decides at once.
func TestWakeProbesTheConnection(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	serve(t, socket, streams(mute))
	c := newClient(t, Config{Socket: socket})
	c.timing.pingEvery = time.Hour
	l := newLinks()
	s := c.Attach(id, sessions.StreamOptions{}, l)
	defer s.Close()
	l.await(t, is(sessions.LinkLive))
	s.Wake()
	if k := l.await(t, is(sessions.LinkReconnecting)); !errors.Is(k.Err, errDead) {
		t.Errorf("given up because of %v", k.Err)
	}
}

func TestWakeEndsThePause(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	c := newClient(t, Config{Socket: socket})
	c.timing.retryMin, c.timing.retryMax = time.Hour, time.Hour
	l := newLinks()
	s := c.Attach(id, sessions.StreamOptions{}, l)
	defer s.Close()
	k := l.await(t, is(sessions.LinkReconnecting))
	if k.Attempt != 1 || time.Until(k.RetryAt) < 29*time.Minute || sessions.CodeOf(k.Err) != sessions.CodeUnreachable {
		t.Errorf("link %+v", k)
	}
	serve(t, socket, streams(pong))
	s.Wake()
	l.await(t, is(sessions.LinkLive))
}

func TestRefusedStreamsEnd(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	serve(t, socket, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(sessions.ErrorBody{Error: &sessions.Error{Code: sessions.CodeInvalid, Message: "another version"}})
	}))
	c := newClient(t, Config{Socket: socket})
	l := newLinks()
	s := c.Attach(id, sessions.StreamOptions{}, l)
	defer s.Close()
	if k := l.await(t, is(sessions.LinkEnded)); k.Code != 0 || !errors.Is(k.Err, sessions.ErrInvalid) {
		t.Errorf("ended with %+v", k)
	}
}

// Many streams and a watch that find no server start it once.
func TestEnsureServerOnce(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	var starts atomic.Int32
	c := newClient(t, Config{Socket: socket, EnsureServer: func(context.Context) error {
		if starts.Add(1) > 1 {
			return errors.New("started twice")
		}
		time.Sleep(50 * time.Millisecond) // for the others to come
		serve(t, socket, streams(pong))
		return nil
	}})
	var all []*links
	for range 5 {
		l := newLinks()
		s := c.Attach(id, sessions.StreamOptions{}, l)
		defer s.Close()
		all = append(all, l)
	}
	for _, l := range all {
		l.await(t, is(sessions.LinkLive))
	}
	if n := starts.Load(); n != 1 {
		t.Errorf("started %d times", n)
	}
}

func TestCloseIsPrompt(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	hang := make(chan struct{})
	serve(t, socket, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer close(hang)
	c := newClient(t, Config{Socket: socket})
	s := c.Attach(id, sessions.StreamOptions{}, newLinks())
	begun := time.Now()
	s.Close()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("closing took %s", took)
	}
}

func TestSilentWatchIsDead(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	serve(t, socket, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(sessions.Change{Type: sessions.ChangeSnapshot})
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	c := newClient(t, Config{Socket: socket})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	snapshots := 0
	var why error
	c.Watch(ctx, func(sessions.Change) {
		if snapshots++; snapshots == 2 {
			cancel()
		}
	}, func(k sessions.Link) {
		if k.State == sessions.LinkReconnecting {
			why = k.Err
		}
	})
	if snapshots != 2 || !errors.Is(why, errSilent) {
		t.Errorf("%d snapshots, cut because of %v", snapshots, why)
	}
}

func TestPauses(t *testing.T) {
	t.Parallel()
	real := New(Config{}).timing
	for attempt, limits := range [][2]time.Duration{
		{500, 1000}, {1000, 2000}, {2000, 4000}, {4000, 8000}, {5000, 10000}, {5000, 10000},
	} {
		for range 100 {
			got := real.pause(attempt + 1)
			if got < limits[0]*time.Millisecond || got > limits[1]*time.Millisecond {
				t.Fatalf("attempt %d waits %s", attempt+1, got)
			}
		}
	}
	if got := real.pause(1000); got > 10*time.Second {
		t.Errorf("attempt 1000 waits %s", got)
	}
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	q := queue{ready: make(chan struct{}, 1)}
	if q.input([]byte("x")) {
		t.Error("taken before it was live")
	}
	q.connect([2]int{})
	if q.input([]byte("x")) {
		t.Error("taken before it was live")
	}
	if n := q.goLive(); n != 2 {
		t.Errorf("%d dropped", n)
	}
	chunk := make([]byte, 1<<10)
	taken := 0
	for q.input(chunk) {
		taken++
	}
	if taken != maxQueued>>10 {
		t.Errorf("%d KiB taken", taken)
	}
	if !q.paste(make([]byte, sessions.MaxPaste)) || q.paste([]byte("x")) {
		t.Error("one largest paste fits, and no more")
	}
	for range 10000 {
		q.own(true)
		q.resize(len(q.items), 1)
	}
	if len(q.items) > maxItems {
		t.Errorf("%d items", len(q.items))
	}
	q.disconnect()
	if n := q.droppedCount(); n != (taken+1)*len(chunk)+2 {
		t.Errorf("%d keys dropped, of %d chunks and 2 pastes", n, taken+1)
	}
	// A new connection is told of size and ownership.
	q.connect([2]int{1, 1})
	if len(q.items) != 2 || q.items[0].frame.Type != sessions.FrameResize || q.items[1].frame.Type != sessions.FrameOwn {
		t.Errorf("queued %+v", q.items)
	}
}

// What is sent from many goroutines comes whole, and each one's in order.
func TestConcurrentSenders(t *testing.T) {
	t.Parallel()
	socket := socketPath(t)
	const senders, each = 8, 300
	got := make(chan [2]byte, senders*each*2)
	serve(t, socket, streams(func(ctx context.Context, c *websocket.Conn) {
		for {
			typ, b, err := c.Read(ctx)
			if err != nil {
				return
			}
			if typ == websocket.MessageBinary {
				for ; len(b) >= 2; b = b[2:] {
					got <- [2]byte{b[0], b[1]}
				}
			}
		}
	}))
	c := newClient(t, Config{Socket: socket})
	c.timing.pingEvery = time.Hour
	l := newLinks()
	s := c.Attach(id, sessions.StreamOptions{}, l)
	defer s.Close()
	l.await(t, is(sessions.LinkLive))
	var wait sync.WaitGroup
	for n := range senders {
		wait.Go(func() {
			for i := range each {
				if !s.Send([]byte{byte(n), byte(i)}) {
					t.Error("dropped")
				}
			}
		})
	}
	wait.Wait()
	next := [senders]byte{}
	for range senders * each {
		select {
		case m := <-got:
			if m[1] != next[m[0]] {
				t.Fatalf("sender %d: %d came instead of %d", m[0], m[1], next[m[0]])
			}
			next[m[0]]++
		case <-time.After(patience):
			t.Fatal("not everything came")
		}
	}
}
