package server_test

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

// proxy stands between a server and its PostgreSQL. It can be cut, can make every question take time, and can cut each
// connection in the middle of an answer.
type proxy struct {
	t      *testing.T
	url    string
	path   string // of our socket
	target string // PostgreSQL's
	work   sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener  // nil while cut; guarded by mu
	conns    []net.Conn    // guarded by mu
	delay    time.Duration // before each question is passed on; guarded by mu
	severed  bool          // answers are dropped and their connections cut; guarded by mu
}

func newProxy(t *testing.T, dir, target string) *proxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	const name = ".s.PGSQL.5432"
	p := &proxy{t: t, path: filepath.Join(dir, name), target: filepath.Join(q.Get("host"), name)}
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	p.url = u.String()
	p.listen()
	t.Cleanup(func() { p.cut(); p.work.Wait() })
	return p
}

func (p *proxy) listen() {
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
			p.mu.Lock()
			p.conns = append(p.conns, client, server)
			p.mu.Unlock()
			p.work.Go(func() { p.pass(server, client, p.wait) })
			p.work.Go(func() { p.pass(client, server, p.mayAnswer) })
		}
	})
}

// pass copies until either side ends, asking before each piece whether it may go on.
func (p *proxy) pass(to, from net.Conn, may func() bool) {
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

func (p *proxy) wait() bool {
	p.mu.Lock()
	d := p.delay
	p.mu.Unlock()
	time.Sleep(d)
	return true
}

func (p *proxy) mayAnswer() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.severed
}

func (p *proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// cut ends every connection and lets no new one in.
func (p *proxy) cut() {
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
