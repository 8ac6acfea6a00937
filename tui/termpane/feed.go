package termpane

import (
	"bytes"
	"fmt"
	"time"

	"corral/sessions"
	"corral/vt"
)

// feed takes what one stream brings. A pane that was opened anew has another feed, and the old one is not listened to.
type feed struct {
	pane       *Pane
	cols, rows int  // of the session's window, as last told
	attaching  bool // from attached to live
	widths     *vt.Widths
	faulted    time.Time // when a fault of the emulator last had the screen asked for anew; guarded by pane.mu
	replay     *replay
}

var _ sessions.StreamHandler = (*feed)(nil)

// StreamFrame takes a control frame.
func (f *feed) StreamFrame(m sessions.Frame) {
	switch m.Type {
	case sessions.FrameAttached:
		f.size(m)
		f.widths = vt.WidthsOf(m.Widths)
		f.attaching, f.replay = true, nil
		f.note(func(s *Status) {
			s.Owner, s.State, s.Held = m.Owner, m.State, f.pane.holds // a new viewer has held nothing yet
		})
	case sessions.FrameReplay:
		f.replayed(m)
	case sessions.FrameBehind:
		f.note(func(s *Status) { s.Phase = Behind })
	case sessions.FrameLive:
		f.attaching = false
		f.note(func(s *Status) { s.Phase = Live })
	case sessions.FrameViewers:
		f.note(func(s *Status) { s.Attached, s.Watching = m.Attached, m.Watching })
	case sessions.FrameClipboard, sessions.FrameError:
		if f.pane.cfg.Told != nil && f.current() {
			f.pane.cfg.Told(f.pane.cfg.ID, m)
		}
	case sessions.FrameRestore:
		f.restore(m)
	case sessions.FrameSize:
		f.size(m)
		// The emulator is resized here, before the bytes for the new size come: the other order leaves wrong cells until
		// the next full redraw.
		if f.current() && f.cols > 0 && f.rows > 0 {
			f.pane.screen.Load().Resize(f.cols, f.rows)
		}
		f.note(func(s *Status) { s.Owner = m.Owner })
	case sessions.FrameState:
		f.note(func(s *Status) { s.State = m.State })
	case sessions.FrameEnded:
		f.note(func(s *Status) {
			s.Ended, s.State, s.ExitCode = true, m.State, m.ExitCode
			if s.At.IsZero() && m.At != nil {
				s.At = *m.At
			}
		})
	case sessions.FramePong: // the stream's own
	case sessions.FrameResize, sessions.FramePaste, sessions.FrameOwn, sessions.FrameRelease, sessions.FramePing,
		sessions.FrameResync:
		// The other direction's.
	}
}

// StreamBytes takes what the program printed.
func (f *feed) StreamBytes(b []byte) {
	if !f.current() {
		return
	}
	if b = f.replay.take(b); len(b) == 0 {
		return
	}
	if f.pane.looking.Load() {
		f.pane.printed.Store(true)
	}
	screen := f.pane.screen.Load()
	_, _ = screen.Write(b) // a screen takes everything
	f.pane.settled()       // what was pending may be in it
	if held := screen.Held(); held > 0 {
		f.pane.announceIn(held)
	}
	f.pane.changed()
}

// StreamLink takes the state of the connection.
func (f *feed) StreamLink(l sessions.Link) {
	f.note(func(s *Status) {
		s.Link = l
		s.Dropped = max(s.Dropped, l.Dropped) // the stream tells late of what was dropped while it connects
	})
	if l.State == sessions.LinkLive {
		f.askAgain()
	}
}

func (f *feed) size(m sessions.Frame) {
	if m.Cols > 0 && m.Rows > 0 {
		f.cols, f.rows = m.Cols, m.Rows
	}
}

// restore makes the screen what the frame says it is, whatever it showed before.
func (f *feed) restore(m sessions.Frame) {
	if !f.current() {
		return
	}
	f.size(m)
	cols, rows := f.cols, f.rows
	if cols == 0 || rows == 0 { // a server that told no size
		cols, rows = f.pane.Frame().Cols, f.pane.Frame().Rows
	}
	screen := vt.New(cols, rows, vt.WithWidths(f.widths), vt.OnFault(f.fault))
	_, _ = screen.Write([]byte(m.ScreenText))
	_, _ = screen.Write(settle(m, screen.Frame().Cursor))
	f.pane.screen.Store(screen)
	f.snapshot(screen.Frame())
	f.note(func(s *Status) {
		s.Restored, s.Pending, s.At = true, m.PendingInput, time.Time{}
		if m.At != nil {
			s.At = *m.At
		}
	})
}

// settle returns what is left to be written after the text of a restore: the modes, and the cursor's position when the
// text did not leave it there. The cursor is not moved without need, because that would undo a pending wrap.
func settle(m sessions.Frame, at vt.Cursor) []byte {
	var b bytes.Buffer
	if modes := m.Modes; modes != nil {
		set := func(mode int, on bool) {
			end := byte('l')
			if on {
				end = 'h'
			}
			fmt.Fprintf(&b, "\x1b[?%d%c", mode, end)
		}
		// Not the alternate screen: the attach stream is drawn on one screen whatever the program does (design section 2).
		set(1, modes.ApplicationKeys)
		set(2004, modes.BracketedPaste)
		for _, tracking := range []int{1000, 1002, 1003} {
			set(tracking, false)
		}
		if modes.MouseTracking != 0 {
			set(modes.MouseTracking, true)
		}
		set(1006, modes.MouseSGR)
		set(1004, modes.FocusEvents)
		set(25, !modes.CursorHidden)
	}
	if m.CursorRow != nil && m.CursorColumn != nil && (*m.CursorRow != at.Row || *m.CursorColumn != at.Col) {
		fmt.Fprintf(&b, "\x1b[%d;%dH", *m.CursorRow+1, *m.CursorColumn+1)
	}
	return b.Bytes()
}

// faultPause is the least time between two fresh screens that are asked for because of a fault of the emulator.
const faultPause = 10 * time.Second

// fault takes note that the emulator had a fault and shows nothing any more: the session's screen is asked for.
func (f *feed) fault(fault any, stack []byte) {
	if f.pane.cfg.Fault != nil {
		f.pane.cfg.Fault(f.pane.cfg.ID, fault, stack)
	}
	f.pane.mu.Lock()
	s := f.pane.stream
	if time.Since(f.faulted) < faultPause { // it would only be the same again
		s = nil
	} else {
		f.faulted = time.Now()
	}
	f.pane.mu.Unlock()
	if s != nil {
		s.Resync()
	}
}

// settled forgets the pending input: the program has printed since, and from here on its screen shows what was typed.
func (p *Pane) settled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Pending = ""
}

// current reports whether this feed is still the pane's.
func (f *feed) current() bool {
	f.pane.mu.Lock()
	defer f.pane.mu.Unlock()
	return f.pane.feed == f
}

// note changes the pane's status.
func (f *feed) note(change func(*Status)) {
	p := f.pane
	p.mu.Lock()
	current := p.feed == f
	if current {
		change(&p.status)
	}
	p.mu.Unlock()
	if current {
		p.changed()
	}
}

// announceIn tells of a change again when a synchronized update will have stopped holding it back.
func (p *Pane) announceIn(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.feed == nil {
		return
	}
	if p.late == nil {
		p.late = time.AfterFunc(d, p.changed)
	} else {
		p.late.Reset(d)
	}
}
