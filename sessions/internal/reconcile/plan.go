package reconcile

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

const (
	// lateDeath is how long a death that a host's shutdown could have caused is kept back: by then the tmux server is
	// gone too if it was one.
	lateDeath = 5 * time.Second
	// hostDown is how far the end of a tmux server may be from the death of a program in it for both to be one shutdown.
	hostDown = 30 * time.Second
	// notFound is what the login shell exits with when it does not find the program to start (POSIX, 2.8.2).
	notFound = 127
	// settle is how long a row that is newer than the inventory is left alone: the inventory may have been taken before
	// the session's terminal was made.
	settle = 2 * time.Second
)

// Observation is what one round sees.
type Observation struct {
	Rows      []store.Record  // read before the inventory
	Inventory rtapi.Inventory // of Node
	Now       time.Time
	Node      string // rows of other nodes are left alone
	Owner     string // this server's incarnation
	// Starting holds the incarnations of other servers that are there: their starts are not abandoned.
	Starting map[string]bool
	// ViewersSince says when a terminal's viewers last went from none attached to some or back.
	ViewersSince map[sessions.ID]time.Time
	// Stable is how long attached or not must have lasted to be written.
	Stable time.Duration
}

// Action is one step of a plan; exactly one of its pointers is set.
type Action struct {
	Name  string
	Move  *store.Move
	Adopt *Adoption
	Kill  *Kill
	// Learned is a conversation to note.
	Learned *Learned
	// Sized is the size of a terminal.
	Sized *Sized
	// Used is a conversation in which something was said.
	Used *Used
}

// Adoption makes a row for a live terminal that has none.
type Adoption struct {
	Record   store.Record
	Evidence string
}

// Used names a session and the conversation that was used in it.
type Used struct {
	ID           sessions.ID
	Conversation string
}

// Kill ends a program that did not stop in time.
type Kill struct {
	ID  sessions.ID
	Run int
}

// Plan is what a round does, and when to look again at the latest; Wake is zero when nothing is waited for.
type Plan struct {
	Actions []Action
	Wake    time.Time
}

// NewPlan decides what an observation calls for. It is pure.
func NewPlan(o Observation) Plan {
	p := planner{o: o}
	if !o.Inventory.Complete || o.Inventory.Server.PID == 0 {
		return p.plan
	}
	terminals := make(map[sessions.ID]rtapi.Terminal, len(o.Inventory.Terminals))
	for _, t := range o.Inventory.Terminals {
		terminals[sessions.ID(t.ID)] = t
	}
	for _, row := range o.Rows {
		t, known := terminals[row.ID]
		delete(terminals, row.ID)
		if row.Node == o.Node {
			p.row(row, t, known)
		}
	}
	for _, t := range o.Inventory.Terminals {
		if _, unclaimed := terminals[sessions.ID(t.ID)]; unclaimed {
			p.stray(t)
		}
	}
	return p.plan
}

type planner struct {
	o    Observation
	plan Plan
}

// due reports whether t has come, and asks to be woken then if not.
func (p *planner) due(t time.Time) bool {
	if !p.o.Now.Before(t) {
		return true
	}
	if p.plan.Wake.IsZero() || t.Before(p.plan.Wake) {
		p.plan.Wake = t
	}
	return false
}

func (p *planner) move(name string, row store.Record, m store.Move) {
	m.ID, m.From, m.Version = row.ID, row.State, row.Version
	m.At, m.Actor = p.o.Now, sessions.ActorReconciler
	if row.Owner != "" {
		m.Owner = new(string)
	}
	if !row.Deadline.IsZero() {
		m.Deadline = new(time.Time)
	}
	p.plan.Actions = append(p.plan.Actions, Action{Name: name, Move: &m})
}

func (p *planner) server() string { return serverName(p.o.Inventory.Server) }

func serverName(i rtapi.Incarnation) string { return fmt.Sprintf("tmux server %d", i.PID) }

// row decides about one row and its terminal, if the tmux server knows one.
func (p *planner) row(row store.Record, t rtapi.Terminal, known bool) {
	// A terminal of an earlier run is not this run's terminal; only a live one beside an ended row is still somebody's
	// program and gets adopted.
	if known && t.Run < row.Run && (t.Dead || row.State.Live()) {
		known = false
	}
	switch {
	case !known && row.State.Ended(), known && t.Dead && row.State.Ended():
		p.correct(row)
		if known && t.Run == row.Run && t.Agent != nil {
			p.conversation(row, t) // what was told last may arrive late
		}
	case !known:
		p.unknown(row)
	case t.Dead:
		p.dead(row, t)
	default:
		p.alive(row, t)
		p.size(row, t)
	}
}

// unknown decides about a live row that the tmux server does not know.
func (p *planner) unknown(row store.Record) {
	evidence := p.server() + " does not know it"
	if row.Tmux.PID != 0 && row.Tmux != p.o.Inventory.Server {
		evidence += "; it lived in " + serverName(row.Tmux) + ", which is gone"
	}
	now := p.o.Now
	switch row.State {
	case sessions.Starting:
		switch {
		case row.Owner != p.o.Owner && !p.o.Starting[row.Owner]:
			p.move("start abandoned", row, store.Move{
				To: sessions.Failed, Reason: "never started: the server that was starting it has gone", Evidence: evidence, EndedAt: &now,
			})
		case p.due(row.Deadline):
			p.move("start timed out", row, store.Move{
				To: sessions.Failed, Reason: "did not start in time", Evidence: evidence, EndedAt: &now,
			})
		}
	case sessions.Stopping:
		if !p.tooNew(row) {
			p.move("stopped", row, store.Move{To: sessions.Stopped, Reason: row.StateReason, Evidence: evidence, EndedAt: &now})
		}
	case sessions.Running, sessions.Detached, sessions.WaitingForInput:
		if p.tooNew(row) {
			return
		}
		reason := "its tmux session was killed"
		if row.Tmux.PID != 0 && row.Tmux != p.o.Inventory.Server {
			reason = "its tmux server went down"
		}
		p.move("lost", row, store.Move{To: sessions.Recoverable, Reason: reason, Evidence: evidence, EndedAt: &now})
	case sessions.Stopped, sessions.Failed, sessions.Recoverable:
	}
}

// tooNew reports whether the inventory may be older than the terminal that row speaks of.
func (p *planner) tooNew(row store.Record) bool {
	return row.UpdatedAt.After(p.o.Inventory.At) && !p.due(row.UpdatedAt.Add(settle))
}

// dead decides about a live row whose program has ended.
func (p *planner) dead(row store.Record, t rtapi.Terminal) {
	at := t.DeadAt
	if at.IsZero() {
		at = p.o.Now
	}
	end := EndOf(t)
	m := store.Move{
		To: end.State, Reason: end.Reason, ExitCode: end.ExitCode, Signal: end.Signal, EndedAt: &at,
		Evidence: fmt.Sprintf("%s saw run %d end", p.server(), t.Run),
		Tmux:     &p.o.Inventory.Server,
	}
	if t.Run != row.Run {
		m.Run = &t.Run
	}
	if row.Kind != sessions.KindShell && t.ExitCode != nil && *t.ExitCode == notFound {
		m.Reason += ", as when a program is not found"
	}
	if row.State == sessions.Stopping {
		m.To, m.Reason = sessions.Stopped, row.StateReason
		p.move("stopped", row, m)
		return
	}
	if byHostSignal(t.ExitCode, t.Signal) && !agentKilled(t) && !p.due(at.Add(lateDeath)) {
		return
	}
	p.move("ended", row, m)
}

// correct looks again at an ended row: a failure that was part of the host's going down is no failure.
func (p *planner) correct(row store.Record) {
	if row.State != sessions.Failed || row.EndedAt.IsZero() || row.Tmux.PID == 0 || !byHostSignal(row.ExitCode, row.Signal) {
		return
	}
	for _, e := range p.o.Inventory.Ended {
		sameServer := e.Server == row.Tmux
		sameBoot := e.Server.BootID == row.Tmux.BootID && e.Server.BootID != p.o.Inventory.Server.BootID
		if !sameServer && !sameBoot {
			continue
		}
		if gap := e.At.Sub(row.EndedAt).Abs(); gap <= hostDown {
			p.move("host went down", row, store.Move{
				To: sessions.Recoverable, Reason: "host went down", ExitCode: row.ExitCode, Signal: row.Signal,
				Evidence: fmt.Sprintf("%s ended within %s of it", serverName(e.Server), gap.Round(time.Second)),
			})
			return
		}
	}
}

// alive decides about a row whose program runs.
func (p *planner) alive(row store.Record, t rtapi.Terminal) {
	m := store.Move{Tmux: &p.o.Inventory.Server, Evidence: p.server() + " has it alive"}
	if t.Run != row.Run {
		m.Run = &t.Run
	}
	switch row.State {
	case sessions.Starting:
		if p.agent(row, t) {
			return
		}
		m.To, m.Reason = sessions.Detached, "started"
		p.move("start confirmed", row, m)
	case sessions.Stopping:
		if p.due(row.Deadline) {
			p.plan.Actions = append(p.plan.Actions, Action{Name: "stop overdue", Kill: &Kill{row.ID, t.Run}})
		}
	case sessions.Stopped, sessions.Failed, sessions.Recoverable:
		m.To, m.Reason, m.EndedAt = sessions.Detached, "adopted: its program is alive", new(time.Time)
		p.move("adopted", row, m)
	case sessions.Running:
		if !p.agent(row, t) && t.Attached == 0 && p.stable(row.ID) {
			m.To, m.Reason, m.Evidence = sessions.Detached, "nobody is attached", "no viewer holds the keyboard"
			p.move("detached", row, m)
		}
	case sessions.Detached:
		if !p.agent(row, t) && t.Attached > 0 && p.stable(row.ID) {
			m.To, m.Reason, m.Evidence = sessions.Running, "attached", fmt.Sprintf("viewers attached: %d", t.Attached)
			p.move("attached", row, m)
		}
	case sessions.WaitingForInput:
		p.agent(row, t)
	}
}

func (p *planner) stable(id sessions.ID) bool {
	since, ok := p.o.ViewersSince[id]
	return !ok || p.due(since.Add(p.o.Stable))
}

// stray decides about a terminal without a row: a live one is adopted with all that it carries. A dead one is only a
// screen that nobody asks for any more.
func (p *planner) stray(t rtapi.Terminal) {
	id, err := uuid.Parse(t.ID)
	if t.Dead || err != nil || id.String() != t.ID {
		return
	}
	rec := store.Record{
		Session: sessions.Session{
			ID:             sessions.ID(t.ID),
			Title:          sessions.CleanTitle(t.Title),
			Project:        sessions.CleanLine(t.Project, sessions.MaxProject),
			CWD:            t.CWD,
			Kind:           kindOf(t),
			Args:           t.Args,
			ConversationID: t.Conversation,
			State:          sessions.Detached,
			StateReason:    "adopted: its program is alive",
			Node:           p.o.Node,
			CreatedAt:      t.CreatedAt,
			UpdatedAt:      p.o.Now,
			LastActivityAt: p.o.Now,
		},
		Run: t.Run, Tmux: p.o.Inventory.Server, Cols: t.Cols, Rows: t.Rows,
		ConversationUsed: t.Conversation != "", // it is not known, and this is the careful answer
	}
	if rec.Run < 1 {
		rec.Run = 1
	}
	if rec.Title == "" {
		rec.Title = string(rec.Kind)
	}
	if rec.CreatedAt.IsZero() {
		rec.CreatedAt = p.o.Now
	}
	p.plan.Actions = append(p.plan.Actions, Action{
		Name:  "adopted",
		Adopt: &Adoption{Record: rec, Evidence: p.server() + " has it alive, the database does not know it"},
	})
}

// kindOf is the kind that a terminal says it is, or what its arguments make it if that can be the name of none.
func kindOf(t rtapi.Terminal) sessions.Kind {
	if k := sessions.Kind(t.Kind); k.Valid() {
		return k
	}
	if len(t.Args) > 0 {
		return sessions.KindCommand
	}
	return sessions.KindShell
}
