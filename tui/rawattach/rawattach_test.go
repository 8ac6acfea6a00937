package rawattach

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"corral/sessions"
	"corral/tui/terminal"
	"corral/vt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// fakeStream remembers what a viewer does to it. What it brings the test calls the handler with.
type fakeStream struct {
	options sessions.StreamOptions
	handler sessions.StreamHandler

	mu      sync.Mutex
	calls   string
	refuses bool
	more    chan struct{}
}

func (s *fakeStream) note(call string) {
	s.mu.Lock()
	s.calls += call
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *fakeStream) Send(p []byte) bool {
	s.note(string(p))
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.refuses
}

func (s *fakeStream) Paste(p []byte) bool   { s.note("<paste:" + string(p) + ">"); return true }
func (s *fakeStream) Resize(cols, rows int) { s.note("<resize>") }
func (s *fakeStream) Own()                  { s.note("<own>") }
func (s *fakeStream) Resync()               { s.note("<resync>") }
func (s *fakeStream) Wake()                 { s.note("<wake>") }
func (s *fakeStream) Close()                { s.note("<close>") }

func (s *fakeStream) gets(t *testing.T, want string) {
	t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		got := s.calls
		s.mu.Unlock()
		if strings.HasSuffix(got, want) {
			return
		}
		select {
		case <-s.more:
		case <-late:
			t.Fatalf("the stream got %q, want %q at its end", got, want)
		}
	}
}

// rig is Run on a PTY whose other end is an emulated terminal.
type rig struct {
	t      *testing.T
	ptmx   *os.File
	tty    *os.File
	before *term.State
	cancel context.CancelFunc
	stream *fakeStream

	mu     sync.Mutex
	screen *vt.Screen
	seen   []byte
	more   chan struct{}

	done    chan struct{}
	outcome Outcome
	err     error
}

func start(t *testing.T, cols, rows int, o Options) *rig {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ptmx, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(tty.Fd())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{t: t, ptmx: ptmx, tty: tty, before: before, cancel: cancel, screen: vt.New(cols, rows), more: make(chan struct{}), done: make(chan struct{})}
	_, _ = r.screen.Write([]byte("$ corral attach\r\n"))
	attached := make(chan *fakeStream, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		r.look()
	}()
	o.Env = terminal.Env{Term: "xterm-256color"}
	go func() {
		defer close(r.done)
		r.outcome, r.err = Run(ctx, tty, tty, func(o sessions.StreamOptions, h sessions.StreamHandler) Stream {
			s := &fakeStream{options: o, handler: h, more: make(chan struct{}, 1)}
			attached <- s
			return s
		}, o)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
		_ = tty.Close()
		_ = ptmx.Close()
		<-read
	})
	select {
	case r.stream = <-attached:
	case <-r.done:
		t.Fatal(r.err)
	}
	return r
}

func (r *rig) look() {
	b := make([]byte, 4096)
	for {
		n, err := r.ptmx.Read(b)
		r.mu.Lock()
		_, _ = r.screen.Write(b[:n])
		r.seen = append(r.seen, b[:n]...)
		close(r.more)
		r.more = make(chan struct{})
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// shows waits until the terminal's screen is ok.
func (r *rig) shows(what string, ok func(screen string) bool) {
	r.t.Helper()
	late := time.After(patience)
	for {
		r.mu.Lock()
		text, more := r.screen.Frame().Text(), r.more
		good := ok(text)
		r.mu.Unlock()
		if good {
			return
		}
		select {
		case <-more:
		case <-late:
			r.t.Fatalf("never showed %s, but\n%s", what, text)
		}
	}
}

func (r *rig) saw() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.seen)
}

func (r *rig) showsText(s string) {
	r.t.Helper()
	r.shows(s, func(text string) bool { return strings.Contains(text, s) })
}

func (r *rig) types(s string) {
	r.t.Helper()
	if _, err := r.ptmx.WriteString(s); err != nil {
		r.t.Fatal(err)
	}
}

// ends waits for the end of Run and checks that the terminal is restored.
func (r *rig) ends(how How) {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.t.Fatal("Run does not end")
	}
	if r.outcome.How != how || r.err != nil {
		r.t.Errorf("ended %q (%v), error %v; want %q", r.outcome.How, r.outcome.Err, r.err, how)
	}
	now, err := term.GetState(r.tty.Fd())
	if err != nil {
		r.t.Fatal(err)
	}
	if d := cmp.Diff(r.before.Termios, now.Termios); d != "" {
		r.t.Errorf("line discipline: %s", d)
	}
	r.shows("the modes switched off", func(string) bool {
		i := bytes.LastIndex(r.seen, []byte("\x1b[?2004l"))
		return i >= 0 && bytes.Contains(r.seen[i:], []byte("\x1b[?25h"))
	})
	for _, off := range []string{"\x1b[?1000l", "\x1b[?1002l", "\x1b[?1003l", "\x1b[?1006l", "\x1b[?1004l", "\x1b[?2004l", "\x1b[>4m"} {
		if !bytes.Contains(r.saw(), []byte(off)) {
			r.t.Errorf("%q was not sent", off)
		}
	}
	r.stream.gets(r.t, "<close>")
}

// live brings a stream up to live.
func (r *rig) live(cols, rows int, history, picture string) {
	h := r.stream.handler
	h.StreamLink(sessions.Link{State: sessions.LinkConnecting})
	h.StreamFrame(sessions.Frame{Type: sessions.FrameAttached, Cols: cols, Rows: rows, Owner: true})
	h.StreamFrame(sessions.Frame{Type: sessions.FrameReplay, Bytes: len(history)})
	for _, b := range []byte(history) {
		h.StreamBytes([]byte{b})
	}
	h.StreamFrame(sessions.Frame{Type: sessions.FrameRestore})
	h.StreamBytes([]byte(picture))
	h.StreamFrame(sessions.Frame{Type: sessions.FrameLive})
	h.StreamLink(sessions.Link{State: sessions.LinkLive})
}

func TestAttachTypeDetach(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, Options{Replay: 100, Client: "test"})
	if o := r.stream.options; o.Cols != 80 || o.Rows != 24 || o.Mode != sessions.ModeRaw || o.Replay != 100 || o.Client != "test" {
		t.Errorf("options %+v", o)
	}
	r.stream.gets(t, "<own>")
	r.live(80, 24, "old line\r\n"+strings.Repeat("\r\n", 23), "\x1b[2;3Hpicture")
	r.shows("the picture alone", func(s string) bool { return s == "\n  picture"+strings.Repeat("\n", 22) })
	if !bytes.Contains(r.saw(), []byte("old line")) {
		t.Error("the history was not printed")
	}
	r.types("ls\r\x1b[A\x1b[200~two\nlines\x1b[201~")
	r.stream.gets(t, "ls\r\x1b[A<paste:two\nlines>")
	r.stream.handler.StreamBytes([]byte(" and more"))
	r.showsText("picture and more")
	r.types("\x1c")
	r.ends(Detached)
}

func TestPrefixTwiceGoesToTheProgram(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"a\x1c\x1cbc", "a\x1b[92;5u\x1c\x1b[92;5u\x1cb"} {
		r := start(t, 80, 24, Options{})
		r.live(80, 24, "", "")
		r.types(in)
		want := "a\x1cbc"
		if strings.Count(in, "u") > 0 {
			want = "a\x1c\x1cb"
		}
		r.stream.gets(t, want)
		r.types("\x1cx") // the next key is no second press, so it need not wait
		r.ends(Detached)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, Options{ReadOnly: true})
	r.live(80, 24, "", "look")
	r.showsText("look")
	r.types("rm -rf\r\x1b[200~x\x1b[201~\x1cx")
	r.ends(Detached)
	r.stream.mu.Lock()
	defer r.stream.mu.Unlock()
	if got := r.stream.calls; got != "<close>" {
		t.Errorf("the stream got %q", got)
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, Options{})
	r.live(80, 24, "", "bye")
	code := 7
	r.stream.handler.StreamFrame(sessions.Frame{Type: sessions.FrameEnded, State: sessions.Failed, ExitCode: &code})
	r.ends(Exited)
	if r.outcome.State != sessions.Failed || *r.outcome.ExitCode != 7 {
		t.Errorf("outcome %+v", r.outcome)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, Options{})
	r.stream.handler.StreamLink(sessions.Link{State: sessions.LinkEnded, Code: sessions.CloseNotFound, Err: sessions.ErrNotFound})
	r.ends(Cut)
	if !errors.Is(r.outcome.Err, sessions.ErrNotFound) {
		t.Errorf("outcome %+v", r.outcome)
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, Options{})
	r.live(80, 24, "", "\x1b[?1003h\x1b[?1006hx")
	r.cancel()
	r.ends(Cut)
}

func TestLinkInWords(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, Options{})
	r.showsText(`connecting; ctrl+\ detaches`)
	r.live(80, 24, "history\r\n", "picture")
	r.showsText("picture")
	r.stream.handler.StreamLink(sessions.Link{State: sessions.LinkReconnecting, Attempt: 1, RetryAt: time.Now().Add(2 * time.Second), Dropped: 3})
	r.showsText("connection lost; reconnecting in 2 s; 3 keys were dropped")
	r.showsText("reconnecting in 1 s")
	r.live(80, 24, "history\r\n", "anew")
	r.shows("the new picture and what was dropped", func(s string) bool {
		return strings.HasPrefix(s, "anew\n") && strings.HasSuffix(s, "\n 3 keys were dropped")
	})
	if n := bytes.Count(r.saw(), []byte("history")); n != 1 {
		t.Errorf("the history was printed %d times", n)
	}
	r.types("\x1cx")
	r.ends(Detached)
}

func TestNoticesOfALiveStream(t *testing.T) {
	t.Parallel()
	r := start(t, 60, 24, Options{Clipboard: ClipboardOn})
	r.stream.mu.Lock()
	r.stream.refuses = true
	r.stream.mu.Unlock()
	r.types("abc")
	r.showsText("connecting; 3 keys were dropped")
	r.live(60, 24, "", "\x1b[24;1Hthe last line\x1b[1;1Hpicture")
	r.shows("what was dropped", func(s string) bool {
		return strings.HasPrefix(s, "picture") && strings.HasSuffix(s, " 3 keys were dropped")
	})
	r.stream.gets(t, "<resync>") // for what the notice covers
	h := r.stream.handler
	h.StreamFrame(sessions.Frame{Type: sessions.FrameError, Error: &sessions.Error{Message: "the paste is too large\x1b[2J", Hint: "copy it"}})
	r.showsText("the paste is too large")
	h.StreamFrame(sessions.Frame{Type: sessions.FrameClipboard, Data: "Y29weQ=="})
	h.StreamFrame(sessions.Frame{Type: sessions.FrameClipboard, Data: "\x1b]0;evil\a"})
	h.StreamBytes([]byte("\x1b[1;1Hafter"))
	r.showsText("after")
	if saw := string(r.saw()); !strings.Contains(saw, "\x1b]52;c;Y29weQ==\x1b\\") || strings.Contains(saw, "evil") {
		t.Error("the clipboard was not handed on, or what is none was")
	}
	r.types("\x1cx")
	r.ends(Detached)
}

func TestWindowOfAnotherSize(t *testing.T) {
	t.Parallel()
	r := start(t, 20, 5, Options{})
	r.live(40, 10, "", "\x1b[1;1Htop\x1b[10;30Hcursor")
	r.shows("the part round the cursor", func(s string) bool {
		return strings.Contains(s, "cursor") && !strings.Contains(s, "top") && strings.Contains(s, "20x5 of 40x10")
	})
	h := r.stream.handler
	h.StreamFrame(sessions.Frame{Type: sessions.FrameSize, Cols: 20, Rows: 5, Owner: true})
	r.stream.gets(t, "<resync>")
	h.StreamFrame(sessions.Frame{Type: sessions.FrameRestore})
	h.StreamBytes([]byte("\x1b[3;3Hfits"))
	r.shows("the picture as it is", func(s string) bool { return s == "\n\n  fits\n\n" })
	r.types("\x1cx")
	r.ends(Detached)
}

// TestDeadTerminal detaches while the terminal takes nothing and the stream is stuck in a write.
func TestDeadTerminal(t *testing.T) {
	t.Parallel()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ptmx.Close()
	defer tty.Close()
	s := &fakeStream{more: make(chan struct{}, 1)}
	done := make(chan Outcome)
	attached := make(chan struct{})
	go func() {
		o, _ := Run(context.Background(), tty, tty, func(_ sessions.StreamOptions, h sessions.StreamHandler) Stream {
			s.handler = h
			close(attached)
			return s
		}, Options{Env: terminal.Env{Term: "xterm"}})
		done <- o
	}()
	<-attached
	stuck := make(chan struct{})
	go func() {
		defer close(stuck)
		for range 20 { // more than any terminal has room for
			s.handler.StreamBytes(make([]byte, 64<<10))
		}
	}()
	s.gets(t, "<own>")
	if _, err := ptmx.WriteString("\x1cx"); err != nil {
		t.Fatal(err)
	}
	select {
	case o := <-done:
		if o.How != Detached {
			t.Errorf("outcome %+v", o)
		}
	case <-time.After(patience):
		t.Fatal("a terminal that takes nothing keeps Run from ending")
	}
	<-stuck
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	tests := []struct {
		link sessions.Link
		text string
		wait time.Duration
	}{
		{sessions.Link{State: sessions.LinkLive}, "", 0},
		{sessions.Link{State: sessions.LinkConnecting, Attempt: 2}, "connecting", 0},
		{sessions.Link{State: sessions.LinkReconnecting, RetryAt: now.Add(1500 * time.Millisecond)}, "connection lost; reconnecting in 2 s", 500 * time.Millisecond},
		{sessions.Link{State: sessions.LinkReconnecting, RetryAt: now.Add(time.Second), Dropped: 1}, "connection lost; reconnecting in 1 s; 1 key was dropped", time.Second},
		{sessions.Link{State: sessions.LinkReconnecting, RetryAt: now}, "reconnecting", 0},
	}
	for _, tt := range tests {
		if text, wait := describe(tt.link, now); text != tt.text || wait != tt.wait {
			t.Errorf("%+v: %q, %v; want %q, %v", tt.link, text, wait, tt.text, tt.wait)
		}
	}
}
