package terminal

import (
	"bytes"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"

	_ "corral/tui/internal/nobackgroundquery"
)

func TestMain(m *testing.M) {
	if job := os.Getenv("CORRAL_TEST_JOB"); job != "" {
		os.Exit(runJob(job))
	}
	goleak.VerifyTestMain(m)
}

// person is the other end of a terminal: it types, and sees what was written.
type person struct {
	t        *testing.T
	ptmx     *os.File
	tty      *os.File
	mu       sync.Mutex
	seen     []byte
	more     chan struct{} // closed and renewed when seen grows
	readDone chan struct{}
}

const patience = 10 * time.Second // for what has to happen; never for what must not

func newPerson(t *testing.T, cols, rows int) *person {
	t.Helper()
	p := deafPerson(t, cols, rows)
	p.listen()
	return p
}

// deafPerson reads nothing until listen.
func deafPerson(t *testing.T, cols, rows int) *person {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ptmx, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, ptmx: ptmx, tty: tty, more: make(chan struct{})}
	t.Cleanup(func() {
		_ = tty.Close()
		_ = ptmx.Close()
		if p.readDone != nil {
			<-p.readDone
		}
	})
	return p
}

func (p *person) listen() {
	p.readDone = make(chan struct{})
	go func() {
		defer close(p.readDone)
		b := make([]byte, 4096)
		for {
			n, err := p.ptmx.Read(b)
			p.mu.Lock()
			p.seen = append(p.seen, b[:n]...)
			close(p.more)
			p.more = make(chan struct{})
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
}

func (p *person) types(s string) {
	p.t.Helper()
	if _, err := p.ptmx.WriteString(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) saw() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.seen)
}

// sees waits until ok holds for everything seen so far.
func (p *person) sees(what string, ok func([]byte) bool) {
	p.t.Helper()
	late := time.After(patience)
	for {
		p.mu.Lock()
		good, more := ok(p.seen), p.more
		p.mu.Unlock()
		if good {
			return
		}
		select {
		case <-more:
		case <-late:
			p.t.Fatalf("never saw %s; saw %q", what, p.saw())
		}
	}
}

func (p *person) seesText(s string) {
	p.t.Helper()
	p.sees(s, func(b []byte) bool { return bytes.Contains(b, []byte(s)) })
}

func (p *person) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = nil
}

func (p *person) config() Config {
	return Config{In: p.tty, Out: p.tty, Env: Env{Term: "xterm-256color"}}
}

func open(t *testing.T, c Config) *Terminal {
	t.Helper()
	term, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = term.Close() })
	return term
}

// event waits for the next event of type E.
func event[E Event](t *testing.T, term *Terminal) E {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case ev, ok := <-term.Events():
			if !ok {
				t.Fatal("the events ended")
			}
			if e, ok := ev.(E); ok {
				return e
			}
		case <-late:
			var want E
			t.Fatalf("no %T came", want)
		}
	}
}

// memory is a sink that remembers.
type memory struct {
	mu     sync.Mutex
	got    []byte
	pastes []string
	more   chan struct{}
}

func newMemory() *memory { return &memory{more: make(chan struct{}, 1)} }

func (m *memory) Input(p []byte) {
	m.mu.Lock()
	m.got = append(m.got, p...)
	m.mu.Unlock()
	m.notify()
}

func (m *memory) Paste(p []byte) {
	m.mu.Lock()
	m.got = append(m.got, "<paste>"...)
	m.pastes = append(m.pastes, string(p))
	m.mu.Unlock()
	m.notify()
}

func (m *memory) notify() {
	select {
	case m.more <- struct{}{}:
	default:
	}
}

func (m *memory) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.got)
}

// gets waits until the sink has got exactly want.
func (m *memory) gets(t *testing.T, want string) {
	t.Helper()
	late := time.After(patience)
	for {
		got := m.text()
		if got == want {
			return
		}
		select {
		case <-m.more:
		case <-late:
			t.Fatalf("the program read %q, want %q", got, want)
		}
	}
}
