package service

import (
	"corral/sessions"
)

// How many changes a subscriber may lag behind: a burst of several changes of each of some hundred sessions, as when a
// tmux server dies; for one session alone, more changes than it goes through in the time a viewer needs to read one.
const (
	queueAll = 1024
	queueOne = 32
)

// Subscription brings the board's changes to one subscriber.
type Subscription struct {
	// Snapshot is the board at the moment of subscribing; Changes begins exactly after it.
	Snapshot sessions.Change
	// Changes is closed when the subscriber lagged too far behind, who then subscribes again.
	Changes <-chan sessions.Change

	queue chan sessions.Change
	only  sessions.ID // "" for everything
}

// Subscribe returns a subscription to everything on the board. Unsubscribe must follow.
func (b *Board) Subscribe() *Subscription { return b.subscribe("", queueAll) }

// SubscribeTo returns a subscription to one session alone; its snapshot has that session or none.
func (b *Board) SubscribeTo(id sessions.ID) *Subscription { return b.subscribe(id, queueOne) }

func (b *Board) subscribe(only sessions.ID, size int) *Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	sub := &Subscription{queue: make(chan sessions.Change, size), only: only}
	sub.Changes = sub.queue
	sub.Snapshot = b.snapshotLocked(only)
	b.subs[sub] = struct{}{}
	return sub
}

// snapshotLocked is everything, or one session alone.
func (b *Board) snapshotLocked(only sessions.ID) sessions.Change {
	database := b.database
	c := sessions.Change{
		Type:     sessions.ChangeSnapshot,
		Partial:  !b.listed,
		Nodes:    []sessions.NodeStatus{b.node},
		Database: &database,
	}
	if only == "" {
		c.Sessions = b.listLocked()
		c.Tasks = b.tasksLocked()
	} else if s, ok := b.shown[only]; ok {
		c.Sessions = []sessions.Session{s}
	}
	return c
}

// Unsubscribe ends a subscription. It may be called more than once.
func (b *Board) Unsubscribe(sub *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subs, sub)
}

// publishLocked queues a change for every subscriber it concerns. It never blocks: who has no room is cut off.
func (b *Board) publishLocked(c sessions.Change) {
	for sub := range b.subs {
		if sub.only != "" && !concerns(c, sub.only) {
			continue
		}
		select {
		case sub.queue <- c:
		default:
			delete(b.subs, sub)
			close(sub.queue)
		}
	}
}

func concerns(c sessions.Change, id sessions.ID) bool {
	return c.ID == id || c.Session != nil && c.Session.ID == id
}
