// Package rttest is a runtime for tests: terminals in memory that start, end and vanish when told to, with the
// behaviour that rtapi promises. Only tests import it.
package rttest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"corral/runtime/rtapi"
)

// ErrAway is what every call returns while the runtime is away.
var ErrAway = errors.New("rttest: the runtime does not answer")

// Runtime is a runtime with a tmux server in memory. It is safe for concurrent use.
type Runtime struct {
	mu       sync.Mutex
	away     bool // all fields guarded by mu
	refuse   *rtapi.Error
	server   rtapi.Incarnation
	at       time.Time
	ended    []rtapi.ServerEnd
	terms    map[string]*terminal
	recorded map[string]rtapi.Screen
	subs     map[chan rtapi.Event]struct{}
	launches []rtapi.LaunchRequest
	signals  []Signal
	inputs   []rtapi.InputRequest
	streams  map[*stream]struct{}
	tasks    []rtapi.Task

	variables map[string]string
}

// Signal is a signal that the runtime was asked to send.
type Signal struct {
	ID string
	rtapi.SignalRequest
}

type terminal struct {
	rtapi.Terminal
	ignoreStop bool
}

// New returns a running runtime without terminals.
func New() *Runtime {
	return &Runtime{
		server: rtapi.Incarnation{PID: 4711, Start: 1, BootID: "boot"}, at: time.Now(),
		terms: map[string]*terminal{}, subs: map[chan rtapi.Event]struct{}{}, streams: map[*stream]struct{}{},
		variables: map[string]string{}, recorded: map[string]rtapi.Screen{},
	}
}

// SetAway makes the runtime unreachable, cutting its event and viewer streams, or reachable again.
func (r *Runtime) SetAway(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
	if !away {
		return
	}
	for sub := range r.subs {
		delete(r.subs, sub)
		close(sub)
	}
	for s := range r.streams {
		s.cut()
	}
}

// Refuse makes the runtime refuse to launch anything; nil ends that.
func (r *Runtime) Refuse(e *rtapi.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = e
}

// Exit ends a terminal's program with a code.
func (r *Runtime) Exit(id string, code int) {
	r.edit(id, func(t *terminal) { t.Dead, t.ExitCode, t.DeadAt = true, &code, time.Now() })
}

// Die ends a terminal's program by a signal.
func (r *Runtime) Die(id string, signal int) {
	r.edit(id, func(t *terminal) { t.Dead, t.Signal, t.DeadAt = true, &signal, time.Now() })
}

// IgnoreStop makes a terminal's program ignore everything but KILL.
func (r *Runtime) IgnoreStop(id string) { r.edit(id, func(t *terminal) { t.ignoreStop = true }) }

// Attach sets a terminal's viewer counts.
func (r *Runtime) Attach(id string, attached, watching int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.terms[id]
	if !ok {
		return
	}
	t.Attached, t.Watching = attached, watching
	r.publishLocked(rtapi.Event{Type: rtapi.EventViewers, ID: id, Attached: attached, Watching: watching})
}

// Agent sets what is known of a terminal's agent.
func (r *Runtime) Agent(id string, a rtapi.Agent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.terms[id]
	if !ok {
		return
	}
	t.Agent = &a
	r.publishLocked(rtapi.Event{Type: rtapi.EventAgent, ID: id, Run: t.Run, Agent: &a})
}

// KillSession makes a terminal vanish, as tmux kill-session does.
func (r *Runtime) KillSession(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.terms, id)
	for s := range r.streams {
		if s.id == id {
			s.cut()
		}
	}
	r.changedLocked()
}

// KillServer ends the tmux server with everything in it and starts another.
func (r *Runtime) KillServer() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = slices.Insert(r.ended, 0, rtapi.ServerEnd{Server: r.server, At: time.Now()})
	r.server.PID++
	r.server.Start++
	clear(r.terms)
	for s := range r.streams {
		s.cut()
	}
	r.changedLocked()
}

// SetRecorded gives the last screen of a terminal that is gone.
func (r *Runtime) SetRecorded(id string, last rtapi.Screen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorded[id] = last
}

// Terminal returns a terminal as it is now.
func (r *Runtime) Terminal(id string) (rtapi.Terminal, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.terms[id]
	if !ok {
		return rtapi.Terminal{}, false
	}
	return t.Terminal, true
}

// Add puts a terminal there as if a former server had started it.
func (r *Runtime) Add(t rtapi.Terminal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.terms[t.ID] = &terminal{Terminal: t}
	r.changedLocked()
}

// Launches returns every launch that started a program, in order.
func (r *Runtime) Launches() []rtapi.LaunchRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.launches)
}

// Signals returns every signal that was sent.
func (r *Runtime) Signals() []Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.signals)
}

// Inputs returns every input that was typed.
func (r *Runtime) Inputs() []rtapi.InputRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.inputs)
}

func (r *Runtime) edit(id string, change func(*terminal)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.terms[id]
	if !ok {
		return
	}
	change(t)
	r.changedLocked()
}

// changedLocked publishes the inventory, and tells the viewers of dead terminals.
func (r *Runtime) changedLocked() {
	r.at = time.Now()
	inv := r.inventoryLocked()
	r.publishLocked(rtapi.Event{Type: rtapi.EventInventory, Inventory: &inv})
	for s := range r.streams {
		if t, ok := r.terms[s.id]; ok && t.Dead {
			s.exit(t.Terminal)
		}
	}
}

func (r *Runtime) publishLocked(e rtapi.Event) {
	for sub := range r.subs {
		select {
		case sub <- e:
		default:
			delete(r.subs, sub)
			close(sub)
		}
	}
}

func (r *Runtime) inventoryLocked() rtapi.Inventory {
	inv := rtapi.Inventory{Complete: true, At: r.at, Server: r.server, Ended: slices.Clone(r.ended)}
	for _, id := range slices.Sorted(maps.Keys(r.terms)) {
		inv.Terminals = append(inv.Terminals, r.terms[id].Terminal)
	}
	return inv
}

// Status implements the runtime's API.
func (r *Runtime) Status(context.Context) (rtapi.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return rtapi.Status{}, ErrAway
	}
	return rtapi.Status{
		PID: 1, Incarnation: "fake", RecorderPID: 2,
		Tmux: rtapi.Tmux{Up: true, Server: r.server, Socket: "/fake/tmux", Version: "3.3a", Placement: "session", SurvivesLogout: "unknown"},
	}, nil
}

// Inventory implements the runtime's API.
func (r *Runtime) Inventory(context.Context) (rtapi.Inventory, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return rtapi.Inventory{}, ErrAway
	}
	return r.inventoryLocked(), nil
}

// Events implements the runtime's API.
func (r *Runtime) Events(ctx context.Context, each func(rtapi.Event)) error {
	sub := make(chan rtapi.Event, 4096)
	r.mu.Lock()
	if r.away {
		r.mu.Unlock()
		return ErrAway
	}
	inv := r.inventoryLocked()
	sub <- rtapi.Event{Type: rtapi.EventInventory, Inventory: &inv}
	r.subs[sub] = struct{}{}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subs, sub)
	}()
	alive := time.NewTicker(5 * time.Second)
	defer alive.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-alive.C:
			each(rtapi.Event{Type: rtapi.EventAlive})
		case e, ok := <-sub:
			if !ok {
				return ErrAway
			}
			each(e)
		}
	}
}

// Create implements the runtime's API.
func (r *Runtime) Create(_ context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.terms[req.Meta.ID]; ok && !r.away && t.Run != req.Meta.Run {
		return rtapi.Terminal{}, &rtapi.Error{Code: "conflict", Message: "the terminal exists"}
	}
	return r.launchLocked(req)
}

// Respawn implements the runtime's API.
func (r *Runtime) Respawn(_ context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.terms[req.Meta.ID]; ok && !r.away && !t.Dead && t.Run != req.Meta.Run {
		return rtapi.Terminal{}, &rtapi.Error{Code: "conflict", Message: "the terminal's program is alive"}
	}
	return r.launchLocked(req)
}

func (r *Runtime) launchLocked(req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	switch {
	case r.away:
		return rtapi.Terminal{}, ErrAway
	case r.refuse != nil:
		return rtapi.Terminal{}, r.refuse
	}
	if t, ok := r.terms[req.Meta.ID]; ok && t.Run == req.Meta.Run {
		return t.Terminal, nil
	}
	r.launches = append(r.launches, req)
	t := &terminal{Terminal: rtapi.Terminal{
		Meta: req.Meta, PanePID: 1000 + len(r.launches), Cols: req.Cols, Rows: req.Rows, CreatedAt: time.Now().UTC(),
	}}
	r.terms[req.Meta.ID] = t
	r.changedLocked()
	return t.Terminal, nil
}

// Signal implements the runtime's API. HUP and TERM end a program with an exit code as shells and agents do.
func (r *Runtime) Signal(_ context.Context, id string, req rtapi.SignalRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, err := r.findLocked(id)
	if err != nil {
		return err
	}
	if t.Run != req.Run {
		return &rtapi.Error{Code: "conflict", Message: "the terminal is at another run"}
	}
	r.signals = append(r.signals, Signal{id, req})
	number := map[string]int{"HUP": 1, "KILL": 9, "TERM": 15}[req.Signal]
	switch {
	case t.Dead || t.ignoreStop && number != 9:
		return nil
	case number == 9:
		t.Signal = &number
	default:
		code := 128 + number
		t.ExitCode = &code
	}
	t.Dead, t.DeadAt = true, time.Now()
	r.changedLocked()
	return nil
}

// Remove implements the runtime's API.
func (r *Runtime) Remove(_ context.Context, id string) error {
	r.mu.Lock()
	if _, err := r.findLocked(id); err != nil {
		r.mu.Unlock()
		return err
	}
	r.mu.Unlock()
	r.KillSession(id)
	return nil
}

// SetMeta implements the runtime's API.
func (r *Runtime) SetMeta(_ context.Context, id string, m rtapi.Meta) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, err := r.findLocked(id)
	if err != nil {
		return err
	}
	m.ID, m.Run = t.ID, t.Run
	t.Meta = m
	r.changedLocked()
	return nil
}

// Variables implements the runtime's API: what the last launch of the terminal brought, over what SetVariable set.
func (r *Runtime) Variables(_ context.Context, id string, names []string, login bool) (map[string]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return nil, ErrAway
	}
	found := map[string]string{}
	for _, name := range names {
		if v, ok := r.variables[name]; ok && (login || name == "HOME") {
			found[name] = v
		}
		for _, l := range r.launches {
			for _, kv := range l.Env {
				if k, v, _ := strings.Cut(kv, "="); k == name && l.Meta.ID == id {
					found[name] = v
				}
			}
		}
	}
	return found, nil
}

// SetVariable sets a variable as the user's login scripts do; HOME is known without them.
func (r *Runtime) SetVariable(name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.variables[name] = value
}

// Input implements the runtime's API.
func (r *Runtime) Input(_ context.Context, id string, req rtapi.InputRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.findLocked(id); err != nil {
		return err
	}
	r.inputs = append(r.inputs, req)
	return nil
}

// Screen implements the runtime's API.
func (r *Runtime) Screen(_ context.Context, id string) (rtapi.Screen, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, err := r.findLocked(id)
	if last, ok := r.recorded[id]; ok && err != nil && !r.away {
		return last, nil
	}
	if err != nil {
		return rtapi.Screen{}, err
	}
	return rtapi.Screen{Cols: t.Cols, Rows: t.Rows, Text: "$ ", ANSI: "$ ", CursorColumn: 2, Title: "a\x07title"}, nil
}

// History implements the runtime's API.
func (r *Runtime) History(_ context.Context, id string, lines, before int) (rtapi.History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.findLocked(id); err != nil {
		return rtapi.History{}, err
	}
	all := []string{"one", "two", "three"}
	end := max(len(all)-before, 0)
	begin := 0
	if lines > 0 {
		begin = max(end-lines, 0)
	}
	return rtapi.History{Lines: all[begin:end], Total: len(all)}, nil
}

func (r *Runtime) findLocked(id string) (*terminal, error) {
	if r.away {
		return nil, ErrAway
	}
	t, ok := r.terms[id]
	if !ok {
		return nil, &rtapi.Error{Code: "not_found", Message: "there is no such terminal"}
	}
	return t, nil
}
