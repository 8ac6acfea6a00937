package terminal

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"corral/tui/canvas"
	_ "corral/tui/internal/nobackgroundquery" // nor may Bubble Tea talk to the terminal, not even before main
	"corral/vt"
)

// leaveTime bounds each of the two steps of giving the terminal back, to end the write under way and to reset the modes,
// so that a dead terminal holds Close up for 300 ms at most.
const leaveTime = 150 * time.Millisecond

// Terminal is the user's terminal. Its methods may be called from any goroutine and, but for Write, Close, Suspend,
// Resume and StopProcess, never wait for the terminal.
type Terminal struct {
	log     *slog.Logger
	caps    capabilities
	bare    bool // the caller writes
	use     use
	mouseOn bool // the dashboard wants the mouse

	tty     *tty
	events  *events
	router  *router
	input   *Input
	reader  *reader
	painter *painter // nil when bare

	signals     chan os.Signal
	signalsDone chan struct{}

	wrote   atomic.Bool // Write was used
	writing sync.Mutex  // Write, when bare; never taken while mu is held but by writerEnds, which does not wait for ever
	held    atomic.Bool // the terminal is ours at the moment; changes under mu

	mu        sync.Mutex // what follows, and the changes between held and not
	closed    bool
	abandoned bool // a write never returned: nothing may be written any more
	mouse     int  // the level of mouse tracking that is on
	loop      *readLoop
}

// Open takes the user's terminal: raw mode, alternate screen, hidden cursor. The caller must Close it on every way out. What
// the terminal has to say (size, colours, synchronized output) comes as Events. An error is a *sessions.Error when a person
// can do something about it.
func Open(c Config) (*Terminal, error) {
	if err := check(c); err != nil {
		return nil, err
	}
	if c.Prefix == (Key{}) {
		c.Prefix = DefaultPrefix
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	t := &Terminal{
		log: c.Log, caps: capabilitiesOf(c.Env), bare: c.Bare, mouseOn: c.Mouse,
		tty: openTTY(c.In, c.Out, c.StatePath), events: newEvents(),
		router: &router{prefix: c.Prefix}, use: c.use(),
		signals: make(chan os.Signal, 8), signalsDone: make(chan struct{}),
	}
	var err error
	if t.input, err = newInput(t.router); err != nil {
		return nil, err
	}
	t.router.ready = t.input.mark
	t.reader = &reader{
		fd: int(c.In.Fd()), lex: lexer{prefix: c.Prefix}, router: t.router, events: t.events, reply: t.reply,
	}
	if !t.bare {
		o := canvas.Options{Profile: t.caps.profile, Links: !t.caps.plain, Shapes: !t.caps.plain}
		t.painter = newPainter(o, t.tty.write, func(err error) { t.events.send(Gone{Err: err}) })
	}
	t.mouse = mouseLevel(t.mouseOn, vt.Modes{})
	first, err := t.cleanUp()
	if err != nil {
		t.log.Warn("the state of the last use of this terminal is unknown", "err", err)
	}
	first = append(first, enter(t.caps, t.use, t.mouse)...)
	if !t.caps.plain && !t.bare {
		first = append(first, queries...)
	}
	if err := t.take(first); err != nil {
		t.tty.close()
		return nil, err
	}
	signal.Notify(t.signals, unix.SIGWINCH, unix.SIGCONT)
	go t.watchSignals()
	return t, nil
}

// cleanUp returns what resets a terminal that a killed Corral left behind.
func (t *Terminal) cleanUp() ([]byte, error) {
	left, err := t.tty.recover()
	if !left {
		return nil, err
	}
	t.log.Info("resetting a terminal that was left in our modes")
	return append([]byte(endString), leave(t.caps, frames)...), err
}

// take makes the terminal ours: line discipline, modes, goroutines. The caller holds mu, or is Open.
func (t *Terminal) take(first []byte) error {
	if err := t.tty.raw(); err != nil {
		return err
	}
	if err := t.tty.hold(); err != nil {
		t.log.Warn("a kill of this process would leave the terminal in our modes", "err", err)
	}
	loop, err := t.reader.start()
	if err != nil {
		return errors.Join(err, t.tty.cooked())
	}
	t.loop = loop
	if t.bare {
		t.tty.giveUp(leaveTime)
		if err := t.bounded(first); err != nil {
			t.log.Warn("the terminal took no output at the start", "err", err)
		}
	}
	t.tty.giveUp(0)
	if !t.bare {
		t.painter.start(first)
	}
	t.held.Store(true)
	t.resized()
	return nil
}

// give makes the terminal the user's again. The caller holds mu.
func (t *Terminal) give() error {
	t.held.Store(false)
	t.loop.stop()
	if !t.bare {
		close(t.painter.stop)
	}
	t.tty.giveUp(leaveTime)
	if !t.writerEnds() {
		t.abandoned = true
		t.log.Warn("the terminal takes no more output")
	}
	var err error
	if !t.abandoned {
		var b []byte
		if t.tty.partial.Load() {
			b = append(b, endString...)
		}
		t.tty.giveUp(leaveTime)
		b = append(b, leave(t.caps, t.use)...)
		if t.use == plainScreen && t.wrote.Load() {
			b = append(b, belowScreen...)
		}
		err = t.bounded(b)
	}
	t.tty.release()
	return errors.Join(err, t.tty.cooked())
}

// writerEnds waits until nobody writes any more. It is false when that takes too long, which happens only where writes
// cannot have a deadline.
func (t *Terminal) writerEnds() bool {
	done := make(chan struct{})
	if t.bare {
		go func() {
			defer close(done)
			t.writing.Lock()
			defer t.writing.Unlock()
		}()
	} else {
		go func() {
			defer close(done)
			<-t.painter.done
		}()
	}
	select {
	case <-done:
		return true
	case <-time.After(leaveTime + 10*time.Millisecond): // after the deadline of the write
		return false
	}
}

// bounded writes b and waits for that no longer than leaveTime, also where writes have no deadline.
func (t *Terminal) bounded(b []byte) error {
	done := make(chan error, 1)
	go func() { done <- t.tty.write(b) }()
	select {
	case err := <-done:
		return err
	case <-time.After(leaveTime + 10*time.Millisecond):
		t.abandoned = true
		return fmt.Errorf("write to the terminal: %w", os.ErrDeadlineExceeded)
	}
}

// Close restores the terminal. It may be called twice, and takes at most 300 ms when the terminal is dead. After it Events
// is closed and Input at its end.
func (t *Terminal) Close() error {
	err := t.shut()
	<-t.signalsDone
	return err
}

func (t *Terminal) shut() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	signal.Stop(t.signals)
	close(t.signals)
	var err error
	if t.held.Load() {
		err = t.give()
	}
	t.input.close()
	t.events.close()
	t.tty.close()
	return err
}

// Size returns the size of the terminal in cells.
func (t *Terminal) Size() (cols, rows int) { return t.tty.size() }

// Profile returns the colours that the terminal is taken to show.
func (t *Terminal) Profile() vt.Profile { return t.caps.profile }

// Events brings what the terminal and the kernel say. It is closed by Close. Of events that nobody takes the newest 64 are
// kept.
func (t *Terminal) Events() <-chan Event { return t.events.ch }

// Input is what tea.WithInput takes: the keys, pastes and mouse reports that are not diverted.
func (t *Terminal) Input() *Input { return t.input }

// SetBarrier hands in a function that returns once everything that Input gave out before has been handled. With Bubble
// Tea that is `func() { program.Send(nil) }`: the program takes a message only when it is done with the one before, and
// ignores nil. Set it before the program runs. Without it keys typed right behind the one that leads to Divert may be
// misrouted.
func (t *Terminal) SetBarrier(f func()) { t.input.barrier = f }

// Divert gives the keyboard to a pane whose screen is shown in area. Call it from Update while handling the key that asked
// for it: everything typed after that key goes to the pane. The prefix key gives the
// keyboard back; it reaches the dashboard as a key (Key.Bytes of the configured prefix, whatever form the terminal sent),
// in its place among the others.
func (t *Terminal) Divert(s Sink, area canvas.Rect) { t.router.divert(s, area) }

// Move tells that the screen of the pane that has the keyboard is shown in another area. If the keyboard has been given back
// meanwhile, as by a prefix key that Update has not heard of yet, it stays so.
func (t *Terminal) Move(area canvas.Rect) { t.router.move(area) }

// Undivert gives the keyboard back to the dashboard, as for a session that ended.
func (t *Terminal) Undivert() { t.router.undivert() }

// SetModes says which modes the program in the pane that has the keyboard has switched on; the zero Modes when none has
// it. The terminal's mouse tracking follows. Bracketed paste and focus reports are always on: the Sink gets pastes whole
// whatever the program asked for, and focus reports only if it asked.
func (t *Terminal) SetModes(m vt.Modes) {
	t.router.setModes(m)
	t.mu.Lock()
	defer t.mu.Unlock()
	level := mouseLevel(t.mouseOn, m)
	if t.held.Load() && !t.bare {
		t.painter.send(appendMouse(nil, t.mouse, level))
	}
	t.mouse = level
}

// Present shows c as soon as the terminal takes it; a frame that was not shown yet is replaced. It takes c's content: c is
// left blank, with the size it had.
func (t *Terminal) Present(c *canvas.Canvas) {
	if t.painter != nil {
		t.painter.present(c)
	}
}

// Copy puts text into the user's clipboard, if the terminal allows it: OSC 52, which xterm, kitty, WezTerm, iTerm2 and tmux
// know and others ignore.
func (t *Terminal) Copy(text []byte) {
	if t.painter == nil || !t.held.Load() || t.bare {
		return
	}
	t.painter.send(fmt.Appendf(nil, "\x1b]52;c;%s\x1b\\", base64.StdEncoding.EncodeToString(text)))
}

// Invalidate repaints everything, for a terminal that somebody else wrote to.
func (t *Terminal) Invalidate() {
	if t.painter != nil {
		t.painter.invalidate()
	}
}

// Write sends bytes to the terminal as they are and waits until it took them. It is for a bare Terminal only.
func (t *Terminal) Write(p []byte) (int, error) {
	if !t.bare {
		return 0, errors.New("write to a terminal that shows frames")
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	if !t.held.Load() {
		return 0, io.ErrClosedPipe
	}
	t.wrote.Store(true)
	if err := t.tty.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// reply turns an answer of the terminal into an event.
func (t *Terminal) reply(b []byte) {
	switch ev := parseReply(b).(type) {
	case nil:
	case SyncSupported:
		if t.painter != nil {
			t.painter.syncSupported()
		}
		t.events.send(ev)
	default:
		t.events.send(ev)
	}
}

func (t *Terminal) resized() {
	cols, rows := t.tty.size()
	t.events.send(Resized{Cols: cols, Rows: rows})
}
