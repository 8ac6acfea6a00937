package httpapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/sessions"
	"corral/sessions/internal/httpapi"
	"corral/sessions/internal/servicetest"
	"corral/sessions/sessionclient"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

// rig is a whole server on a unix socket, whose API can be stopped and started.
type rig struct {
	*servicetest.Server
	t      *testing.T
	socket string
	client *sessionclient.Client
	orders chan sessions.ShutdownRequest
	stall  time.Duration // when not 0, how long a viewer may read nothing

	stopAPI func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "api-") // short: a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rig{
		Server: servicetest.NewWorld(t).Start(t, servicetest.Options{}),
		t:      t, socket: filepath.Join(dir, "s"), orders: make(chan sessions.ShutdownRequest, 1),
	}
	r.client = sessionclient.New(sessionclient.Config{Socket: r.socket, ClientName: "test"})
	t.Cleanup(r.client.CloseIdleConnections)
	r.startAPI()
	t.Cleanup(func() { r.stopAPI() })
	return r
}

// startAPI begins to serve; stopAPI stops as the server role does.
func (r *rig) startAPI() {
	r.t.Helper()
	l, err := net.Listen("unix", r.socket)
	if err != nil {
		r.t.Fatal(err)
	}
	life, stop := context.WithCancel(context.Background())
	api := httpapi.New(life, httpapi.Config{
		Service: r.Service, Board: r.Board, DialStream: r.Runtime.DialStream, Home: "/root", ReplayLines: 2000,
		Shutdown: func(o sessions.ShutdownRequest) { r.orders <- o },
		Log:      slog.New(slog.DiscardHandler),
	})
	if r.stall != 0 {
		api.SetStallTimeout(r.stall)
	}
	srv := &http.Server{Handler: api, ReadHeaderTimeout: time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l)
	}()
	var once sync.Once
	r.stopAPI = func() {
		once.Do(func() {
			stop()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if srv.Shutdown(ctx) != nil {
				_ = srv.Close() // a connection that was opened ahead
			}
			<-served
			api.Wait()
		})
	}
}

// viewer records what a stream brings, in order.
type viewer struct {
	t      *testing.T
	stream *sessionclient.Stream

	mu     sync.Mutex
	frames []sessions.Frame // all guarded by mu
	bytes  []byte
	links  []sessions.Link
	order  []string
	news   chan struct{} // closed and renewed with everything that comes
}

func (r *rig) attach(id sessions.ID, o sessions.StreamOptions) *viewer {
	v := &viewer{t: r.t, news: make(chan struct{})}
	v.stream = r.client.Attach(id, o, v)
	r.t.Cleanup(v.stream.Close)
	return v
}

func (v *viewer) note(what string, f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f()
	if len(v.order) == 0 || v.order[len(v.order)-1] != what {
		v.order = append(v.order, what)
	}
	close(v.news)
	v.news = make(chan struct{})
}

func (v *viewer) StreamFrame(f sessions.Frame) {
	v.note(string(f.Type), func() { v.frames = append(v.frames, f) })
}

func (v *viewer) StreamBytes(b []byte) { v.note("bytes", func() { v.bytes = append(v.bytes, b...) }) }

func (v *viewer) StreamLink(l sessions.Link) {
	v.note("link "+string(l.State), func() { v.links = append(v.links, l) })
}

// wait returns when cond, which is called under the lock, is true.
func (v *viewer) wait(what string, cond func() bool) {
	v.t.Helper()
	deadline := time.After(servicetest.Patience)
	for {
		v.mu.Lock()
		ok, news := cond(), v.news
		v.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-news:
		case <-deadline:
			v.mu.Lock()
			defer v.mu.Unlock()
			v.t.Fatalf("no %s; came: %q, links %+v, bytes %.200q", what, v.order, v.links, v.bytes)
		}
	}
}

func (v *viewer) waitLive(times int) {
	v.t.Helper()
	v.wait("live link", func() bool {
		n := 0
		for _, l := range v.links {
			if l.State == sessions.LinkLive {
				n++
			}
		}
		return n >= times
	})
}

func (v *viewer) waitFrame(match func(sessions.Frame) bool) {
	v.t.Helper()
	v.wait("such frame", func() bool { return slices.ContainsFunc(v.frames, match) })
}

func (v *viewer) waitEnded() sessions.Link {
	v.t.Helper()
	var link sessions.Link
	v.wait("end", func() bool {
		if len(v.links) > 0 {
			link = v.links[len(v.links)-1]
		}
		return link.State == sessions.LinkEnded
	})
	return link
}

func (v *viewer) waitBytes(want []byte) {
	v.t.Helper()
	v.wait("such bytes", func() bool { return bytes.Contains(v.bytes, want) })
}
