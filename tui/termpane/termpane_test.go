package termpane_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/style"
	"corral/tui/termpane"
	"corral/vt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stream is a fake that remembers.
type stream struct {
	mu      sync.Mutex
	calls   []string // guarded by mu
	refuses bool     // guarded by mu
	options sessions.StreamOptions
	handler sessions.StreamHandler
}

func (s *stream) call(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
	return !s.refuses
}

func (s *stream) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.calls, ",")
}

func (s *stream) Send(p []byte) bool  { return s.call("send " + string(p)) }
func (s *stream) Paste(p []byte) bool { return s.call("paste " + string(p)) }
func (s *stream) Resize(int, int)     { s.call("resize") }
func (s *stream) Own()                { s.call("own") }
func (s *stream) Release()            { s.call("release") }
func (s *stream) Resync()             { s.call("resync") }
func (s *stream) Replay(n int)        { s.call(fmt.Sprintf("replay %d", n)) }
func (s *stream) Wake()               { s.call("wake") }
func (s *stream) Close()              { s.call("close") }

type rig struct {
	*termpane.Pane
	streams []*stream
	changes atomic.Int64
	told    chan struct{} // when set, gets a word of each change
}

func open(t *testing.T, cols, rows int) *rig {
	t.Helper()
	r := &rig{}
	r.Pane = termpane.New(termpane.Config{
		ID: "id",
		Attach: func(_ sessions.ID, o sessions.StreamOptions, h sessions.StreamHandler) termpane.Stream {
			s := &stream{options: o, handler: h}
			r.streams = append(r.streams, s)
			return s
		},
		Options: sessions.StreamOptions{Mode: sessions.ModePreview},
		Changed: func(sessions.ID) {
			r.changes.Add(1)
			select {
			case r.told <- struct{}{}:
			default:
			}
		},
	}, cols, rows)
	r.SetVisible(true)
	r.Open()
	t.Cleanup(r.Close)
	return r
}

func (r *rig) feed() sessions.StreamHandler { return r.streams[len(r.streams)-1].handler }

func (r *rig) live(cols, rows int, text string) {
	h := r.feed()
	h.StreamLink(sessions.Link{State: sessions.LinkLive})
	h.StreamFrame(sessions.Frame{Type: sessions.FrameAttached, Cols: cols, Rows: rows})
	h.StreamFrame(sessions.Frame{Type: sessions.FrameRestore, ScreenText: text})
	h.StreamFrame(sessions.Frame{Type: sessions.FrameLive})
}

func text(f *vt.Frame) string { return strings.TrimRight(f.Text(), "\n ") }

func TestRestoreIsTheTruth(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	r.live(20, 5, "one")
	r.feed().StreamBytes([]byte("\x1b[31m two"))
	if got := text(r.Frame()); got != "one two" {
		t.Fatalf("screen %q", got)
	}
	r.live(30, 6, "three") // a resync: nothing of before may shine through, not even the pen
	r.feed().StreamBytes([]byte("!"))
	f := r.Frame()
	if got := text(f); got != "three!" || f.Cols != 30 || f.Rows != 6 {
		t.Errorf("screen %q, %dx%d", got, f.Cols, f.Rows)
	}
	if c := f.Row(0)[5]; c.Style != (vt.Style{}) {
		t.Errorf("the pen of the screen before: %+v", c.Style)
	}
}

func TestRestoreSettlesCursorAndModes(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	row, col := 2, 7
	r.feed().StreamFrame(sessions.Frame{Type: sessions.FrameAttached, Cols: 20, Rows: 5})
	r.feed().StreamFrame(sessions.Frame{
		Type: sessions.FrameRestore, ScreenText: "text", CursorRow: &row, CursorColumn: &col,
		Modes: &sessions.ScreenModes{BracketedPaste: true, MouseTracking: 1002, MouseSGR: true, FocusEvents: true, CursorHidden: true, AlternateScreen: true},
	})
	f := r.Frame()
	if f.Cursor.Row != 2 || f.Cursor.Col != 7 || f.Cursor.Visible {
		t.Errorf("cursor %+v", f.Cursor)
	}
	if m := f.Modes; !m.BracketedPaste || m.MouseTracking != 1002 || !m.MouseSGR || !m.FocusEvents {
		t.Errorf("modes %+v", m)
	}
	if text(f) != "text" {
		t.Errorf("the modes changed the screen: %q", text(f))
	}
}

func TestRestoreKeepsAPendingWrap(t *testing.T) {
	t.Parallel()
	r := open(t, 5, 3)
	row, col := 0, 4
	r.feed().StreamFrame(sessions.Frame{Type: sessions.FrameAttached, Cols: 5, Rows: 3})
	r.feed().StreamFrame(sessions.Frame{Type: sessions.FrameRestore, ScreenText: "12345", CursorRow: &row, CursorColumn: &col})
	r.feed().StreamBytes([]byte("6"))
	if got := r.Frame().Text(); !strings.HasPrefix(got, "12345\n6") {
		t.Errorf("the next character did not wrap: %q", got)
	}
}

func TestSizeResizesTheEmulator(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	r.live(20, 5, "hello")
	r.feed().StreamFrame(sessions.Frame{Type: sessions.FrameSize, Cols: 40, Rows: 10, Owner: true})
	if f := r.Frame(); f.Cols != 40 || f.Rows != 10 || text(f) != "hello" {
		t.Errorf("%dx%d %q", f.Cols, f.Rows, text(f))
	}
	if !r.Status().Owner {
		t.Error("not the owner")
	}
}

func TestOldStreamIsNotListenedTo(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	r.live(20, 5, "old")
	old := r.feed()
	old.StreamLink(sessions.Link{State: sessions.LinkEnded, Code: sessions.CloseEnded})
	if s := r.Open(); s != termpane.Stream(r.streams[0]) {
		t.Error("the old stream is not given back for closing")
	}
	if st := r.Status(); !st.Restored || st.Link.State != sessions.LinkConnecting || text(r.Frame()) != "old" {
		t.Errorf("after the reopening: %+v, screen %q", st, text(r.Frame()))
	}
	r.live(20, 5, "new")
	old.StreamBytes([]byte(" ghost"))
	old.StreamLink(sessions.Link{State: sessions.LinkReconnecting})
	old.StreamFrame(sessions.Frame{Type: sessions.FrameRestore, ScreenText: "ghost"})
	if st := r.Status(); text(r.Frame()) != "new" || st.Link.State != sessions.LinkLive {
		t.Errorf("a stream of before was listened to: %+v %q", st, text(r.Frame()))
	}
}

func TestOnlyVisiblePanesTell(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	r.live(20, 5, "x")
	r.SetVisible(false)
	before := r.changes.Load()
	r.feed().StreamBytes([]byte("y"))
	r.feed().StreamLink(sessions.Link{State: sessions.LinkReconnecting})
	if got := r.changes.Load(); got != before {
		t.Errorf("a hidden pane told %d changes", got-before)
	}
	if text(r.Frame()) != "xy" {
		t.Error("a hidden pane is not kept warm")
	}
}

func TestPendingInputIsDrawnUntilOutputComes(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	r.feed().StreamFrame(sessions.Frame{Type: sessions.FrameAttached, Cols: 20, Rows: 5})
	r.feed().StreamFrame(sessions.Frame{Type: sessions.FrameRestore, ScreenText: "PS> gi", PendingInput: "t stat\x1b[2Jus and much more"})
	theme := style.New(true, style.Full)
	drawn := func() string {
		c := canvas.New(20, 5)
		r.Draw(c, canvas.Rect{W: 20, H: 5}, theme, termpane.DrawOptions{})
		var b strings.Builder
		for _, cell := range c.Row(0) {
			b.WriteString(cell.Text)
		}
		return strings.TrimRight(b.String(), " ")
	}
	if got := drawn(); !strings.HasPrefix(got, "PS> git stat") || strings.Contains(got, "\x1b") {
		t.Errorf("drawn %q", got)
	}
	if got := text(r.Frame()); got != "PS> gi" {
		t.Errorf("the screen has %q", got)
	}
	r.feed().StreamBytes([]byte("t"))
	if got := drawn(); got != "PS> git" {
		t.Errorf("after output: %q", got)
	}
}

func TestRefusedInputIsCounted(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	s := r.streams[0]
	r.Input([]byte("a"))
	s.refuses = true
	r.Input([]byte("b"))
	r.Paste([]byte("c"))
	if got := r.Status().Dropped; got != 2 {
		t.Errorf("dropped %d, want 2", got)
	}
	r.feed().StreamLink(sessions.Link{State: sessions.LinkReconnecting, Dropped: 2})
	if got := r.Status().Dropped; got != 2 {
		t.Errorf("counted twice: %d", got)
	}
	r.feed().StreamLink(sessions.Link{State: sessions.LinkLive})
	if got := r.Status().Dropped; got != 2 {
		t.Errorf("told %d when live again, want 2: nobody has seen it yet", got)
	}
	s.refuses = false
	r.Input([]byte("d"))
	if got := r.Status().Dropped; got != 0 {
		t.Errorf("still %d after the next key", got)
	}
	if got := s.all(); got != "send a,send b,paste c,send d" {
		t.Errorf("calls %s", got)
	}
}

func TestInputIsCopied(t *testing.T) {
	t.Parallel()
	var kept []byte
	p := termpane.New(termpane.Config{
		Attach: func(sessions.ID, sessions.StreamOptions, sessions.StreamHandler) termpane.Stream {
			return &keeper{keep: &kept}
		},
		Changed: func(sessions.ID) {},
	}, 20, 5)
	p.Open()
	defer p.Close()
	buf := []byte("abc")
	p.Input(buf)
	copy(buf, "xyz")
	if string(kept) != "abc" {
		t.Errorf("the stream holds the reader's buffer: %q", kept)
	}
}

type keeper struct {
	stream
	keep *[]byte
}

func (k *keeper) Send(p []byte) bool { *k.keep = p; return true }

func TestResizeIsToldOnceAndIsInTheOptions(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	if o := r.streams[0].options; o.Cols != 20 || o.Rows != 5 || o.Mode != sessions.ModePreview || o.Replay != 0 {
		t.Errorf("options %+v", o)
	}
	r.Resize(20, 5)
	r.Resize(30, 6)
	r.Resize(30, 6)
	if got := r.streams[0].all(); got != "resize" {
		t.Errorf("calls %s", got)
	}
	r.Open()
	if o := r.streams[1].options; o.Cols != 30 || o.Rows != 6 {
		t.Errorf("options of the next stream %+v", o)
	}
}

func TestHeldPictureIsAnnounced(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	r.live(20, 5, "before")
	r.told = make(chan struct{}, 1)
	r.feed().StreamBytes([]byte("\x1b[?2026h\rafter ")) // and the program never ends it
	for text(r.Frame()) != "after" {
		select {
		case <-r.told:
		case <-time.After(20 * time.Second):
			t.Fatal("the late picture was not announced")
		}
	}
}

func TestDrawCropsRoundTheCursor(t *testing.T) {
	t.Parallel()
	theme := style.New(true, style.Full)
	r := open(t, 10, 4)
	r.live(30, 12, "top\x1b[12;28Hend")
	c := canvas.New(12, 6)
	area := canvas.Rect{X: 1, Y: 1, W: 10, H: 4}
	r.Draw(c, area, theme, termpane.DrawOptions{Focused: true})
	if cur := c.Cursor(); !cur.Visible || !area.Contains(cur.X, cur.Y) {
		t.Errorf("cursor %+v outside %v", cur, area)
	}
	if got := row(c, 4); !strings.Contains(got, "end") {
		t.Errorf("the cursor's row is %q", got)
	}
	if got := r.Crop(10, 4); got != "10x4 of 30x12" {
		t.Errorf("mark %q", got)
	}
	if got := r.Crop(30, 12); got != "" {
		t.Errorf("mark %q for a whole window", got)
	}
	r.feed().StreamBytes([]byte("\x1b[H"))
	r.Draw(c, area, theme, termpane.DrawOptions{})
	if got := row(c, 1); !strings.Contains(got, "top") {
		t.Errorf("the pane does not follow the cursor back: %q", got)
	}
}

func TestDrawLeavesTheRestBlank(t *testing.T) {
	t.Parallel()
	theme := style.New(true, style.Full)
	r := open(t, 20, 6)
	r.live(5, 2, "12345\r\n67890")
	c := canvas.New(20, 6)
	c.DrawLine(0, 3, 20, "what was there before")
	r.Draw(c, canvas.Rect{W: 20, H: 6}, theme, termpane.DrawOptions{Note: "a\x1b[2Jnote", Alarm: true, Dim: true})
	if got := row(c, 0); strings.TrimRight(got, " ") != "12345" {
		t.Errorf("row 0 %q", got)
	}
	if got := row(c, 3); strings.TrimSpace(got) != "" {
		t.Errorf("row 3 %q", got)
	}
	if got := row(c, 5); !strings.Contains(got, "note") || strings.Contains(got, "\x1b") {
		t.Errorf("note %q", got)
	}
	if c.Cell(0, 0).Style.Attr&vt.Faint == 0 {
		t.Error("not dimmed")
	}
	for _, r2 := range []canvas.Rect{{}, {W: 1, H: 1}, {X: 19, Y: 5, W: 5, H: 5}, {X: -3, Y: -3, W: 2, H: 2}} {
		r.Draw(c, r2, theme, termpane.DrawOptions{Note: "n", Focused: true}) // must not panic
	}
}

func row(c *canvas.Canvas, y int) string {
	var b strings.Builder
	for _, cell := range c.Row(y) {
		b.WriteString(cell.Text)
	}
	return b.String()
}

func TestUseFromManyGoroutines(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	r.live(20, 5, "")
	h := r.feed()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 200 {
			h.StreamBytes([]byte("line\r\n"))
		}
	})
	wg.Go(func() {
		for range 200 {
			r.Input([]byte("k"))
		}
	})
	c := canvas.New(20, 5)
	for range 200 {
		r.Draw(c, canvas.Rect{W: 20, H: 5}, style.New(true, style.None), termpane.DrawOptions{Focused: true})
		_ = r.Status()
	}
	wg.Wait()
}
