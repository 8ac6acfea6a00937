// Package rawattach shows one session on the whole terminal, without the dashboard: the bytes of the session go to the
// terminal as they are, and what is typed goes to the session untouched, but for the prefix key.
//
// The prefix detaches. Pressed twice within doublePress it goes to the program, so a single one takes effect after that
// time, or with the next key.
//
// While the session's window has another size than the terminal (somebody else's keyboard decides it) its bytes would draw
// nonsense; then they go through the emulator, and the part round the cursor is drawn.
//
// Two goroutines write to the terminal, under view.writing: the stream's, and the one that keeps the note about a broken
// link up to date. A terminal that takes nothing holds up these two. The goroutine of Run, which waits for what ends the
// attachment, never writes. Run returns after all of them have ended.
package rawattach

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/terminal"
	"corral/vt"
)

// Stream is the part of a viewer's stream that is needed here; tui.Stream says what each method does.
type Stream interface {
	Send(p []byte) bool
	Paste(p []byte) bool
	Resize(cols, rows int)
	Own()
	Resync()
	Wake()
	Close()
}

// Attach opens a stream that reconnects by itself.
type Attach func(sessions.StreamOptions, sessions.StreamHandler) Stream

// Options are the rest of what Run needs.
type Options struct {
	Env       terminal.Env
	Replay    int    // lines of history to print first
	Client    string // sessions.StreamOptions.Client
	ReadOnly  bool
	Alternate bool         // on the alternate screen, for a while only
	StatePath string       // as terminal.Config.StatePath
	Prefix    terminal.Key // detaches; pressed twice it goes to the program. The zero Key is terminal.DefaultPrefix
	Clipboard Clipboard    // what happens to what the program copies; the zero value is ClipboardOff
	Log       *slog.Logger
}

// How says how an attachment ended.
type How string

// The ways an attachment ends.
const (
	Detached How = "detached" // by the prefix key
	Exited   How = "exited"   // the session ended: Outcome.State, Outcome.ExitCode
	Cut      How = "cut"      // the stream ended for good for another reason, or ctx did: Outcome.Err
	HungUp   How = "hung up"  // the terminal is gone
)

// Outcome says how an attachment ended.
type Outcome struct {
	How      How
	State    sessions.State
	ExitCode *int
	Err      error
}

// Clipboard says what happens to what a program copies to the clipboard.
type Clipboard string

// The ways to treat it, as the configuration names them.
const (
	ClipboardOff    Clipboard = "off"
	ClipboardNotify Clipboard = "notify" // a line says that it was tried
	ClipboardOn     Clipboard = "on"     // the terminal gets it
)

// doublePress is how long the second press of the prefix may take.
const doublePress = 400 * time.Millisecond

// Run attaches until the user detaches, the session ends, the stream is cut for good, or ctx ends. The terminal is
// restored when it returns. The error is about the terminal only; how the session fared is in Outcome.
func Run(ctx context.Context, in, out *os.File, attach Attach, o Options) (Outcome, error) {
	if o.Prefix == (terminal.Key{}) {
		o.Prefix = terminal.DefaultPrefix
	}
	term, err := terminal.Open(terminal.Config{
		In: in, Out: out, Env: o.Env, StatePath: o.StatePath, Prefix: o.Prefix, Log: o.Log, Bare: true, Alternate: o.Alternate,
	})
	if err != nil {
		return Outcome{}, err
	}
	defer term.Close() //nolint:errcheck // only after a panic; else it was closed below

	cols, rows := term.Size()
	r := &run{
		term: term, view: newView(term, viewOptions{term.Profile(), o.Prefix, o.Clipboard}, cols, rows), prefix: o.Prefix, readOnly: o.ReadOnly,
		pieces: make(chan []byte), handled: make(chan struct{}), over: make(chan struct{}),
	}
	r.view.scrolled = o.Alternate
	r.stream = attach(sessions.StreamOptions{
		Cols: cols, Rows: rows, Replay: o.Replay, Mode: sessions.ModeRaw, ReadOnly: o.ReadOnly, Client: o.Client,
	}, r.view)
	if !o.ReadOnly {
		r.stream.Own()
	}
	term.SetBarrier(r.barrier)
	// What the program wants of mouse and focus it tells the terminal itself, so all that comes is for it.
	term.SetModes(vt.Modes{MouseTracking: 1003, FocusEvents: true})
	r.divert()
	var helpers sync.WaitGroup
	helpers.Go(r.read)
	helpers.Go(func() { r.view.annotate(r.over) })

	outcome := r.loop(ctx)
	r.view.finish()
	close(r.over)
	// The terminal first: that ends a write which would hold up the stream.
	if err = term.Close(); err != nil {
		err = fmt.Errorf("give the terminal back: %w", err)
	}
	r.stream.Close()
	helpers.Wait()
	if outcome.How == HungUp {
		err = nil // there is nothing to give back
	}
	return outcome, err
}

// run is one attachment.
type run struct {
	term     *terminal.Terminal
	view     *view
	stream   Stream
	prefix   terminal.Key
	readOnly bool

	pieces  chan []byte   // what was typed while the session did not have the keyboard
	handled chan struct{} // received from when all pieces sent before were handled
	over    chan struct{}
}

// Input and Paste make run the terminal's sink. What is dropped the view counts and shows.
func (r *run) Input(p []byte) {
	if !r.readOnly && !r.stream.Send(p) {
		r.view.missed(sessions.CountKeys(p))
	}
}

// Paste takes one whole paste.
func (r *run) Paste(p []byte) {
	if !r.readOnly && !r.stream.Paste(p) {
		r.view.missed(1)
	}
}

// divert gives the session the keyboard, and the whole terminal for the mouse, however large that is.
func (r *run) divert() { r.term.Divert(r, canvas.Rect{W: math.MaxInt32, H: math.MaxInt32}) }

// read passes on what is typed behind a prefix.
func (r *run) read() {
	buf := make([]byte, 4096)
	for {
		n, err := r.term.Input().Read(buf)
		if err != nil {
			return
		}
		if n == 0 {
			continue
		}
		select {
		case r.pieces <- append([]byte(nil), buf[:n]...):
		case <-r.over:
		}
	}
}

// barrier returns when loop is done with what read gave it.
func (r *run) barrier() {
	select {
	case <-r.handled:
	case <-r.over:
	}
}

// loop waits for whatever ends the attachment.
func (r *run) loop(ctx context.Context) Outcome {
	second := time.NewTimer(0) // for the second press of the prefix
	second.Stop()
	pressed := false
	for {
		select {
		case <-ctx.Done():
			return Outcome{How: Cut, Err: context.Cause(ctx)}
		case o := <-r.view.ended:
			return o
		case r.handled <- struct{}{}:
		case <-second.C:
			return Outcome{How: Detached}
		case p := <-r.pieces:
			switch {
			case string(p) == string(r.prefix.Bytes()) && !pressed:
				pressed = true
				second.Reset(doublePress)
			case string(p) == string(r.prefix.Bytes()):
				pressed = false
				second.Stop()
				r.Input(p)
				r.divert()
			case p[0] == 0x1b && len(p) > 2 && (p[2] == '<' || p[2] == 'M'):
				// The mouse moves on while the prefix is pressed.
			default:
				return Outcome{How: Detached}
			}
		case <-r.view.resync:
			r.stream.Resync()
		case ev, ok := <-r.term.Events():
			if !ok {
				return Outcome{How: HungUp}
			}
			if gone := r.event(ev); gone {
				return Outcome{How: HungUp}
			}
		}
	}
}

// event handles what the terminal says; true means that it is gone.
func (r *run) event(ev terminal.Event) bool {
	switch ev := ev.(type) {
	case terminal.Gone:
		return true
	case terminal.Resized:
		if r.view.resize(ev.Cols, ev.Rows) { // the first one tells the size that is known
			r.stream.Resize(ev.Cols, ev.Rows)
		}
	case terminal.Resumed:
		r.stream.Wake()
		r.stream.Resync()
	case terminal.Focus:
		if ev.In {
			r.stream.Wake()
		}
	case terminal.Background, terminal.Foreground, terminal.SyncSupported, terminal.PasteTooLarge:
		// nothing was asked; a paste that is too large is dropped
	}
	return false
}
