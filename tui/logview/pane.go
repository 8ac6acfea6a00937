// Package logview is the viewer of a log: it opens a file of any size at its end, follows it while it grows, scrolls,
// searches and filters, and shows whatever a program printed without obeying it.
//
// A Pane never holds a log: it reads what is on the screen, in blocks, and searches it in chunks. Its memory is bounded
// by constants, besides one count for each MiB of a log that is searched: about 4 MiB of blocks, 10 MiB of laid out lines
// and 6 MiB for a search.
//
// Goroutines: Open starts two, which Close waits for. One listens for the log's growth; the other, the engine, owns all
// that decides what is shown, obeys the keys in order, reads, and publishes immutable pictures; while it searches it has
// the next chunks read by a few more, and ends when they have. The dashboard's loop only
// queues commands and draws the newest picture; nothing here makes it wait. A pane says that it looks different through
// Config.Changed, which must not block.
package logview

import (
	"context"
	"sync"
	"sync/atomic"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/keys"
)

// Config is what a pane is made of.
type Config struct {
	ID     sessions.ID
	Source Source
	Keys   *keys.Map
	// Copy hands text to the user's clipboard. It must not block.
	Copy func([]byte)
	// Changed is called when a visible pane looks different. It must not block.
	Changed func(sessions.ID)
}

// commandsMost bounds the keys that wait for the engine; those that come while it is stuck are dropped.
const commandsMost = 64

// Pane shows one log.
type Pane struct {
	cfg      Config
	commands chan command
	picture  atomic.Pointer[picture]
	visible  atomic.Bool

	asked *question // the loop's; nil when nothing is asked
	last  Pattern   // the loop's; searched for last

	mu     sync.Mutex
	cancel context.CancelFunc // guarded by mu; nil when not open
	closed bool               // guarded by mu
	ended  sync.WaitGroup
}

// New returns a pane that shows nothing yet.
func New(cfg Config, w, h int) *Pane {
	p := &Pane{cfg: cfg, commands: make(chan command, commandsMost)}
	p.picture.Store(&picture{})
	p.Resize(w, h)
	return p
}

// ID returns whose log is shown.
func (p *Pane) ID() sessions.ID { return p.cfg.ID }

// Open begins to read. Once is enough.
func (p *Pane) Open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil || p.closed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	tell := make(chan news)
	e := newEngine(ctx, p.cfg.Source, p.publish, p.cfg.Copy)
	p.ended.Go(func() { listen(ctx, p.cfg.Source, tell) })
	p.ended.Go(func() { e.run(p.commands, tell) })
}

// Stop ends the reading and waits for nothing.
func (p *Pane) Stop() {
	p.visible.Store(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.cancel != nil {
		p.cancel()
	}
}

// Close ends the reading and waits for it; it does not belong into the loop.
func (p *Pane) Close() {
	p.Stop()
	p.ended.Wait()
}

// SetVisible says whether somebody looks: a hidden pane reads nothing but the log's size.
func (p *Pane) SetVisible(v bool) {
	p.visible.Store(v)
	p.tell(func(e *engine) { e.visible = v })
}

// Resize tells the size of the pane's area, of which the last row is the status line.
func (p *Pane) Resize(w, h int) {
	p.tell(func(e *engine) { e.w, e.h = max(w, 1), max(h-1, 0) })
}

// Scroll moves the view, as by a mouse's wheel.
func (p *Pane) Scroll(rows int) { p.tell(func(e *engine) { e.notice = ""; e.scroll(rows) }) }

// HandleKey takes one key press and reports whether the user is done with the log.
func (p *Pane) HandleKey(k tea.KeyMsg) (done bool) {
	if p.asked != nil {
		p.answer(k)
		return false
	}
	if k.Paste {
		return false
	}
	action := p.cfg.Keys.Lookup(keys.Log, k.String())
	switch action {
	case keys.None:
		return false
	case keys.Leave:
		if p.picture.Load().chosen {
			p.tell(func(e *engine) { e.selected = nil })
			return false
		}
		return true
	case keys.Search, keys.Filter, keys.Goto, keys.Save:
		p.ask(action)
		return false
	}
	p.tell(func(e *engine) {
		e.notice = ""
		e.act(action)
	})
	return false
}

// act does what a key asks for.
func (e *engine) act(a keys.Action) {
	if e.selected != nil && e.actSelecting(a) {
		return
	}
	switch a {
	case keys.Down:
		e.scroll(1)
	case keys.Up:
		e.scroll(-1)
	case keys.PageDown:
		e.scroll(max(e.h-1, 1))
	case keys.PageUp:
		e.scroll(-max(e.h-1, 1))
	case keys.HalfDown:
		e.scroll(max(e.h/2, 1))
	case keys.HalfUp:
		e.scroll(-max(e.h/2, 1))
	case keys.Top:
		e.showBegin()
	case keys.Bottom:
		e.job = nil
		e.showEnd()
	case keys.Left:
		e.shiftBy(-max(e.w/2, 1))
	case keys.Right:
		e.shiftBy(max(e.w/2, 1))
	case keys.LineStart:
		e.column = 0
	case keys.Wrap:
		e.toggleWrap()
	case keys.Next:
		e.again(true)
	case keys.Previous:
		e.again(false)
	case keys.More:
		e.widen(1)
	case keys.Less:
		e.widen(-1)
	case keys.Times:
		e.toggleStamps()
	case keys.Select:
		e.toggleSelection()
	case keys.Copy:
		e.copy()
	default: // the loop's
	}
}

// actSelecting does what a key means while lines are selected, and reports whether it means something else than usual.
func (e *engine) actSelecting(a keys.Action) bool {
	switch a {
	case keys.Down:
		e.extend(1)
	case keys.Up:
		e.extend(-1)
	case keys.PageDown:
		e.extend(max(e.h-1, 1))
	case keys.PageUp:
		e.extend(-max(e.h-1, 1))
	case keys.HalfDown:
		e.extend(max(e.h/2, 1))
	case keys.HalfUp:
		e.extend(-max(e.h/2, 1))
	default:
		return false
	}
	return true
}

// tell queues a command.
func (p *Pane) tell(c command) {
	select {
	case p.commands <- c:
	default:
	}
}

func (p *Pane) publish(pic *picture) {
	p.picture.Store(pic)
	if p.visible.Load() {
		p.cfg.Changed(p.cfg.ID)
	}
}
