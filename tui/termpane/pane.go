// Package termpane is the pane that shows one session's terminal. A Pane owns a stream to its session and the emulator
// that the stream feeds, and stays useful through all that happens to either: it shows the last screen while the link is
// cut or the session has ended, and takes up again where the session does.
//
// Goroutines: the stream calls the pane's feed from a goroutine of its own, the terminal's reader calls Input and Paste,
// and the dashboard's loop calls everything else. Only the feed writes the emulator; the loop takes immutable frames. A
// pane never calls the loop: it says that something changed through Config.Changed, which must not block, and only while
// it is visible.
package termpane

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"corral/sessions"
	"corral/tui/scrollback"
	"corral/vt"
)

// Stream is the pane's connection to its session. No method but Close blocks.
type Stream interface {
	Send(p []byte) bool
	Paste(p []byte) bool
	Resize(cols, rows int)
	Own()
	Release()
	Resync()
	Replay(lines int)
	Wake()
	Close()
}

// Config is what a pane is made of.
type Config struct {
	ID sessions.ID
	// Attach opens a stream at once; it connects by itself.
	Attach func(id sessions.ID, o sessions.StreamOptions, h sessions.StreamHandler) Stream
	// Options are the stream's, but for the size, which is the pane's.
	Options sessions.StreamOptions
	// Changed is called when a visible pane looks different. It must not block.
	Changed func(sessions.ID)
	// Fault is told of a fault of the emulator, which the pane survives. It must not block. May be nil.
	Fault func(id sessions.ID, fault any, stack []byte)
	// Told, when set, gets the frames that are not about the screen: what a program put into the clipboard, and errors. It
	// must not block.
	Told func(sessions.ID, sessions.Frame)
}

// Phase is what a connected stream is doing.
type Phase int

// The phases.
const (
	Live      Phase = iota
	Replaying       // history is coming
	Behind          // output came faster than it was taken; the true screen is on its way
)

// Status is what a pane knows of its session and its link.
type Status struct {
	Open     bool // a stream was opened
	Restored bool // a screen is there to be shown, perhaps an old one
	Link     sessions.Link
	Dropped  int    // keys lost since one was last taken; a paste counts as one
	Pending  string // typed and shown nowhere yet, at the cursor of the last restore

	Phase    Phase
	Owner    bool // the window's size is this viewer's
	Attached int  // viewers that hold or held the keyboard, this one included; both 0 while not known
	Watching int  // viewers that only look
	Held     bool // this one holds or held the keyboard

	Ended    bool // the stream said that the session ended
	State    sessions.State
	ExitCode *int
	At       time.Time // when an ended session last looked as its screen does; zero for the present
}

// Pane shows one session.
type Pane struct {
	cfg     Config
	screen  atomic.Pointer[vt.Screen] // replaced by every restore, so that nobody sees one half restored
	visible atomic.Bool

	panX, panY int              // the loop's
	byHand     atomic.Bool      // the user has panned; nothing typed since
	rehome     atomic.Bool      // and now something was
	view       *scrollback.View // the loop's; nil while the live screen is shown
	looking    atomic.Bool      // view is there
	typed      atomic.Bool      // something was typed while looking back
	printed    atomic.Bool      // the program has printed while looking back
	snapshot   atomic.Pointer[scrollback.Snapshot]

	mu         sync.Mutex
	status     Status      // guarded by mu
	stream     Stream      // guarded by mu
	feed       *feed       // guarded by mu; the one whose words count
	late       *time.Timer // guarded by mu; announces a picture that a synchronized update held back
	cols, rows int         // guarded by mu; size of the area
	holds      bool        // guarded by mu; the keyboard
	wanted     int         // guarded by mu; lines of history that were asked for and have not come
}

// New returns a pane of the given area that is not connected yet.
func New(cfg Config, cols, rows int) *Pane {
	p := &Pane{cfg: cfg, cols: cols, rows: rows}
	p.screen.Store(vt.New(cols, rows))
	return p
}

// ID returns the session's id.
func (p *Pane) ID() sessions.ID { return p.cfg.ID }

// Open connects the pane, or connects it anew when its stream has ended. What it shows stays until the session's screen
// arrives. The stream that was there before must have ended; it is returned for the caller to close outside the loop.
func (p *Pane) Open() (old Stream) {
	f := &feed{pane: p}
	p.mu.Lock()
	old, p.stream, p.feed = p.stream, nil, f
	p.status = Status{Open: true, Restored: p.status.Restored, Link: sessions.Link{State: sessions.LinkConnecting}}
	o := p.cfg.Options
	o.Cols, o.Rows = p.cols, p.rows
	p.mu.Unlock()

	s := p.cfg.Attach(p.cfg.ID, o, f)

	p.mu.Lock()
	p.stream = s
	p.mu.Unlock()
	return old
}

// Close ends the stream and waits for its goroutines; it does not belong into the loop.
func (p *Pane) Close() {
	p.visible.Store(false)
	p.mu.Lock()
	s := p.stream
	p.stream, p.feed = nil, nil
	if p.late != nil {
		p.late.Stop()
	}
	p.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

// SetVisible says whether changes are of interest.
func (p *Pane) SetVisible(v bool) { p.visible.Store(v) }

// Status returns what the pane knows now.
func (p *Pane) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Frame returns the screen as it is now.
func (p *Pane) Frame() *vt.Frame { return p.screen.Load().Frame() }

// Resize tells the size of the pane's area. The window follows it only if this viewer owns the size.
func (p *Pane) Resize(cols, rows int) {
	p.mu.Lock()
	same := cols == p.cols && rows == p.rows
	p.cols, p.rows = cols, rows
	s := p.stream
	p.mu.Unlock()
	if s != nil && !same {
		s.Resize(cols, rows)
	}
}

// Focus takes the keyboard for this viewer, Blur gives it back.
func (p *Pane) Focus() {
	p.mu.Lock()
	p.holds, p.status.Held = true, true
	p.mu.Unlock()
	if s := p.current(); s != nil {
		s.Own()
	}
}

// Blur gives the keyboard back.
func (p *Pane) Blur() {
	p.mu.Lock()
	p.holds = false
	p.mu.Unlock()
	if s := p.current(); s != nil {
		s.Release()
	}
}

// Wake makes a waiting reconnect start at once.
func (p *Pane) Wake() {
	if s := p.current(); s != nil {
		s.Wake()
	}
}

// Input sends keys to the program, in order and without waiting. It makes the pane a terminal.Sink, with Paste.
func (p *Pane) Input(b []byte) {
	p.noteTyped(b)
	// The stream queues, and the reader's buffer is good during this call only.
	if s := p.current(); s == nil || !s.Send(bytes.Clone(b)) {
		p.dropped(sessions.CountKeys(b))
		return
	}
	p.taken()
}

// Paste sends a paste to the program, whole or not at all. Markers are the runtime's to add, if the program wants them.
func (p *Pane) Paste(b []byte) {
	p.noteTyped(b)
	if s := p.current(); s == nil || !s.Paste(b) {
		p.dropped(1)
		return
	}
	p.taken()
}

func (p *Pane) dropped(keys int) {
	p.mu.Lock()
	p.status.Dropped += keys
	p.mu.Unlock()
	p.changed()
}

// taken forgets what was lost before: the user types on, so has seen it.
func (p *Pane) taken() {
	p.mu.Lock()
	told := p.status.Dropped > 0
	p.status.Dropped = 0
	p.mu.Unlock()
	if told {
		p.changed()
	}
}

func (p *Pane) current() Stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stream
}

func (p *Pane) changed() {
	if p.visible.Load() {
		p.cfg.Changed(p.cfg.ID)
	}
}
