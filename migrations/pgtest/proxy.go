package pgtest

import (
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a server and its PostgreSQL. It can be cut, can make every question take time, and can cut each
// connection in the middle of an answer. The end of the test ends it and waits for its goroutines.
type Proxy struct {
	// URL is the database's, by way of the proxy.
	URL string

	t      *testing.T
	path   string // of our socket
	target string // PostgreSQL's
	work   sync.WaitGroup
	ended  chan struct{}

	mu       sync.Mutex
	listener net.Listener  // nil while cut; guarded by mu
	conns    []net.Conn    // guarded by mu
	delay    time.Duration // guarded by mu
	severed  bool          // guarded by mu
}

// NewProxy returns an open proxy for the database at the URL, whose PostgreSQL listens on a unix socket. Its own socket
// is in dir, which it makes.
func NewProxy(t *testing.T, dir, database string) *Proxy {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	const name = ".s.PGSQL.5432"
	p := &Proxy{t: t, path: filepath.Join(dir, name), target: filepath.Join(q.Get("host"), name), ended: make(chan struct{})}
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	p.URL = u.String()
	p.Open()
	t.Cleanup(func() {
		close(p.ended)
		p.Cut()
		p.work.Wait()
	})
	return p
}

// Open lets connections in, at first and after Cut.
func (p *Proxy) Open() {
	p.t.Helper()
	listener, err := net.Listen("unix", p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.listener = listener
	p.mu.Unlock()
	p.work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", p.target)
			if err != nil {
				_ = client.Close()
				continue
			}
			if !p.keep(listener, client, server) {
				return
			}
			p.work.Go(func() { p.pass(server, client, p.wait) })
			p.work.Go(func() { p.pass(client, server, p.mayAnswer) })
		}
	})
}

// keep notes a pair of connections that Cut has to close, or closes them when the listener was cut meanwhile.
func (p *Proxy) keep(listener net.Listener, pair ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != listener {
		for _, c := range pair {
			_ = c.Close()
		}
		return false
	}
	p.conns = append(p.conns, pair...)
	return true
}

// pass copies until either side ends, asking before each piece whether it may go on.
func (p *Proxy) pass(to, from net.Conn, may func() bool) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if n > 0 && may() {
			_, werr := to.Write(b[:n])
			if werr != nil {
				err = werr
			}
		} else if n > 0 {
			err = io.ErrClosedPipe
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

func (p *Proxy) wait() bool {
	p.mu.Lock()
	d := p.delay
	p.mu.Unlock()
	if d == 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-p.ended:
		return false
	}
}

func (p *Proxy) mayAnswer() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.severed
}

// Slow makes every question wait before it is passed on.
func (p *Proxy) Slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Sever says whether each connection is cut at its next answer.
func (p *Proxy) Sever(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.severed = on
}

// Cut ends every connection and lets no new one in.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}
