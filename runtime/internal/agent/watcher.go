package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"corral/runtime/internal/inotify"
	"corral/runtime/rtapi"
)

const (
	// queued is how many hooks can wait for the loop.
	queued = 256
	// fileFollows is how long after a hook a session file may still have the conversation of before.
	fileFollows = 500 * time.Millisecond
)

// Target is a terminal with an agent in it.
type Target struct {
	ID           string
	Run          int
	PID          int // the pane's process
	Dead         bool
	Conversation string // as far as the terminal knows
}

// Config is what a Watcher needs.
type Config struct {
	// Publish is told of every change. It must not block.
	Publish func(id string, run int, a rtapi.Agent)
	Log     *slog.Logger
}

// Watcher gathers the evidence of all agents.
type Watcher struct {
	cfg     Config
	targets chan []Target // the newest listing; one producer
	hooks   chan told

	// What follows belongs to Run.
	notify  *inotify.Watcher
	agents  map[string]*tracked
	watched map[string]uint32 // paths and masks
	missing map[string]bool   // directories of watched in which something wanted may appear
	stale   bool              // watched may not be what is wanted
}

type told struct {
	id   string
	run  int
	post rtapi.HookPost
}

// tracked is one run of one agent.
type tracked struct {
	Target
	evidence
	pid        int // of the agent, 0 when unknown
	configDir  string
	filePath   string // of evidence.file, also while that is nil
	transcript *transcript

	conversation string
	change       string
	conversed    time.Time // when the conversation was last confirmed by a hook

	published rtapi.Agent
}

// New returns a watcher of nothing.
func New(cfg Config) *Watcher {
	return &Watcher{
		cfg: cfg, targets: make(chan []Target, 1), hooks: make(chan told, queued),
		agents: map[string]*tracked{}, watched: map[string]uint32{}, missing: map[string]bool{},
	}
}

// Set says which agents there are now. One goroutine may call it; it never blocks.
func (w *Watcher) Set(targets []Target) {
	select {
	case <-w.targets: // nobody has looked at it
	default:
	}
	w.targets <- targets
}

// Hook takes what a hook told. What it says of terminals that Set has not named is dropped.
func (w *Watcher) Hook(ctx context.Context, id string, run int, post rtapi.HookPost) error {
	select {
	case w.hooks <- told{id, run, post}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("take a hook of %s: %w", id, context.Cause(ctx))
	}
}

// Run gathers until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	var err error
	if w.notify, err = inotify.New(); err != nil {
		return fmt.Errorf("watch the agents: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	events := make(chan inotify.Event)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			e, err := w.notify.Next()
			if err != nil {
				cancel(err) // closed, or broken
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	err = w.loop(ctx, events)
	cancel(nil)
	_ = w.notify.Close() // ends the reader
	<-done
	return err
}

func (w *Watcher) loop(ctx context.Context, events <-chan inotify.Event) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("watch the agents: %w", err)
			}
			return nil
		case targets := <-w.targets:
			w.set(targets)
		case t := <-w.hooks:
			select {
			case targets := <-w.targets: // it may name the hook's terminal
				w.set(targets)
			default:
			}
			w.hook(t)
		case e := <-events:
			w.event(e)
		case <-timer.C:
		}
		for w.stale {
			w.sync()
		}
		now := time.Now()
		pause := time.Hour
		for _, a := range w.agents {
			if next := w.judge(a, now); !next.IsZero() {
				pause = min(pause, max(next.Sub(now), time.Millisecond))
			}
		}
		timer.Reset(pause)
	}
}

// set forgets the agents that are gone and begins with the new ones.
func (w *Watcher) set(targets []Target) {
	have := map[string]bool{}
	changed := false
	for _, t := range targets {
		have[t.ID] = true
		a := w.agents[t.ID]
		if a != nil && a.Run == t.Run {
			changed = changed || a.Dead != t.Dead
			a.Target = t
			continue
		}
		w.agents[t.ID] = &tracked{Target: t, configDir: configDirOf(t.PID), evidence: evidence{started: startOf(t.PID, time.Now())}}
		changed = true
	}
	for id := range w.agents {
		if !have[id] {
			delete(w.agents, id)
			changed = true
		}
	}
	w.stale = w.stale || changed
}

// hook takes what a hook told.
func (w *Watcher) hook(t told) {
	a := w.agents[t.id]
	if a == nil || a.Run != t.run {
		return
	}
	if dir := t.post.ConfigDir; filepath.IsAbs(dir) {
		a.configDir = filepath.Clean(dir)
	}
	a.pid = a.PID
	if slices.Contains(t.post.Ancestors, t.post.AgentPID) {
		a.pid = t.post.AgentPID
	}
	a.converse(t.post)
	a.hook(t.post)
	w.follow(a, t.post.Event.Transcript)
	w.stale = true
}

// converse takes the conversation that a hook names. The newest wins; a subagent has the agent's own, or a stray one at a
// resume; and an end is no sign of what comes next.
func (a *tracked) converse(p rtapi.HookPost) {
	ev := p.Event
	if ev.AgentID != "" || strings.HasPrefix(ev.Name, "Subagent") || ev.Name == "SessionEnd" || !validID.MatchString(ev.Conversation) {
		return
	}
	if p.At.Before(a.conversed) {
		return
	}
	// Versions up to 2.0.13 tell a throw-away id when they resume; the next prompt tells the right one.
	if ev.Name == "SessionStart" && ev.Source == "resume" && ev.Conversation != a.known() && findTranscript(a.configDir, ev.Conversation) == "" {
		return
	}
	a.conversed = p.At
	if ev.Conversation != a.conversation {
		a.conversation, a.change = ev.Conversation, strings.TrimSpace("hook "+ev.Name+" "+ev.Source)
	}
}

// known is the conversation that the agent is in as far as is known.
func (a *tracked) known() string {
	if a.conversation != "" {
		return a.conversation
	}
	return a.Conversation
}

// judge looks at an agent's evidence, publishes what changed, and returns when to look again.
func (w *Watcher) judge(a *tracked, now time.Time) time.Time {
	out := rtapi.Agent{
		Conversation: a.conversation, Change: a.change, ConfigDir: a.configDir, PID: a.pid, HookAt: a.newest,
	}
	if a.transcript != nil {
		out.Transcript = a.transcript.path
	}
	var next time.Time
	if !a.Dead {
		var c claim
		c, next = a.status(now)
		out.State, out.Evidence = c.state, c.by
		if c.state == rtapi.AgentWaiting {
			out.For, out.Prompt, out.Since = c.why, c.prompt, c.at
			if p := a.published; p.State == out.State && p.For == out.For && p.Since.Before(out.Since) {
				out.Since = p.Since // a second sign of the same
			}
		}
	}
	if out != a.published {
		a.published = out
		w.cfg.Publish(a.ID, a.Run, out)
	}
	return next
}
