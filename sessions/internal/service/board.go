package service

import (
	"reflect"
	"sort"
	"sync"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/reconcile"
	"corral/sessions/internal/store"
)

// Board is the list of sessions as people see it. For every id it joins the newest row, the terminal of the last
// inventory and its viewers into one Session, and tells subscribers whenever the result changes. While rows cannot be
// read, terminals stand in for them. Reading it touches neither database nor runtime.
//
// The truth is in the store: the board is filled from rows that somebody has read or written, newest version wins, and
// Sync makes it equal to a whole listing.
type Board struct {
	mu       sync.Mutex
	clock    uint64                   // rises with every row put or dropped; guarded by mu
	rows     map[sessions.ID]row      // guarded by mu
	dropped  map[sessions.ID]uint64   // clock of recent drops, so that an older listing brings nothing back; guarded by mu
	term     map[sessions.ID]terminal // of the last inventory; guarded by mu
	removing map[sessions.ID]bool     // being removed: their end is not the last word; guarded by mu
	shown    map[sessions.ID]sessions.Session
	node     sessions.NodeStatus
	database sessions.DatabaseStatus
	listed   bool                          // a whole listing has been read
	tasks    map[sessions.ID]sessions.Task // nil until a runtime has told them
	subs     map[*Subscription]struct{}
}

type row struct {
	store.Record
	at uint64 // clock when it was put
}

type terminal struct {
	rtapi.Terminal
	attached, watching int
}

// NewBoard returns an empty board of a node, which is OFFLINE, and a database, which is DOWN, until told otherwise.
func NewBoard(node, databaseKind string) *Board {
	return &Board{
		rows:     map[sessions.ID]row{},
		dropped:  map[sessions.ID]uint64{},
		term:     map[sessions.ID]terminal{},
		removing: map[sessions.ID]bool{},
		shown:    map[sessions.ID]sessions.Session{},
		node:     sessions.NodeStatus{Name: node, State: sessions.Offline},
		database: sessions.DatabaseStatus{State: sessions.Down, Kind: databaseKind},
		subs:     map[*Subscription]struct{}{},
	}
}

// Put shows a row that was just read or written, unless a newer one is shown already.
func (b *Board) Put(rec store.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, ok := b.rows[rec.ID]; ok && old.Version >= rec.Version {
		return
	}
	b.clock++
	b.rows[rec.ID] = row{rec, b.clock}
	delete(b.dropped, rec.ID)
	b.showLocked(rec.ID)
}

// Drop takes a deleted row away, and what was known of its terminal.
func (b *Board) Drop(id sessions.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock++
	delete(b.rows, id)
	delete(b.term, id)
	b.dropped[id] = b.clock
	b.showLocked(id)
}

// SetRemoving notes that a session is being removed, or no longer is because that did not succeed. Its program is ended
// before its row goes, and whoever shows it waits for the latter.
func (b *Board) SetRemoving(id sessions.ID, removing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if removing {
		b.removing[id] = true
	} else {
		delete(b.removing, id)
	}
}

// Removing reports whether a session is being removed.
func (b *Board) Removing(id sessions.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.removing[id]
}

// Mark returns the board's clock; take it before a listing and give it to Sync with the result.
func (b *Board) Mark() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.clock
}

// Sync makes the board equal to a whole listing that was begun at mark, save for what has changed since.
func (b *Board) Sync(mark uint64, recs []store.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.listed
	b.listed = true
	listed := make(map[sessions.ID]bool, len(recs))
	for _, rec := range recs {
		listed[rec.ID] = true
		if b.dropped[rec.ID] > mark {
			continue
		}
		old, ok := b.rows[rec.ID]
		if ok && (old.Version == rec.Version || old.at > mark && old.Version > rec.Version) {
			continue
		}
		b.clock++
		b.rows[rec.ID] = row{rec, b.clock}
		b.showLocked(rec.ID)
	}
	for id, r := range b.rows {
		if !listed[id] && r.at <= mark {
			delete(b.rows, id)
			b.showLocked(id)
		}
	}
	for id, at := range b.dropped {
		if at <= mark {
			delete(b.dropped, id)
		}
	}
	if first {
		b.showAllLocked()
		b.publishLocked(b.snapshotLocked("")) // those that were given a partial one
	}
}

// Inventory notes what the runtime knows now.
func (b *Board) Inventory(inv rtapi.Inventory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.term = make(map[sessions.ID]terminal, len(inv.Terminals))
	for _, t := range inv.Terminals {
		b.term[sessions.ID(t.ID)] = terminal{t, t.Attached, t.Watching}
	}
	b.showAllLocked()
}

// liveMeta returns what the live terminals of the last inventory carry of their sessions.
func (b *Board) liveMeta() []rtapi.Meta {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []rtapi.Meta
	for _, t := range b.term {
		if !t.Dead {
			all = append(all, t.Meta)
		}
	}
	return all
}

// Viewers notes a terminal's viewer counts.
func (b *Board) Viewers(id sessions.ID, attached, watching int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.term[id]
	if !ok {
		return // an inventory with it follows
	}
	t.attached, t.watching = attached, watching
	b.term[id] = t
	b.showLocked(id)
}

// SetNode notes whether the runtime answers.
func (b *Board) SetNode(state sessions.RoleState) {
	b.setNode(func(n *sessions.NodeStatus) { n.State, n.Message = state, "" })
}

// SetNodeMessage notes why the runtime, which does not answer, cannot be started.
func (b *Board) SetNodeMessage(message string) {
	b.setNode(func(n *sessions.NodeStatus) { n.State, n.Message = sessions.Offline, message })
}

// SetNodeWarning notes what is wrong on a node whose runtime answers, "" for nothing.
func (b *Board) SetNodeWarning(warning string) {
	b.setNode(func(n *sessions.NodeStatus) { n.Warning = warning })
}

func (b *Board) setNode(change func(*sessions.NodeStatus)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.node
	change(&b.node)
	if b.node == before {
		return
	}
	b.publishLocked(sessions.Change{Type: sessions.ChangeNode, Nodes: []sessions.NodeStatus{b.node}})
}

// Node returns the node's state.
func (b *Board) Node() sessions.NodeStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.node
}

// SetDatabase notes whether rows can be read and written.
func (b *Board) SetDatabase(d sessions.DatabaseStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.database == d {
		return
	}
	b.database = d
	b.publishLocked(sessions.Change{Type: sessions.ChangeDatabase, Database: &d})
	b.showAllLocked()
}

// Database returns the database's state.
func (b *Board) Database() sessions.DatabaseStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.database
}

// Get returns one session as people see it.
func (b *Board) Get(id sessions.ID) (sessions.Session, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.shown[id]
	return s, ok
}

// List returns all sessions, oldest first.
func (b *Board) List() []sessions.Session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.listLocked()
}

// Complete reports whether a session that the board does not show does not exist. It is false until rows were read.
func (b *Board) Complete() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.listed
}

func (b *Board) listLocked() []sessions.Session {
	list := make([]sessions.Session, 0, len(b.shown))
	for _, s := range b.shown {
		list = append(list, s)
	}
	sort.Slice(list, func(i, j int) bool {
		if !list[i].CreatedAt.Equal(list[j].CreatedAt) {
			return list[i].CreatedAt.Before(list[j].CreatedAt)
		}
		return list[i].ID < list[j].ID
	})
	return list
}

func (b *Board) showAllLocked() {
	for id := range b.rows {
		b.showLocked(id)
	}
	for id := range b.term {
		if _, ok := b.rows[id]; !ok {
			b.showLocked(id)
		}
	}
	for id := range b.shown {
		if _, ok := b.rows[id]; !ok {
			b.showLocked(id)
		}
	}
}

// showLocked computes what people see of one session and publishes it if it changed.
func (b *Board) showLocked(id sessions.ID) {
	s, ok := b.viewLocked(id)
	old, was := b.shown[id]
	switch {
	case !ok && was:
		delete(b.shown, id)
		b.publishLocked(sessions.Change{Type: sessions.ChangeRemoved, ID: id})
	case ok && (!was || !reflect.DeepEqual(s, old)):
		b.shown[id] = s
		b.publishLocked(sessions.Change{Type: sessions.ChangeSession, Session: &s})
	}
}

func (b *Board) viewLocked(id sessions.ID) (sessions.Session, bool) {
	r, hasRow := b.rows[id]
	t, hasTerm := b.term[id]
	s := r.Session
	if hasRow && hasTerm {
		s.Attached, s.Watching = t.attached, t.watching
		if t.Run == r.Run {
			withAgent(&s, t.Terminal)
		}
	}
	if b.listed && b.database.State == sessions.Up {
		return s, hasRow
	}
	if !hasTerm {
		return s, hasRow
	}
	if !hasRow {
		s = fromMeta(t.Terminal, b.node.Name)
		s.Attached, s.Watching = t.attached, t.watching
	}
	if t.Run >= r.Run {
		withoutDatabase(&s, t.Terminal)
		withAgent(&s, t.Terminal)
	}
	return s, true
}

// fromMeta is a session of which only the terminal is known.
func fromMeta(t rtapi.Terminal, node string) sessions.Session {
	return sessions.Session{
		ID:             sessions.ID(t.ID),
		Title:          sessions.CleanTitle(t.Title),
		Project:        sessions.CleanLine(t.Project, sessions.MaxProject),
		CWD:            t.CWD,
		Kind:           sessions.Kind(t.Kind),
		Args:           t.Args,
		ConversationID: t.Conversation,
		Node:           node,
		StateSince:     t.CreatedAt,
		CreatedAt:      t.CreatedAt,
		UpdatedAt:      t.CreatedAt,
		LastActivityAt: t.CreatedAt,
	}
}

// withoutDatabase corrects a state that cannot be written now by what the terminal says.
func withoutDatabase(s *sessions.Session, t rtapi.Terminal) {
	switch {
	case t.Dead && !s.State.Ended():
		end := reconcile.EndOf(t)
		s.State, s.ExitCode, s.Signal = end.State, end.ExitCode, end.Signal
		s.StateReason = end.Reason + "; not written yet, the database is away"
		s.StateEvidence = "the runtime saw it end"
		if !t.DeadAt.IsZero() {
			s.StateSince = t.DeadAt
		}
	case !t.Dead && !s.State.Live():
		s.State, s.ExitCode, s.Signal = sessions.Detached, nil, nil
		if s.Attached > 0 {
			s.State = sessions.Running
		}
		s.StateReason, s.StateEvidence = "alive; the database is away", "the runtime has it alive"
	}
}
