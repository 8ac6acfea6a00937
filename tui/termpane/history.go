package termpane

import (
	"bytes"

	"corral/sessions"
	"corral/tui/keys"
	"corral/tui/scrollback"
	"corral/vt"
)

// Looking back. The loop owns the view; the feed hands it snapshots, which are taken by a resync: the runtime sends the
// history as it was when it drew the screen that follows, so that between them no line is missing and none is twice.

// LookBack opens the view of what the session has printed, of the present screen at first; nothing is asked for yet.
func (p *Pane) LookBack(m *keys.Map, w, h int) *scrollback.View {
	if p.view == nil {
		p.typed.Store(false)
		p.printed.Store(false)
		p.view = scrollback.New(m, p.Frame(), w, h)
		p.looking.Store(true)
	}
	return p.view
}

// View returns the view of what the session has printed, nil while the live screen is shown.
func (p *Pane) View() *scrollback.View { return p.view }

// ShowLive goes back to the live screen.
func (p *Pane) ShowLive() {
	p.looking.Store(false)
	p.view = nil
	p.snapshot.Store(nil)
	p.mu.Lock()
	p.wanted = 0
	p.mu.Unlock()
}

// Replay asks for a snapshot with so many lines of history. It reports false when there is nobody to ask.
func (p *Pane) Replay(lines int) bool {
	p.mu.Lock()
	s, live := p.stream, p.status.Link.State == sessions.LinkLive
	if s != nil && live {
		p.wanted = lines
	}
	p.mu.Unlock()
	if s == nil || !live {
		return false
	}
	s.Replay(lines)
	return true
}

// CatchUp brings the view up to date with what the stream has brought since: a snapshot, word that the session printed, or
// a key, which goes to the program and shows its live screen. It reports whether something was printed.
func (p *Pane) CatchUp() (printed bool) {
	if p.view == nil {
		return false
	}
	if p.typed.Swap(false) {
		p.ShowLive()
		return false
	}
	if s := p.snapshot.Swap(nil); s != nil {
		p.view.Set(*s)
	}
	switch state := p.Status().Link.State; {
	case state == sessions.LinkEnded:
		p.view.Unavailable("the session has ended; this is its last screen")
	case state == sessions.LinkReconnecting:
		p.view.Unavailable("cut off; the history comes with the connection")
	}
	if p.printed.Swap(false) {
		p.view.Printed(0)
		return true
	}
	return false
}

// noteTyped makes a key go back to the live screen, unless it is the terminal's own report of the mouse or the focus.
func (p *Pane) noteTyped(b []byte) {
	if p.byHand.Swap(false) {
		p.rehome.Store(true)
	}
	if !p.looking.Load() || bytes.HasPrefix(b, []byte("\x1b[<")) || string(b) == "\x1b[I" || string(b) == "\x1b[O" {
		return
	}
	if !p.typed.Swap(true) {
		p.changed()
	}
}

// replay is history that the stream is bringing.
type replay struct {
	missing   int // bytes still to come
	text      bytes.Buffer
	truncated bool
	rows      int
}

// replayed takes the frame that announces history.
func (f *feed) replayed(m sessions.Frame) {
	f.replay = &replay{missing: max(m.Bytes, 0), truncated: m.Truncated, rows: m.Total}
	if m.Bytes > 0 {
		f.note(func(s *Status) { s.Phase = Replaying })
	}
}

// take takes the part of b that is history and returns the rest.
func (r *replay) take(b []byte) []byte {
	if r == nil {
		return b
	}
	n := min(r.missing, len(b))
	r.text.Write(b[:n])
	r.missing -= n
	return b[n:]
}

// snapshot hands the loop what a replay and the restore behind it have brought, if somebody waits for it. An attach brings
// a replay of its own, which nobody asked for.
func (f *feed) snapshot(screen *vt.Frame) {
	r, p := f.replay, f.pane
	f.replay = nil
	p.mu.Lock()
	asked := p.wanted > 0 && !f.attaching
	if asked {
		p.wanted = 0
	}
	p.mu.Unlock()
	if r == nil || !asked {
		return
	}
	p.printed.Store(false)
	p.snapshot.Store(&scrollback.Snapshot{
		History: vt.ParseHistory(r.text.Bytes()), Truncated: r.truncated, Rows: r.rows, Screen: screen,
	})
}

// askAgain repeats a wish for history that a cut has swallowed.
func (f *feed) askAgain() {
	p := f.pane
	p.mu.Lock()
	s, lines := p.stream, p.wanted
	p.mu.Unlock()
	if s != nil && lines > 0 {
		s.Replay(lines)
	}
}
