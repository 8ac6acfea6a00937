package ws

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// pair returns the two sides of a WebSocket over a unix socket.
func pair(t *testing.T) (server *Conn, client *websocket.Conn) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan *Conn, 1)
	srv := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := Accept(w, r)
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- c
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l)
	}()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	client, _, err = websocket.Dial(deadline(t), "ws://x/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	server = <-accepted
	t.Cleanup(func() {
		_ = server.CloseNow()
		_ = client.CloseNow()
		_ = srv.Close()
		<-served
		transport.CloseIdleConnections()
	})
	return server, client
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// A reader that is far behind is seen to read, long before its socket takes anything again.
func TestUnreadMovesWithAReader(t *testing.T) {
	t.Parallel()
	server, client := pair(t)
	client.SetReadLimit(4 << 20)
	written := make(chan error, 1)
	go func() { written <- server.Write(deadline(t), websocket.MessageBinary, make([]byte, 2<<20)) }()
	full := 0
	for before := -1; full == 0 || full != before; {
		before = full
		select {
		case err := <-written:
			t.Fatalf("all of it fitted into the socket: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		full, _ = server.Unread()
	}
	_, r, err := client.Reader(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 2*piece)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 2*piece)); err != nil {
		t.Fatal(err)
	}
	if now, ok := server.Unread(); !ok || now >= full {
		t.Errorf("%d bytes unread after reading, %d before", now, full)
	}
	select {
	case err := <-written:
		t.Errorf("written: %v", err)
	default:
	}
	_ = client.CloseNow()
	<-written
}

func TestWatch(t *testing.T) {
	t.Parallel()
	const limit = 120 * time.Millisecond
	var at, moves atomic.Int64
	stalled := make(chan time.Time, 1)
	began := time.Now()
	stop := Watch(limit, at.Load, func() { moves.Add(1) }, func() { stalled <- time.Now() })
	defer stop()
	for range 20 { // far longer than the limit
		at.Add(1)
		select {
		case <-stalled:
			t.Fatal("stalled while it moved")
		case <-time.After(limit / 3):
		}
	}
	if moves.Load() == 0 {
		t.Error("no move was told")
	}
	select {
	case when := <-stalled:
		if when.Sub(began) < limit {
			t.Errorf("stalled after %v", when.Sub(began))
		}
	case <-time.After(patience):
		t.Fatal("never stalled")
	}
	Watch(limit, at.Load, nil, func() { t.Error("stalled after its end") })()
	<-time.After(2 * limit)
}

func TestNext(t *testing.T) {
	t.Parallel()
	gaveUp := func(text []byte) bool { return string(text) == "give up" }
	for _, test := range []struct {
		name          string
		sent          []string // in capitals as text
		leaves, reads bool     // the client leaves; the server reads before that
		want          []string
	}{
		{"there", []string{"a", "b"}, false, true, []string{"a", "b"}},
		{"killed", []string{"a", "TEXT", "b"}, true, false, []string{"a", "TEXT", "b"}},
		{"gave up", []string{"a", "TEXT", "b", "GIVE UP"}, true, false, []string{"TEXT", "GIVE UP"}},
		{"gave up too late", []string{"a", "GIVE UP"}, true, true, []string{"a", "GIVE UP"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, client := pair(t)
			var got []string
			next := func() error {
				typ, data, err := server.Next(deadline(t), nil, gaveUp)
				if err == nil && typ == websocket.MessageText {
					data = bytes.ToUpper(data)
				}
				if err == nil {
					got = append(got, string(data))
				}
				return err
			}
			for _, s := range test.sent {
				typ := websocket.MessageBinary
				if strings.ToUpper(s) == s {
					typ, s = websocket.MessageText, strings.ToLower(s)
				}
				if err := client.Write(deadline(t), typ, []byte(s)); err != nil {
					t.Fatal(err)
				}
				if test.reads {
					if err := next(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if test.leaves {
				_ = client.CloseNow()
				for next() == nil { //nolint:revive // what is read is kept
				}
				if next() == nil {
					t.Error("read on behind the end")
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("read %q, want %q", got, test.want)
			}
		})
	}
}
