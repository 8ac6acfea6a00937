package rawattach

import (
	"encoding/base64"
	"fmt"
	"io"
	"sync"

	"corral/sessions"
	"corral/tui/terminal"
	"corral/vt"
)

// reset makes a terminal forget what a program set, before a restore says what holds: rendition, margins, line drawing,
// cursor keys and keypad, origin, wrap, mouse, cursor. Paste and focus reports stay on, as the terminal package wants.
const reset = "\x1b[m\x1b[r\x1b(B\x0f\x1b[?1l\x1b>\x1b[?6l\x1b[?7h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?25h\x1b[H\x1b[J"

type size struct{ cols, rows int }

// view shows what the stream brings. It is the stream's handler.
type view struct {
	out io.Writer
	viewOptions
	ended  chan Outcome  // holds one
	resync chan struct{} // holds one: a fresh restore is wanted
	relink chan struct{} // holds one: link has changed

	// writing is held while the terminal is written to, and guards what only writers use.
	writing  sync.Mutex
	scrolled bool // what the terminal showed before has been scrolled away
	replayed bool // the history has been printed; every reconnect brings it once more
	history  int  // bytes of history that are still to come
	skip     bool // the history that comes
	colors   colors
	crop     *crop // not nil while the window is drawn in part

	// mu guards the rest and is held for moments only.
	mu       sync.Mutex
	finished bool
	terminal size
	window   size // of the session; zero while unknown
	owner    bool // the window's size follows the terminal
	widths   *vt.Widths
	link     sessions.Link
	notice   string // what a live stream has to say, until it was shown
	noticed  bool   // a notice is on the screen
}

type viewOptions struct {
	profile   vt.Profile
	prefix    terminal.Key
	clipboard Clipboard
}

func newView(out io.Writer, o viewOptions, cols, rows int) *view {
	return &view{
		out: out, viewOptions: o,
		ended: make(chan Outcome, 1), resync: make(chan struct{}, 1), relink: make(chan struct{}, 1),
		terminal: size{cols, rows}, colors: colors{profile: o.profile}, link: sessions.Link{State: sessions.LinkConnecting},
	}
}

var _ sessions.StreamHandler = (*view)(nil)

// StreamFrame takes a control frame.
func (v *view) StreamFrame(f sessions.Frame) {
	if v.isFinished() {
		return
	}
	switch f.Type {
	case sessions.FrameAttached:
		v.setWindow(f)
		v.mu.Lock()
		v.widths = vt.WidthsOf(f.Widths)
		v.mu.Unlock()
	case sessions.FrameReplay:
		v.writing.Lock()
		defer v.writing.Unlock()
		v.scrollAway()
		v.history, v.skip = f.Bytes, v.replayed
		v.replayed = true
	case sessions.FrameRestore:
		v.restore()
	case sessions.FrameSize:
		v.setWindow(f)
		v.resized()
	case sessions.FrameEnded:
		v.end(Outcome{How: Exited, State: f.State, ExitCode: f.ExitCode})
	case sessions.FrameError:
		if f.Error != nil {
			v.say(f.Error.Error())
		}
	case sessions.FrameClipboard:
		v.copied(f.Data)
	case sessions.FrameLive, sessions.FrameState, sessions.FrameViewers, sessions.FrameBehind, sessions.FramePong:
		// nothing of the screen's
	case sessions.FrameResize, sessions.FramePaste, sessions.FrameOwn, sessions.FrameRelease, sessions.FramePing,
		sessions.FrameResync:
		// the other direction's
	}
}

// StreamBytes takes history, the picture of a restore, and what the program prints.
func (v *view) StreamBytes(b []byte) {
	if v.isFinished() {
		return
	}
	v.writing.Lock()
	defer v.writing.Unlock()
	if n := min(v.history, len(b)); n > 0 {
		if !v.skip {
			v.write(v.colors.feed(b[:n]))
		}
		v.history -= n
		b = b[n:]
	}
	switch {
	case len(b) == 0:
	case v.crop != nil:
		v.write(v.crop.feed(b))
	default:
		v.write(v.colors.feed(b))
	}
}

// StreamLink takes the state of the connection.
func (v *view) StreamLink(l sessions.Link) {
	v.mu.Lock()
	l.Dropped = max(l.Dropped, v.link.Dropped)
	if l.State == sessions.LinkLive && l.Dropped > 0 {
		v.notice = droppedKeys(l.Dropped)
		l.Dropped = 0
	}
	v.link = l
	v.mu.Unlock()
	signal(v.relink)
	if l.State != sessions.LinkEnded {
		return
	}
	if l.Code == sessions.CloseEnded && l.Err == nil {
		v.end(Outcome{How: Exited})
		return
	}
	v.end(Outcome{How: Cut, Err: l.Err})
}

// missed counts keys that the stream did not take.
func (v *view) missed(keys int) {
	v.mu.Lock()
	if v.link.State == sessions.LinkLive {
		v.notice = droppedKeys(keys)
	} else {
		v.link.Dropped += keys
	}
	v.mu.Unlock()
	signal(v.relink)
}

// say shows a line for a moment.
func (v *view) say(line string) {
	v.mu.Lock()
	v.notice = line
	v.mu.Unlock()
	signal(v.relink)
}

// copied does with what the program copies what the user wants. The data is base64; what is none never reaches the
// terminal.
func (v *view) copied(data string) {
	text, err := base64.StdEncoding.DecodeString(data)
	switch {
	case err != nil || v.clipboard != ClipboardOn && v.clipboard != ClipboardNotify:
	case v.clipboard == ClipboardNotify:
		v.say(fmt.Sprintf("the program wants to copy %d bytes to the clipboard; clipboard = \"on\" in the configuration lets it", len(text)))
	default:
		v.writing.Lock()
		defer v.writing.Unlock()
		v.write([]byte("\x1b]52;c;" + base64.StdEncoding.EncodeToString(text) + "\x1b\\"))
	}
}

// restore begins with an empty screen, to which the picture is drawn that follows: as it is when the window has the
// terminal's size, else through the emulator.
func (v *view) restore() {
	v.writing.Lock()
	defer v.writing.Unlock()
	v.scrollAway()
	v.history = 0
	v.mu.Lock()
	term, window, widths := v.terminal, v.window, v.widths
	v.mu.Unlock()
	v.write([]byte(reset))
	v.colors.held = nil
	if v.crop = nil; window != (size{}) && window != term {
		v.crop = newCrop(v.profile, term, window, widths)
	}
}

// resized follows a change of the window. The emulator gets its new size before the bytes for it come; between drawing in
// part and drawing as it is only a fresh restore leads.
func (v *view) resized() {
	v.writing.Lock()
	defer v.writing.Unlock()
	v.mu.Lock()
	term, window := v.terminal, v.window
	v.mu.Unlock()
	if v.crop != nil {
		v.crop.resize(window)
	}
	if (window == term) != (v.crop == nil) {
		signal(v.resync)
	}
}

// resize notes the terminal's size, and reports whether it is a new one. It does not write.
func (v *view) resize(cols, rows int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.terminal == (size{cols, rows}) {
		return false
	}
	v.terminal = size{cols, rows}
	if !v.owner { // else the window follows, and a redraw comes with it
		signal(v.resync)
	}
	return true
}

func (v *view) setWindow(f sessions.Frame) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f.Cols > 0 && f.Rows > 0 {
		v.window = size{f.Cols, f.Rows}
	}
	v.owner = f.Owner
}

// scrollAway moves what the terminal showed before into its scrollback, once. The caller holds writing.
func (v *view) scrollAway() {
	if v.scrolled {
		return
	}
	v.scrolled = true
	v.mu.Lock()
	rows := v.terminal.rows
	v.mu.Unlock()
	b := []byte("\x1b[9999;1H")
	for range rows {
		b = append(b, '\n')
	}
	v.write(append(b, "\x1b[H"...))
}

// write sends b. That the terminal is gone its reader notices too, so the error is of no use here.
func (v *view) write(b []byte) { _, _ = v.out.Write(b) }

func (v *view) end(o Outcome) {
	select {
	case v.ended <- o:
	default: // it has ended already
	}
}

// finish makes the view ignore what still comes.
func (v *view) finish() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.finished = true
}

func (v *view) isFinished() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.finished
}

// signal fills a channel that holds one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
