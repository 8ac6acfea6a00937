package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"corral/runtime/internal/task"
	"corral/runtime/internal/tmux"
	"corral/runtime/rtapi"
)

const (
	// sessionPrefix begins the name of every terminal's tmux session.
	sessionPrefix = "cr-"
	// backlog is how many events a subscriber may lag behind. They share their inventories.
	backlog = 256
	// listTimeout bounds one listing; a tmux that forks or frees a big history answers late.
	listTimeout = 10 * time.Second
	// unexplainedMin is how soon a death without a reason is looked at again, unexplainedMax how late.
	unexplainedMin, unexplainedMax = 50 * time.Millisecond, time.Second
	// reapEvery is the period of the one poll there is: a signal, no command.
	reapEvery = time.Second
	// knownTimeout is how long a request waits for a tmux server that is just being reached or started.
	knownTimeout = 5 * time.Second
)

// inventory is the cache of what tmux knows, and the hub of the events about it.
type inventory struct {
	tmux    *tmux.Server
	log     *slog.Logger
	exited  func(id string, code, signal *int)       // told of each end of a program
	runners func(task.Sessions)                      // told of each listing
	listed  func([]rtapi.Terminal)                   // told of each listing, before anybody else
	begin   func(context.Context, []tmux.Pane) error // told of each listing, after everybody else

	refreshed chan chan<- error // asks for a listing now, and how it went; the inner channel has room

	mu      sync.Mutex
	known   rtapi.Inventory               // without viewer counts; Complete once there is one; guarded by mu
	panes   map[string]tmux.Pane          // by session id, of the listing that known was made of; guarded by mu
	ready   chan struct{}                 // closed once known is Complete, replaced when it is not any more; guarded by mu
	viewers map[string]viewers            // guarded by mu
	agents  agents                        // guarded by mu
	tasks   map[string]rtapi.Task         // nil until they are known; guarded by mu
	warning string                        // what keeps the recorder from recording; guarded by mu
	subs    map[chan rtapi.Event]struct{} // guarded by mu
	ended   bool                          // nothing is reported any more; guarded by mu
}

type viewers struct{ attached, watching int }

func newInventory(server *tmux.Server, log *slog.Logger) *inventory {
	return &inventory{
		tmux: server, log: log,
		exited:    func(string, *int, *int) {},
		runners:   func(task.Sessions) {},
		listed:    func([]rtapi.Terminal) {},
		begin:     func(context.Context, []tmux.Pane) error { return nil },
		agents:    agents{},
		refreshed: make(chan chan<- error),
		ready:     make(chan struct{}),
		viewers:   map[string]viewers{},
		subs:      map[chan rtapi.Event]struct{}{},
	}
}

// run keeps the cache until ctx ends.
func (inv *inventory) run(ctx context.Context) error {
	defer inv.close()
	// At the very moment of ctx's end, also when this goroutine is waiting for tmux.
	defer context.AfterFunc(ctx, inv.close)()
	reap := time.NewTicker(reapEvery)
	defer reap.Stop()
	reap.Stop()
	reaping := false
	again := time.NewTimer(time.Hour)
	again.Stop()
	pause := unexplainedMin
	for {
		var asked chan<- error
		select {
		case <-ctx.Done():
			return nil
		case <-inv.tmux.Changed():
		case <-again.C:
		case asked = <-inv.refreshed:
		case <-reap.C:
			inv.tmux.Reap()
			continue
		}
		seen, err := inv.list(ctx)
		if asked != nil {
			asked <- err
		}
		if err != nil {
			if ctx.Err() == nil {
				inv.log.Warn("terminals not listed", "err", err)
				again.Reset(unexplainedMax)
			}
			continue
		}
		if seen.unexplained > 0 {
			inv.tmux.Reap()
			again.Reset(pause)
			pause = min(2*pause, unexplainedMax)
		} else {
			pause = unexplainedMin
		}
		if want := seen.alive > 0 && inv.tmux.LosesExits(); want != reaping {
			reaping = want
			if want {
				reap.Reset(reapEvery)
			} else {
				reap.Stop()
			}
		}
	}
}

// seen counts what matters to the next look.
type seen struct{ alive, unexplained int }

// list asks tmux and books the answer.
func (inv *inventory) list(ctx context.Context) (seen, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, errors.New("tmux took too long"))
	defer cancel()
	// The connection's end is an event of its own: it comes with the next connection.
	l, err := inv.tmux.List(ctx)
	if err != nil {
		return seen{}, err
	}
	var s seen
	panes := map[string]tmux.Pane{}
	next := rtapi.Inventory{
		Complete: true, At: time.Now().UTC(), Server: l.Server, Ended: inv.tmux.Ended(), Terminals: []rtapi.Terminal{},
	}
	runners := task.Sessions{Server: l.Server, Dead: map[string]bool{}, Ends: next.Ended}
	for _, p := range l.Panes {
		if id, ok := strings.CutPrefix(p.Session, task.SessionPrefix); ok {
			runners.Dead[id] = p.Dead
			continue
		}
		id, ours := strings.CutPrefix(p.Session, sessionPrefix)
		if !ours {
			continue
		}
		if !p.Dead {
			s.alive++
		} else if !p.Explained() {
			s.unexplained++
		}
		panes[id] = p
		next.Terminals = append(next.Terminals, inv.terminal(id, p))
	}
	slices.SortFunc(next.Terminals, func(a, b rtapi.Terminal) int { return strings.Compare(a.ID, b.ID) })
	inv.listed(next.Terminals)
	inv.book(next, panes)
	inv.runners(runners)
	if err := inv.begin(ctx, l.Panes); err != nil {
		inv.log.Error("hooks not received", "err", err)
	}
	return s, nil
}

// terminal makes a Terminal of a pane. One whose option is missing or unreadable is still a terminal.
func (inv *inventory) terminal(id string, p tmux.Pane) rtapi.Terminal {
	t := rtapi.Terminal{PanePID: p.PID, Cols: p.Cols, Rows: p.Rows, CreatedAt: p.CreatedAt}
	if err := json.Unmarshal([]byte(p.Meta), &t.Meta); err != nil {
		inv.log.Warn("terminal without meta", "id", id, "err", err)
		t.Meta = rtapi.Meta{Run: 1}
	}
	t.ID = id
	if p.Dead && p.Explained() {
		t.Dead, t.ExitCode, t.Signal, t.DeadAt = true, p.Status, p.Signal, p.DeadAt
		if p.Signal != nil {
			t.ExitCode = nil
		}
	}
	return t
}

// book takes a listing over and tells whoever must know.
func (inv *inventory) book(next rtapi.Inventory, panes map[string]tmux.Pane) {
	inv.mu.Lock()
	if inv.ended {
		inv.mu.Unlock()
		return
	}
	last := inv.known
	changed := !last.Complete || last.Server != next.Server || !reflect.DeepEqual(last.Terminals, next.Terminals) ||
		!reflect.DeepEqual(last.Ended, next.Ended)
	inv.known, inv.panes = next, panes
	for id := range inv.agents {
		if _, ok := panes[id]; !ok {
			delete(inv.agents, id)
		}
	}
	if !last.Complete {
		close(inv.ready)
	}
	if changed {
		full := inv.snapshotLocked()
		inv.publishLocked(rtapi.Event{Type: rtapi.EventInventory, Inventory: &full})
	}
	inv.mu.Unlock()

	type run struct {
		id     string
		number int
	}
	told := map[run]bool{}
	for _, t := range last.Terminals {
		told[run{t.ID, t.Run}] = t.Dead && last.Server == next.Server
	}
	for _, t := range next.Terminals {
		if t.Dead && !told[run{t.ID, t.Run}] {
			inv.exited(t.ID, t.ExitCode, t.Signal)
		}
	}
}

// snapshotLocked returns the inventory with the viewers' counts.
func (inv *inventory) snapshotLocked() rtapi.Inventory {
	full := inv.known
	full.Terminals = slices.Clone(full.Terminals)
	for i := range full.Terminals {
		v := inv.viewers[full.Terminals[i].ID]
		full.Terminals[i].Agent = inv.agents.of(full.Terminals[i])
		full.Terminals[i].Attached, full.Terminals[i].Watching = v.attached, v.watching
	}
	return full
}

// publishLocked gives e to every subscriber; one that lags behind is cut, and asks anew.
func (inv *inventory) publishLocked(e rtapi.Event) {
	for sub := range inv.subs {
		select {
		case sub <- e:
		default:
			delete(inv.subs, sub)
			close(sub)
		}
	}
}

// setViewers is told by the hub of viewers.
func (inv *inventory) setViewers(id string, attached, watching int) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.ended {
		return
	}
	now := viewers{attached, watching}
	if inv.viewers[id] == now {
		return
	}
	inv.viewers[id] = now
	if now == (viewers{}) {
		delete(inv.viewers, id)
	}
	inv.publishLocked(rtapi.Event{Type: rtapi.EventViewers, ID: id, Attached: attached, Watching: watching})
}

// close ends all reports.
func (inv *inventory) close() {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	inv.ended = true
	for sub := range inv.subs {
		delete(inv.subs, sub)
		close(sub)
	}
}

// Get answers from the cache. While the tmux server is not connected the cache is not the truth, so that is an error.
func (inv *inventory) Get(ctx context.Context) (rtapi.Inventory, error) {
	if err := inv.await(ctx); err != nil {
		return rtapi.Inventory{}, err
	}
	inv.tmux.Touch()
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.snapshotLocked(), nil
}

// Subscribe returns the events from the inventory of this moment on.
func (inv *inventory) Subscribe(ctx context.Context) (<-chan rtapi.Event, func(), error) {
	if err := inv.await(ctx); err != nil {
		return nil, nil, err
	}
	inv.tmux.Touch()
	sub := make(chan rtapi.Event, backlog)
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.ended {
		return nil, nil, ending()
	}
	full := inv.snapshotLocked()
	sub <- rtapi.Event{Type: rtapi.EventInventory, Inventory: &full}
	if inv.tasks != nil {
		sub <- inv.tasksEventLocked()
	}
	sub <- rtapi.Event{Type: rtapi.EventRecording, Warning: inv.warning}
	inv.subs[sub] = struct{}{}
	return sub, func() {
		inv.mu.Lock()
		defer inv.mu.Unlock()
		delete(inv.subs, sub)
	}, nil
}

// await waits until the tmux server is connected and listed.
func (inv *inventory) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, knownTimeout)
	defer cancel()
	for {
		inv.mu.Lock()
		ready, ended, complete, server := inv.ready, inv.ended, inv.known.Complete, inv.known.Server
		inv.mu.Unlock()
		st := inv.tmux.Status()
		switch {
		case ended:
			return ending()
		case complete && st.Up && st.Server == server:
			return nil
		case !complete:
			select {
			case <-ready:
			case <-ctx.Done():
				return away(context.Cause(ctx))
			}
		default:
			// The cache is of a connection that broke: what comes next is a listing of the new one.
			if err := inv.refresh(ctx); err != nil {
				return away(err)
			}
		}
	}
}

// refresh lists now, so that the cache has what the caller just did.
func (inv *inventory) refresh(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case inv.refreshed <- done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// find returns a terminal with its pane, and the life of the server that both are of.
func (inv *inventory) find(ctx context.Context, id string) (rtapi.Terminal, tmux.Pane, rtapi.Incarnation, error) {
	if err := inv.await(ctx); err != nil {
		return rtapi.Terminal{}, tmux.Pane{}, rtapi.Incarnation{}, err
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	for _, t := range inv.known.Terminals {
		if t.ID == id {
			return t, inv.panes[id], inv.known.Server, nil
		}
	}
	return rtapi.Terminal{}, tmux.Pane{}, rtapi.Incarnation{}, &rtapi.Error{
		Code: "not_found", Message: fmt.Sprintf("there is no terminal %s", id),
	}
}

// tty is the path of a terminal's tty, "" when it is not known.
func (inv *inventory) tty(id string) string {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.panes[id].TTY
}

func away(err error) error {
	return fmt.Errorf("%w: %w", err, &rtapi.Error{
		Code: "runtime_unreachable", Message: "the tmux server does not answer", Hint: "see the runtime's log; it is tried again by itself",
	})
}

func ending() error {
	return &rtapi.Error{Code: "runtime_unreachable", Message: "the runtime is ending"}
}
