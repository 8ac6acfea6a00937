package attach

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"corral/e2e/rounds"
	"corral/sessions"
)

// slowConn reads a little at a time: at most 1 KiB every pace, which can be changed; 0 is at once.
type slowConn struct {
	net.Conn
	pace *atomic.Int64
}

func (c slowConn) Read(p []byte) (int, error) {
	if d := time.Duration(c.pace.Load()); d > 0 {
		<-time.After(d)
		p = p[:min(len(p), 1<<10)]
	}
	return c.Conn.Read(p)
}

// A viewer that reads a kilobyte now and then is behind, and stays.
func TestSlowButDrainingViewerStays(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	// At full, the real limit and 1 KiB a second; else both thirty times faster.
	b.stallLimit = time.Duration(rounds.N(1, 1, 30)) * time.Second
	if rounds.Now() != rounds.Full {
		b.maxQueued = 100 << 10 // a busy machine's program takes long to fill more
	}
	var pace atomic.Int64
	dial := b.client.Transport.(*http.Transport).DialContext
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return slowConn{conn, &pace}, err
	}}
	defer transport.CloseIdleConnections()
	slow := &bed{client: &http.Client{Transport: transport}}
	// Wide lines: when its client is slow, tmux draws the screen anew ten times a second instead of sending every line.
	b.start(t, "a", 200, 50, `exec awk 'BEGIN { wide = sprintf("%190s", ""); gsub(/ /, "x", wide); for (i = 0; ; i++) print wide i % 10 }'`)
	v := slow.view(t, "a", "mode", "pane")
	v.live(1)
	pace.Store(int64(b.stallLimit / 30))
	until(t, "behind", func() bool { return b.only(t).queue.lagging() })
	select { // blocked all the time: the socket takes something only when three quarters of it have been read
	case <-time.After(3 * b.stallLimit):
	case <-t.Context().Done():
	}
	if got := b.counted("a"); got[0]+got[1] != 1 {
		t.Errorf("given up: counted %v", got)
	}
	pace.Store(0)
	v.live(2)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended || v.countLocked(sessions.FrameBehind) == 0 {
		t.Errorf("ended %v with %d, behind %d times", v.ended, v.code, v.countLocked(sessions.FrameBehind))
	}
}

// A server that waits for its own viewer reads nothing from us meanwhile, and says that its viewer does.
func TestDrainingFramesKeepAViewer(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.stallLimit = 500 * time.Millisecond
	b.start(t, "a", 200, 50, printer(0))
	conn, _, err := websocket.Dial(deadline(t), "ws://runtime/a?"+url.Values{"mode": {"pane"}}.Encode(), &websocket.DialOptions{HTTPClient: b.client})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow() //nolint:errcheck // the end of it
	until(t, "there", func() bool { return b.counted("a") == [2]int{0, 1} })
	tick := time.NewTicker(b.stallLimit / 4)
	defer tick.Stop()
	for range 16 {
		<-tick.C
		if err := conn.Write(deadline(t), websocket.MessageText, []byte(`{"type":"draining"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.counted("a"); got != [2]int{0, 1} {
		t.Errorf("counted %v", got)
	}
	until(t, "given up", func() bool { return b.counted("a") == [2]int{} })
}
