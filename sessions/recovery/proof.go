package recovery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"corral/sessions"
)

// prove waits until it can be said what became of a session that was started as s.
func (r *run) prove(ctx context.Context, p sessions.Recovery, s sessions.Session, begun time.Time) Result {
	patience := r.cfg.Settle
	if p.Hooks {
		patience = r.cfg.Proof
	}
	bound := time.NewTimer(patience)
	defer bound.Stop()
	for {
		now, changed := r.board.get(s)
		result, certain := judge(p, now, begun)
		if certain {
			return result
		}
		select {
		case <-changed:
		case <-bound.C:
			return late(p, result)
		case <-ctx.Done():
			return late(p, result)
		}
	}
}

// judge says what is to be seen of a session, and whether that is certain.
func judge(p sessions.Recovery, s sessions.Session, begun time.Time) (Result, bool) {
	result := Result{Session: s, Outcome: Unproven, Alive: s.State.Live() && s.State != sessions.Starting}
	if s.State.Ended() {
		result.Outcome, result.Reason = Failed, ended(s)
		return result, true
	}
	if !p.Hooks {
		return result, false // whoever tells nothing is given the time to end
	}
	hook := s.Agent != nil && !s.Agent.HookAt.Before(begun.Truncate(time.Millisecond))
	result.Hook = &hook
	if !hook || p.ConversationID == "" {
		return proven(result), result.Alive && hook
	}
	in := s.Agent.ConversationID
	if in == "" {
		return result, false
	}
	right := in == p.ConversationID
	result.Conversation = &right
	if !right {
		result.Outcome = Failed
		result.Reason = fmt.Sprintf("it is in the conversation %s, not in %s", sessions.CleanLine(in, 100), p.ConversationID)
		return result, true
	}
	return proven(result), result.Alive
}

func proven(r Result) Result {
	if r.Alive && *r.Hook {
		r.Outcome = Proven
	}
	return r
}

// late is the last word on a session when the time for its proof is over.
func late(p sessions.Recovery, r Result) Result {
	switch {
	case r.Alive && !p.Hooks:
		r.Outcome = Proven
	case r.Alive:
		r.Reason = "its process runs, but its agent has given no sign: it may ask something"
	default:
		r.Reason = "it is still starting"
	}
	return r
}

func ended(s sessions.Session) string {
	reason := sessions.CleanLine(s.StateReason, 300)
	if reason == "" {
		reason = string(s.State)
	}
	return "it ended at once: " + reason
}

// board keeps the newest state of every session, and wakes who waits for the next one.
type board struct {
	mu       sync.Mutex
	sessions map[sessions.ID]sessions.Session // guarded by mu
	changed  chan struct{}                    // closed at the next change; guarded by mu
}

func newBoard() *board {
	return &board{sessions: map[sessions.ID]sessions.Session{}, changed: make(chan struct{})}
}

func (b *board) change(c sessions.Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch c.Type {
	case sessions.ChangeSnapshot:
		for _, s := range c.Sessions {
			b.sessions[s.ID] = s
		}
	case sessions.ChangeSession:
		b.sessions[c.Session.ID] = *c.Session
	default:
		return
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// get returns the newest that is known of a session, of which s is known already, and a channel that is closed when there
// may be something newer.
func (b *board) get(s sessions.Session) (sessions.Session, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if newer, ok := b.sessions[s.ID]; ok && !newer.UpdatedAt.Before(s.UpdatedAt) {
		return newer, b.changed
	}
	return s, b.changed
}
