// Package recovery brings lost sessions back, as a plan says, a few at a time: it starts each, waits for the proof that it
// runs as it should, and stops when told to or when several in a row did not come back. It decides nothing about how a
// session is started, which is the server's business, and starts nothing that is not in its plan.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"corral/sessions"
)

// Client is the server as a recovery needs it.
type Client interface {
	RestartIn(ctx context.Context, id sessions.ID, choice sessions.ConversationChoice) (sessions.Session, error)
	// Watch calls change for a snapshot and then every change until ctx ends. It reconnects by itself.
	Watch(ctx context.Context, change func(sessions.Change), link func(sessions.Link))
}

// Config is what a Run is told.
type Config struct {
	Client Client
	// Pace is the least time between two starts; 0: 250 ms. A machine that has just booted has enough to do.
	Pace time.Duration
	// AtOnce is how many sessions may be started and not proven; 0: 4.
	AtOnce int
	// HaltAfter is how many failures in a row end the run; 0: 3.
	HaltAfter int
	// Proof is how long an agent has to show that it runs; 0: 20 s. Claude Code takes about one.
	Proof time.Duration
	// Settle is how long a program that tells nothing by itself must live; 0: 1 s.
	Settle time.Duration
	Each   func(Result) // called for every session of the plan, one at a time
	Now    func() time.Time
}

// Outcome says what became of one session.
type Outcome string

// The outcomes.
const (
	Proven   Outcome = "proven"   // it runs, and all that can be seen says that it is the right thing
	Unproven Outcome = "unproven" // it runs, but gave no sign in time: it may ask its user something
	Failed   Outcome = "failed"   // it could not be started, ended at once, or is in another conversation
	Skipped  Outcome = "skipped"  // nothing was done: it cannot come back as it was, or the run was over before
)

// Result is the outcome of one session, with what proves it.
type Result struct {
	Session sessions.Session `json:"session"` // as last seen
	Outcome Outcome          `json:"outcome"`
	// Alive, Hook and Conversation are the proof: its process runs, its agent told so itself, and it is in the conversation
	// that the plan names. The last two are nil where there is nothing to see.
	Alive        bool   `json:"alive"`
	Hook         *bool  `json:"hook,omitempty"`
	Conversation *bool  `json:"conversation,omitempty"`
	Reason       string `json:"reason,omitempty"` // why it is not proven
	// Choices is what a refused restart offers instead.
	Choices []sessions.Choice `json:"choices,omitempty"`
}

// Summary counts a run.
type Summary struct {
	Proven   int    `json:"proven"`
	Unproven int    `json:"unproven"`
	Failed   int    `json:"failed"`
	Skipped  int    `json:"skipped"`
	Halted   string `json:"halted,omitempty"` // why the run ended before its plan did
}

// String says it in one line.
func (s Summary) String() string {
	text := fmt.Sprintf("%d brought back", s.Proven+s.Unproven)
	if s.Unproven > 0 {
		text += fmt.Sprintf(", %d of them without a sign yet", s.Unproven)
	}
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	if s.Skipped > 0 {
		text += fmt.Sprintf(", %d left as they were", s.Skipped)
	}
	if s.Halted != "" {
		text += "; " + s.Halted
	}
	return text
}

// Run carries out a plan. When ctx ends nothing more is started; what has been started is still seen to.
func Run(ctx context.Context, plan []sessions.Recovery, cfg Config) Summary {
	cfg = cfg.withDefaults()
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	board := newBoard()
	r := &run{cfg: cfg, board: board}
	var watch sync.WaitGroup
	watch.Go(func() { cfg.Client.Watch(watching, board.change, func(sessions.Link) {}) })
	r.all(ctx, plan)
	stop()
	watch.Wait()
	return r.summary
}

func (c Config) withDefaults() Config {
	orElse := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	orElse(&c.Pace, 250*time.Millisecond)
	orElse(&c.Proof, 20*time.Second)
	orElse(&c.Settle, time.Second)
	if c.AtOnce == 0 {
		c.AtOnce = 4
	}
	if c.HaltAfter == 0 {
		c.HaltAfter = 3
	}
	if c.Each == nil {
		c.Each = func(Result) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// run is one Run.
type run struct {
	cfg   Config
	board *board

	mu      sync.Mutex
	inRow   int     // failures since the last success; guarded by mu
	summary Summary // guarded by mu
}

func (r *run) all(ctx context.Context, plan []sessions.Recovery) {
	places := make(chan struct{}, r.cfg.AtOnce)
	var begun sync.WaitGroup
	defer begun.Wait()
	pace := time.NewTimer(0)
	defer pace.Stop()
	for _, p := range plan {
		if p.Problem != "" {
			r.done(Result{Session: p.Session, Outcome: Skipped, Reason: p.Problem, Choices: p.Choices})
			continue
		}
		if why := r.wait(ctx, places, pace); why != "" {
			r.done(Result{Session: p.Session, Outcome: Skipped, Reason: why})
			continue
		}
		pace.Reset(r.cfg.Pace)
		begun.Go(func() {
			defer func() { <-places }()
			r.done(r.one(context.WithoutCancel(ctx), p))
		})
	}
}

// wait waits for a place and for the pace of the next start, and says why there is none, "" when there is.
func (r *run) wait(ctx context.Context, places chan struct{}, pace *time.Timer) string {
	const stopped = "it was stopped before its turn"
	if ctx.Err() != nil {
		r.halt("stopped")
		return stopped
	}
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		r.halt("stopped")
		return stopped
	}
	if r.halted() {
		<-places
		return "too many before it did not come back"
	}
	select {
	case <-pace.C:
		return ""
	case <-ctx.Done():
		<-places
		r.halt("stopped")
		return stopped
	}
}

func (r *run) halt(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.summary.Halted == "" {
		r.summary.Halted = why
	}
}

func (r *run) halted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.summary.Halted != ""
}

// done counts a result and tells it.
func (r *run) done(result Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch result.Outcome {
	case Proven:
		r.summary.Proven++
		r.inRow = 0
	case Unproven:
		r.summary.Unproven++
		r.inRow = 0
	case Failed:
		r.summary.Failed++
		r.inRow++
		if r.inRow >= r.cfg.HaltAfter && r.summary.Halted == "" {
			r.summary.Halted = fmt.Sprintf("halted after %d failures in a row", r.inRow)
		}
	case Skipped:
		r.summary.Skipped++
	}
	r.cfg.Each(result)
}

// one starts a session and waits for the proof.
func (r *run) one(ctx context.Context, p sessions.Recovery) Result {
	begun := r.cfg.Now()
	s, err := r.cfg.Client.RestartIn(ctx, p.Session.ID, sessions.ConversationOwn)
	if err != nil {
		reason := err.Error()
		var e *sessions.Error
		if errors.As(err, &e) {
			reason = e.Error()
		}
		return Result{Session: p.Session, Outcome: Failed, Reason: sessions.CleanLine(reason, 500), Choices: sessions.ChoicesOf(err)}
	}
	return r.prove(ctx, p, s, begun)
}
