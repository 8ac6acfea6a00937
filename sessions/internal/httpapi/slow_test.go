package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"corral/e2e/rounds"
	"corral/sessions"
	"corral/sessions/internal/servicetest"
)

// slowConn reads a little at a time: at most 1 KiB every pace, which can be changed; 0 is at once, less is not at all.
type slowConn struct {
	net.Conn
	pace *atomic.Int64
}

func (c slowConn) Read(p []byte) (int, error) {
	d := time.Duration(c.pace.Load())
	for ; d < 0; d = time.Duration(c.pace.Load()) {
		<-time.After(10 * time.Millisecond)
	}
	if d > 0 {
		<-time.After(d)
		p = p[:min(len(p), 1<<10)]
	}
	return c.Conn.Read(p)
}

// slowly opens a stream whose reader keeps to pace, and reads it. The returned function waits for its end.
func (r *rig) slowly(id sessions.ID, pace *atomic.Int64) (end func() sessions.CloseCode) {
	r.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", r.socket)
		return slowConn{conn, pace}, err
	}}
	r.t.Cleanup(transport.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(context.Background(), 10*servicetest.Patience)
	conn, _, err := websocket.Dial(ctx, "ws://corral/v1/sessions/"+string(id)+"/stream?mode=pane", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{sessions.VersionHeader: {sessions.APIVersion}},
	})
	if err != nil {
		cancel()
		r.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	code := make(chan sessions.CloseCode, 1)
	go func() {
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				code <- sessions.CloseCode(websocket.CloseStatus(err))
				return
			}
		}
	}()
	r.t.Cleanup(func() {
		pace.Store(0)
		_ = conn.CloseNow()
		cancel()
	})
	return func() sessions.CloseCode {
		r.t.Helper()
		select {
		case c := <-code:
			return c
		case <-time.After(servicetest.Patience):
			r.t.Fatal("the stream does not end")
			return 0
		}
	}
}

// A viewer that reads nothing gets 4429 when it reads again; one that reads slowly stays, and the runtime hears of it.
func TestStalledAndSlowViewers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stopAPI()
	r.stall = time.Duration(rounds.N(1, 1, 30)) * time.Second
	r.startAPI()
	stalledSession, slowSession := r.Shell(t).ID, r.Shell(t).ID
	var stalled, slow atomic.Int64
	stalledEnd := r.slowly(stalledSession, &stalled)
	slowEnd := r.slowly(slowSession, &slow)
	stalled.Store(-1)
	slow.Store(int64(r.stall / 30))
	// More than the sockets hold; at the slow one's pace it takes many times the limit.
	flood := make([]byte, 64<<10)
	for _, id := range []sessions.ID{stalledSession, slowSession} {
		go func() {
			for range 16 {
				r.Runtime.PrintTo(string(id), flood)
			}
		}()
	}
	r.Runtime.AwaitDraining(t.Context(), string(slowSession), rounds.N(3, 3, 10))
	select {
	case <-time.After(2 * r.stall):
	case <-t.Context().Done():
	}
	stalled.Store(0)
	if code := stalledEnd(); code != sessions.CloseNotDraining {
		t.Errorf("the stalled viewer was closed with %d", code)
	}
	slow.Store(0)
	r.Runtime.Exit(string(slowSession), 0)
	if code := slowEnd(); code != sessions.CloseEnded {
		t.Errorf("the slow viewer was closed with %d", code)
	}
}
