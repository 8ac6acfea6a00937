package tui

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/tui/terminal"
)

// frameEvery is the least time between two messages that a pane changed: the painter shows no more (design section 3).
const frameEvery = 4 * time.Millisecond

// pump brings facts from other goroutines to the loop. Those who tell them never wait; what nobody has taken yet is
// merged: a pane has one change pending at most, and of a session only the newest state counts. The memory it holds is
// bounded by the number of sessions.
type pump struct {
	wake  chan struct{} // holds one
	again chan struct{} // holds one; a wish to watch anew

	mu      sync.Mutex
	changes []sessions.Change        // guarded by mu
	link    *sessions.Link           // guarded by mu
	panes   map[sessions.ID]struct{} // guarded by mu
	words   []tea.Msg                // guarded by mu
}

func newPump() *pump {
	return &pump{wake: make(chan struct{}, 1), again: make(chan struct{}, 1), panes: make(map[sessions.ID]struct{})}
}

// change takes a line of the watch.
func (p *pump) change(c sessions.Change) {
	p.mu.Lock()
	p.changes = merge(p.changes, c)
	p.mu.Unlock()
	poke(p.wake)
}

// linked takes the state of the watch's link.
func (p *pump) linked(l sessions.Link) {
	p.mu.Lock()
	p.link = &l
	p.mu.Unlock()
	poke(p.wake)
}

// paneChanged takes note that a pane looks different.
func (p *pump) paneChanged(id sessions.ID) {
	p.mu.Lock()
	p.panes[id] = struct{}{}
	p.mu.Unlock()
	poke(p.wake)
}

// wordsMost bounds the messages that wait: of what is put into the clipboard ten times the last one counts.
const wordsMost = 8

// told takes a frame that is not about the screen.
func (p *pump) told(id sessions.ID, f sessions.Frame) { p.word(toldMsg{id: id, frame: f}) }

// copied takes what is to be put into the clipboard.
func (p *pump) copied(text []byte) { p.word(copiedMsg{text: text}) }

func (p *pump) word(m tea.Msg) {
	p.mu.Lock()
	if len(p.words) == wordsMost {
		p.words = slices.Delete(p.words, 0, 1)
	}
	p.words = append(p.words, m)
	p.mu.Unlock()
	poke(p.wake)
}

// poke leaves a word in a channel that holds one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// merge appends c to what is pending: a snapshot replaces everything, all tasks every task, a session or task or its
// removal what was known of it.
func merge(pending []sessions.Change, c sessions.Change) []sessions.Change {
	switch c.Type {
	case sessions.ChangeAlive:
		return pending
	case sessions.ChangeSnapshot:
		return append(pending[:0], c)
	case sessions.ChangeTasks:
		pending = slices.DeleteFunc(pending, func(old sessions.Change) bool {
			return old.Type == sessions.ChangeTask || old.Type == sessions.ChangeTaskGone || old.Type == sessions.ChangeTasks
		})
	case sessions.ChangeSession, sessions.ChangeRemoved, sessions.ChangeTask, sessions.ChangeTaskGone:
		id := subject(c)
		pending = slices.DeleteFunc(pending, func(old sessions.Change) bool {
			return old.Type != sessions.ChangeSnapshot && id != "" && subject(old) == id
		})
	case sessions.ChangeNode, sessions.ChangeDatabase:
	}
	return append(pending, c)
}

// subject returns the session or task that a change is about.
func subject(c sessions.Change) sessions.ID {
	if c.Session != nil {
		return c.Session.ID
	}
	if c.Task != nil {
		return c.Task.ID
	}
	return c.ID
}

// watch follows the list of sessions until ctx ends. A watch that waits to reconnect is begun anew when watchAgain asks.
func (p *pump) watch(ctx context.Context, w Watcher, send func(tea.Msg)) {
	for ctx.Err() == nil {
		one, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer reportPanic(send)
			w.Watch(one, p.change, p.linked)
		}()
		select {
		case <-p.again:
		case <-ctx.Done():
		}
		cancel()
		<-ended
	}
}

// watchAgain has the list watched anew, at once instead of at the next try.
func (p *pump) watchAgain() { poke(p.again) }

// run sends what comes in until ctx ends.
func (p *pump) run(ctx context.Context, send func(tea.Msg)) {
	defer reportPanic(send)
	pace := time.NewTimer(0)
	defer pace.Stop()
	for {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
		watched, words, changed := p.take()
		if watched != nil {
			send(*watched)
		}
		for _, w := range words {
			send(w)
		}
		if len(changed) == 0 {
			continue
		}
		// The first change after a rest goes at once; under a flood the next waits for the painter's pace.
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
		for _, id := range changed {
			send(paneChangedMsg{id: id})
		}
		pace.Reset(frameEvery)
	}
}

func (p *pump) take() (watched *watchedMsg, words []tea.Msg, changed []sessions.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.changes) > 0 || p.link != nil {
		watched = &watchedMsg{changes: p.changes, link: p.link}
		p.changes, p.link = nil, nil
	}
	for id := range p.panes {
		changed = append(changed, id)
	}
	clear(p.panes)
	words, p.words = p.words, nil
	return watched, words, changed
}

// forward sends the terminal's events until ctx ends or the terminal is closed.
func forward(ctx context.Context, events <-chan terminal.Event, send func(tea.Msg)) {
	defer reportPanic(send)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			send(terminalMsg{event: e})
		case <-ctx.Done():
			return
		}
	}
}

// reportPanic turns a panic into a message, on which the program ends in order and restores the terminal.
func reportPanic(send func(tea.Msg)) {
	if v := recover(); v != nil {
		send(panickedMsg{value: v, stack: debug.Stack()})
	}
}
