package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"corral/e2e/rounds"
	"corral/migrations/pgtest"
	"corral/sessions"
	"corral/sessions/sessionclient"
)

const clients = 4

// book is what four clients have asked for, to hold the end against.
type book struct {
	mu       sync.Mutex
	ids      []sessions.ID            // all fields guarded by mu
	titles   map[sessions.ID][]string // what a session may be called: the last acknowledged name, and later ones in doubt
	ended    map[sessions.ID]bool     // asked to end, by a stop or a removal
	removed  map[sessions.ID]bool     // asked to be removed
	restarts map[sessions.ID]int      // acknowledged
	answers  map[sessions.Code]int
}

// any returns one of the sessions that client made, or of all, "" when there is none yet.
func (b *book) any(rnd *rand.Rand, mine func(int) bool) sessions.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	var of []sessions.ID
	for i, id := range b.ids {
		if mine == nil || mine(i) {
			of = append(of, id)
		}
	}
	if len(of) == 0 {
		return ""
	}
	return of[rnd.IntN(len(of))]
}

// note counts an answer and changes the book by it.
func (b *book) note(err error, change func()) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[sessions.CodeOf(err)]++
	change()
	return err
}

// expect notes what is about to be asked.
func (b *book) expect(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// caller makes calls as one of the clients.
type caller struct {
	*book
	c   *sessionclient.Client
	rnd *rand.Rand
	who int
}

// run makes n calls that reach the server and its database.
func (c *caller) run(ctx context.Context, n int) {
	for i := 0; i < n; i++ {
		switch sessions.CodeOf(c.call(ctx, i)) {
		case sessions.CodeUnreachable, sessions.CodeDatabaseUnavailable:
			i--
			select { // one that is being restarted refuses at once
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
	}
}

// call does one thing to some session.
func (b *caller) call(ctx context.Context, n int) error {
	c, rnd, client := b.c, b.rnd, b.who
	id := b.any(rnd, nil)
	what := rnd.IntN(10)
	switch {
	case id == "" || what < 3:
		title := fmt.Sprintf("made %d.%d", client, n)
		s, err := c.Create(ctx, sessions.CreateRequest{CWD: "/tmp", Title: title})
		return b.note(err, func() {
			if err == nil {
				b.ids = append(b.ids, s.ID)
				b.titles[s.ID] = []string{title}
			}
		})
	case what < 5: // only one client renames a session, so that it knows what it is called
		id = b.any(rnd, func(i int) bool { return i%clients == client })
		title := fmt.Sprintf("renamed %d.%d", client, n)
		_, err := c.Update(ctx, id, sessions.UpdateRequest{Title: &title})
		return b.note(err, func() {
			switch sessions.CodeOf(err) {
			case "":
				b.titles[id] = []string{title}
			case sessions.CodeNotFound:
			default: // nobody knows
				b.titles[id] = append(b.titles[id], title)
			}
		})
	case what < 6:
		b.expect(func() { b.ended[id] = true })
		_, err := c.Stop(ctx, id)
		return b.note(err, func() {})
	case what < 8: // two at once
		restart := func() error {
			_, err := c.Restart(ctx, id)
			return b.note(err, func() {
				if err == nil {
					b.restarts[id]++
				}
			})
		}
		var other sync.WaitGroup
		other.Go(func() { _ = restart() })
		err := restart()
		other.Wait()
		return err
	case what < 9:
		_, err := c.Close(ctx, id)
		return b.note(err, func() {})
	}
	force := rnd.IntN(3) == 0
	b.expect(func() {
		b.removed[id] = true
		b.ended[id] = b.ended[id] || force
	})
	return b.note(c.Remove(ctx, id, force), func() {})
}

// Four clients make 500 calls of every kind while the reconciler runs every 50 ms, the server is restarted, the runtime
// and the database come and go, programs end and terminals vanish. At the end rows and terminals agree, no name is lost,
// nothing was ended that nobody asked for, and nothing was started twice.
func TestMixedCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.serveRuntime()
	url := pgtest.EmptyURL(t)
	r.cfg.Database.URL = url
	stop := r.run()
	r.await("database up", databaseUp)
	r.await("node up", nodeUp)
	admin, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(t.Context()))

	b := &book{
		titles: map[sessions.ID][]string{}, ended: map[sessions.ID]bool{}, removed: map[sessions.ID]bool{},
		restarts: map[sessions.ID]int{}, answers: map[sessions.Code]int{},
	}
	calls := rounds.N(80, 500, 500)
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	var work sync.WaitGroup
	for i := range clients {
		c := sessionclient.New(sessionclient.Config{Socket: r.cfg.Socket, ClientName: fmt.Sprint(i)})
		t.Cleanup(c.CloseIdleConnections)
		work.Go(func() {
			(&caller{book: b, c: c, rnd: rand.New(rand.NewPCG(1, uint64(i))), who: i}).run(ctx, calls/clients)
		})
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	rnd := rand.New(rand.NewPCG(2, 0))
	for n, busy := 0, true; busy; n++ {
		select {
		case <-done:
			busy = false
		case <-time.After(100 * time.Millisecond):
		}
		id := b.any(rnd, nil)
		switch n % 16 {
		case 1:
			r.runtime.Exit(string(id), rnd.IntN(3))
		case 2:
			r.runtime.KillSession(string(id))
		case 4:
			r.runtime.SetAway(true)
		case 5:
			r.runtime.SetAway(false)
		case 6:
			if _, err := admin.Exec(t.Context(), everybodyOut); err != nil {
				t.Fatal(err)
			}
		case 15:
			if err := stop(); err != nil {
				t.Error(err)
			}
			stop = r.run()
			r.await("database up", databaseUp)
		}
	}
	r.runtime.SetAway(false)
	r.await("node up", nodeUp)
	r.await("database up", databaseUp)
	if ctx.Err() != nil {
		t.Errorf("not all calls were made: %v", ctx.Err())
	}
	b.check(t, r)
	t.Logf("%d calls, answers %v", calls, b.answers)
}

// check holds what is there against what was asked for.
func (b *book) check(t *testing.T, r *rig) {
	t.Helper()
	history(t, r)
	list, err := r.client.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there := map[sessions.ID]sessions.Session{}
	for _, s := range list {
		there[s.ID] = s
	}
	for _, id := range b.ids {
		s, ok := there[id]
		switch {
		case !ok && !b.removed[id]:
			t.Errorf("%s is gone, and nobody removed it", id)
		case ok && !slices.Contains(b.titles[id], s.Title):
			t.Errorf("%s is called %q, not any of %q", id, s.Title, b.titles[id])
		}
	}
	for _, s := range r.runtime.Signals() {
		if id := sessions.ID(s.ID); slices.Contains(b.ids, id) && !b.ended[id] {
			t.Errorf("%s got %s, and nobody asked for that", id, s.Signal)
		}
	}
	type start struct {
		id  string
		run int
	}
	started, again := map[start]int{}, map[sessions.ID]int{}
	for _, l := range r.runtime.Launches() {
		if started[start{l.Meta.ID, l.Meta.Run}]++; started[start{l.Meta.ID, l.Meta.Run}] > 1 {
			t.Errorf("run %d of %s was started twice", l.Meta.Run, l.Meta.ID)
		}
		if l.Meta.Run > 1 {
			again[sessions.ID(l.Meta.ID)]++
		}
	}
	for id, n := range b.restarts {
		if again[id] < n {
			t.Errorf("%s: %d restarts were acknowledged and %d made", id, n, again[id])
		}
	}
}
