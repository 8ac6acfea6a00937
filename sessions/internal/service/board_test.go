package service_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/service"
	"corral/sessions/internal/store"
)

func record(id sessions.ID, version int64, state sessions.State) store.Record {
	return store.Record{Session: sessions.Session{ID: id, State: state, CreatedAt: time.Unix(1, 0)}, Version: version, Run: 1}
}

func upBoard() *service.Board {
	b := service.NewBoard("here", "private")
	b.SetDatabase(sessions.DatabaseStatus{State: sessions.Up, Kind: "private"})
	b.Sync(b.Mark(), nil)
	return b
}

func state(b *service.Board, id sessions.ID) sessions.State {
	s, _ := b.Get(id)
	return s.State
}

func TestBoardKeepsTheNewest(t *testing.T) {
	t.Parallel()
	b := upBoard()
	b.Put(record("a", 2, sessions.Running))
	b.Put(record("a", 1, sessions.Detached))
	if got := state(b, "a"); got != sessions.Running {
		t.Errorf("an older row won: %s", got)
	}
	// A listing that began before what the board has seen since.
	mark := b.Mark()
	b.Put(record("a", 3, sessions.Stopped))
	b.Put(record("new", 1, sessions.Starting))
	b.Put(record("gone", 1, sessions.Stopped))
	b.Drop("gone")
	b.Sync(mark, []store.Record{record("a", 2, sessions.Running), record("gone", 1, sessions.Stopped)})
	if got := state(b, "a"); got != sessions.Stopped {
		t.Errorf("an older listing won: %s", got)
	}
	if _, ok := b.Get("new"); !ok {
		t.Error("a listing took away what was made after it")
	}
	if _, ok := b.Get("gone"); ok {
		t.Error("a listing brought back what was removed after it")
	}
	// A listing that began after it is the truth, also when versions go back, as after restoring a backup.
	b.Sync(b.Mark(), []store.Record{record("a", 1, sessions.Detached)})
	if got := state(b, "a"); got != sessions.Detached {
		t.Errorf("the truth lost: %s", got)
	}
	if list := b.List(); len(list) != 1 {
		t.Errorf("still shown: %v", list)
	}
}

func TestSubscriptionHasNoGap(t *testing.T) {
	t.Parallel()
	b := upBoard()
	const n = 500
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range n {
			b.Put(record(sessions.ID(fmt.Sprint(i)), 1, sessions.Starting))
		}
	})
	seen := map[sessions.ID]int{}
	sub := b.Subscribe()
	for _, s := range sub.Snapshot.Sessions {
		seen[s.ID]++
	}
	wait.Wait()
	b.Unsubscribe(sub)
	for len(sub.Changes) > 0 {
		c := <-sub.Changes
		seen[c.Session.ID]++
	}
	if len(seen) != n {
		t.Errorf("%d of %d seen", len(seen), n)
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s seen %d times", id, times)
		}
	}
}

func TestLaggingSubscriberIsCutOff(t *testing.T) {
	t.Parallel()
	b := upBoard()
	slow, one, good := b.Subscribe(), b.SubscribeTo("x"), b.Subscribe()
	for i := range 3000 {
		b.Put(record("y", int64(i+1), sessions.States()[i%2]))
		<-good.Changes
	}
	got := 0
	for range slow.Changes {
		got++
	}
	if got == 0 || got >= 3000 {
		t.Errorf("the slow one got %d changes before it was cut off", got)
	}
	if len(one.Changes) != 0 {
		t.Error("a subscriber to one session hears of others")
	}
	b.Put(record("x", 1, sessions.Starting))
	if c := <-one.Changes; c.Session.ID != "x" {
		t.Errorf("heard of %v", c)
	}
	b.Unsubscribe(slow) // once more than needed
}

func TestNothingIsPublishedWithoutAChange(t *testing.T) {
	t.Parallel()
	b := upBoard()
	inv := rtapi.Inventory{Terminals: []rtapi.Terminal{{Meta: rtapi.Meta{ID: "a", Run: 1}, Attached: 1}}}
	b.Put(record("a", 1, sessions.Running))
	b.Inventory(inv)
	sub := b.Subscribe()
	b.Put(record("a", 1, sessions.Running))
	b.Sync(b.Mark(), []store.Record{record("a", 1, sessions.Running)})
	b.Inventory(inv)
	b.Viewers("a", 1, 0)
	b.SetDatabase(b.Database())
	b.SetNode(b.Node().State)
	if n := len(sub.Changes); n != 0 {
		t.Errorf("%d changes", n)
	}
	b.Viewers("a", 1, 2)
	if c := <-sub.Changes; c.Session.Attached != 1 || c.Session.Watching != 2 {
		t.Errorf("viewers shown as %+v", c.Session)
	}
}

func TestTerminalsStandInForRows(t *testing.T) {
	t.Parallel()
	b := service.NewBoard("here", "private")
	seven := 7
	created := time.Unix(100, 0)
	b.Inventory(rtapi.Inventory{Terminals: []rtapi.Terminal{
		{Meta: rtapi.Meta{ID: "alive", Kind: "shell", Title: "t\x1b", CWD: "/", Run: 1}, CreatedAt: created, Attached: 1},
		{Meta: rtapi.Meta{ID: "dead", Kind: "shell", CWD: "/", Run: 1}, CreatedAt: created.Add(1), Dead: true, ExitCode: &seven},
	}})
	list := b.List()
	want := []sessions.Session{
		{
			ID: "alive", Title: "t", CWD: "/", Kind: "shell", State: sessions.Running, StateReason: "alive; the database is away",
			StateSince: created, StateEvidence: "the runtime has it alive",
			Attached: 1, Node: "here", CreatedAt: created, UpdatedAt: created, LastActivityAt: created,
		},
		{
			ID: "dead", CWD: "/", Kind: "shell", State: sessions.Failed, ExitCode: &seven,
			StateReason: "exited 7; not written yet, the database is away",
			StateSince:  created.Add(1), StateEvidence: "the runtime saw it end",
			Node: "here", CreatedAt: created.Add(1), UpdatedAt: created.Add(1), LastActivityAt: created.Add(1),
		},
	}
	if d := cmp.Diff(want, list); d != "" {
		t.Errorf("list without a database (-want +got):\n%s", d)
	}
	if b.Complete() {
		t.Error("complete although no row was ever read")
	}
	// The rows come: they are the truth, and the terminal without one is none of ours to show.
	b.SetDatabase(sessions.DatabaseStatus{State: sessions.Up, Kind: "private"})
	b.Sync(b.Mark(), []store.Record{record("alive", 3, sessions.Detached)})
	if list := b.List(); len(list) != 1 || list[0].State != sessions.Detached || list[0].Attached != 1 {
		t.Errorf("list with the rows: %+v", list)
	}
	// The database goes away, and an end cannot be written: it is shown all the same.
	b.SetDatabase(sessions.DatabaseStatus{State: sessions.Down, Kind: "private"})
	b.Inventory(rtapi.Inventory{Terminals: []rtapi.Terminal{{Meta: rtapi.Meta{ID: "alive", Run: 1}, Dead: true, ExitCode: &seven}}})
	if s, _ := b.Get("alive"); s.State != sessions.Failed || *s.ExitCode != 7 {
		t.Errorf("shown as %+v", s)
	}
}
