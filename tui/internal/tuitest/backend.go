// Package tuitest is what tests of the dashboard use: a Backend that counts its calls and obeys the test, a display that
// keeps what was presented, a loop that runs the model as Bubble Tea does, and goldens. It waits on events only, with one
// deadline for all.
package tuitest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"corral/sessions"
	"corral/tui"
)

// Backend is a fake tui.Backend. The zero value has no sessions; a nil function answers with zero values.
type Backend struct {
	OnCreate      func(sessions.CreateRequest) (sessions.Session, error)
	OnRestart     func(sessions.ID) (sessions.Session, error)
	OnRestartIn   func(sessions.ID, sessions.ConversationChoice) (sessions.Session, error)
	OnRecovery    func() ([]sessions.Recovery, error)
	OnStop        func(sessions.ID) (sessions.Session, error)
	OnClose       func(sessions.ID) (sessions.Session, error)
	OnUpdate      func(sessions.ID, sessions.UpdateRequest) (sessions.Session, error)
	OnRemove      func(sessions.ID) error
	OnEvents      func(sessions.ID) ([]sessions.Event, error)
	OnDirectories func(string) ([]string, error)
	OnHistory     func(lines, before int) (sessions.History, error)
	OnAttach      func(sessions.ID)
	Tasks         Tasks

	mu      sync.Mutex
	calls   []string         // guarded by mu
	streams []*Stream        // guarded by mu
	watches int              // guarded by mu
	watch   chan func(watch) // guarded by mu; made on first use
}

type watch struct {
	change func(sessions.Change)
	link   func(sessions.Link)
}

var _ tui.Backend = (*Backend)(nil)

// Calls returns the names of the service calls made so far. Attach and Watch do not count: they return at once.
func (b *Backend) Calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.calls...)
}

func (b *Backend) count(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, name)
}

// Create implements tui.SessionService.
func (b *Backend) Create(_ context.Context, r sessions.CreateRequest) (sessions.Session, error) {
	b.count("create")
	if b.OnCreate == nil {
		return sessions.Session{}, nil
	}
	return b.OnCreate(r)
}

// Restart implements tui.SessionService.
func (b *Backend) Restart(_ context.Context, id sessions.ID) (sessions.Session, error) {
	b.count("restart")
	return answer(b.OnRestart, id)
}

// RestartIn implements tui.SessionService.
func (b *Backend) RestartIn(_ context.Context, id sessions.ID, choice sessions.ConversationChoice) (sessions.Session, error) {
	b.count("restart " + string(choice))
	if b.OnRestartIn == nil {
		return sessions.Session{ID: id}, nil
	}
	return b.OnRestartIn(id, choice)
}

// Recovery implements tui.SessionService. It does not count: the dashboard asks by itself.
func (b *Backend) Recovery(context.Context, string) ([]sessions.Recovery, error) {
	if b.OnRecovery == nil {
		return nil, nil
	}
	return b.OnRecovery()
}

// Stop implements tui.SessionService.
func (b *Backend) Stop(_ context.Context, id sessions.ID) (sessions.Session, error) {
	b.count("stop")
	return answer(b.OnStop, id)
}

// Close implements tui.SessionService.
func (b *Backend) Close(_ context.Context, id sessions.ID) (sessions.Session, error) {
	b.count("close")
	return answer(b.OnClose, id)
}

func answer(f func(sessions.ID) (sessions.Session, error), id sessions.ID) (sessions.Session, error) {
	if f == nil {
		return sessions.Session{ID: id}, nil
	}
	return f(id)
}

// Update implements tui.SessionService.
func (b *Backend) Update(_ context.Context, id sessions.ID, r sessions.UpdateRequest) (sessions.Session, error) {
	b.count("update")
	if b.OnUpdate == nil {
		return sessions.Session{ID: id}, nil
	}
	return b.OnUpdate(id, r)
}

// Remove implements tui.SessionService.
func (b *Backend) Remove(_ context.Context, id sessions.ID, _ bool) error {
	b.count("remove")
	if b.OnRemove == nil {
		return nil
	}
	return b.OnRemove(id)
}

// History implements tui.SessionService.
func (b *Backend) History(_ context.Context, id sessions.ID, lines, before int) (sessions.History, error) {
	b.count("history")
	if b.OnHistory == nil {
		return sessions.History{SessionID: id}, nil
	}
	return b.OnHistory(lines, before)
}

// Events implements tui.SessionService.
func (b *Backend) Events(_ context.Context, id sessions.ID) ([]sessions.Event, error) {
	b.count("events")
	if b.OnEvents == nil {
		return nil, nil
	}
	return b.OnEvents(id)
}

// Directories implements tui.SessionService.
func (b *Backend) Directories(_ context.Context, prefix string) ([]string, error) {
	b.count("directories")
	if b.OnDirectories == nil {
		return nil, nil
	}
	return b.OnDirectories(prefix)
}

// Watch implements tui.Watcher: it tells what the test tells.
func (b *Backend) Watch(ctx context.Context, change func(sessions.Change), link func(sessions.Link)) {
	told := b.told()
	b.mu.Lock()
	b.watches++
	b.mu.Unlock()
	for {
		select {
		case f := <-told:
			f(watch{change: change, link: link})
		case <-ctx.Done():
			return
		}
	}
}

// Watches returns how often Watch was called.
func (b *Backend) Watches() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.watches
}

func (b *Backend) told() chan func(watch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watch == nil {
		b.watch = make(chan func(watch))
	}
	return b.watch
}

// Tell makes the watch tell of a change. It returns when the watch has taken it.
func (b *Backend) Tell(c sessions.Change) { b.told() <- func(w watch) { w.change(c) } }

// Link makes the watch tell of its link.
func (b *Backend) Link(l sessions.Link) { b.told() <- func(w watch) { w.link(l) } }

// Attach implements tui.Attacher.
func (b *Backend) Attach(id sessions.ID, o sessions.StreamOptions, h sessions.StreamHandler) tui.Stream {
	if b.OnAttach != nil {
		b.OnAttach(id)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Stream{ID: id, Options: o, Handler: h}
	b.streams = append(b.streams, s)
	return s
}

// Streams returns every stream opened so far, oldest first.
func (b *Backend) Streams() []*Stream {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*Stream(nil), b.streams...)
}

// Stream is a fake tui.Stream. Tests feed it through Handler.
type Stream struct {
	ID      sessions.ID
	Options sessions.StreamOptions
	Handler sessions.StreamHandler

	mu     sync.Mutex
	input  []byte   // guarded by mu
	calls  []string // guarded by mu
	deaf   bool     // guarded by mu
	closed int      // guarded by mu
}

var _ tui.Stream = (*Stream)(nil)

// Live feeds what a healthy stream begins with: attached, a screen, live.
func (s *Stream) Live(cols, rows int, text string) {
	s.Handler.StreamLink(sessions.Link{State: sessions.LinkLive})
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameAttached, SessionID: s.ID, Cols: cols, Rows: rows, State: sessions.Running})
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameReplay})
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameRestore, SessionID: s.ID, ScreenText: text})
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameLive})
}

// End feeds what a stream ends with when its program exits.
func (s *Stream) End(state sessions.State, code int) {
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameEnded, State: state, ExitCode: &code})
	s.Handler.StreamLink(sessions.Link{State: sessions.LinkEnded, Code: sessions.CloseEnded})
}

// Past feeds what the stream of an ended session brings of which only the record is left.
func (s *Stream) Past(cols, rows int, text string, at time.Time, state sessions.State) {
	s.Handler.StreamLink(sessions.Link{State: sessions.LinkLive})
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameAttached, SessionID: s.ID, Cols: cols, Rows: rows, State: state})
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameRestore, SessionID: s.ID, ScreenText: text, At: &at})
	s.Handler.StreamFrame(sessions.Frame{Type: sessions.FrameEnded, State: state})
	s.Handler.StreamLink(sessions.Link{State: sessions.LinkEnded, Code: sessions.CloseEnded})
}

// SetDeaf makes the stream refuse input, as one that is cut does.
func (s *Stream) SetDeaf(deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = deaf
}

// Input returns what was sent.
func (s *Stream) Input() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.input)
}

// Calls returns the names of the calls made, but for Send.
func (s *Stream) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// Closed returns how often the stream was closed.
func (s *Stream) Closed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *Stream) call(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name)
}

// Send implements tui.Stream.
func (s *Stream) Send(p []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf {
		return false
	}
	s.input = append(s.input, p...)
	return true
}

// Paste implements tui.Stream.
func (s *Stream) Paste(p []byte) bool {
	s.call("paste")
	return s.Send(p)
}

// Resize implements tui.Stream.
func (s *Stream) Resize(cols, rows int) { s.call(sizeCall("resize", cols, rows)) }

// Own implements tui.Stream.
func (s *Stream) Own() { s.call("own") }

// Release implements tui.Stream.
func (s *Stream) Release() { s.call("release") }

// Resync implements tui.Stream.
func (s *Stream) Resync() { s.call("resync") }

// Replay implements tui.Stream.
func (s *Stream) Replay(lines int) { s.call(fmt.Sprintf("replay %d", lines)) }

// Wake implements tui.Stream.
func (s *Stream) Wake() { s.call("wake") }

// Close implements tui.Stream.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
}
