package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/e2e/rounds"
	"corral/migrations/pgtest"
	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

// The database takes exactly the moves of the table in sessions, for every pair of states.
func TestEveryPairOfStates(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	for _, from := range sessions.States() {
		r := createIn(t, s, from)
		for _, to := range sessions.States() {
			got, err := s.Move(t.Context(), moveOf(r, to))
			if from.CanFollow(to) {
				if err != nil {
					t.Errorf("%s to %s: %v", from, to, err)
				}
				r = createIn(t, s, from)
				continue
			}
			if !errors.Is(err, sessions.ErrConflict) {
				t.Errorf("%s to %s: %+v, %v", from, to, got, err)
			}
			if now, err := s.Get(t.Context(), r.ID); err != nil || !cmp.Equal(now, r) {
				t.Errorf("%s to %s was refused, but the row changed: %+v, %v", from, to, now, err)
			}
		}
	}
}

func TestMoveWritesRowAndEvent(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	r := create(t, s)
	tmux := rtapi.Incarnation{PID: 7, Start: 8, BootID: "boot"}
	m := moveOf(r, sessions.Failed)
	m.ExitCode, m.Signal = ptr(137), ptr(9)
	m.Run, m.Tmux, m.EndedAt, m.Size = ptr(2), &tmux, ptr(r.UpdatedAt.Add(time.Minute)), &[2]int{120, 40}
	got, err := s.Move(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	want := r
	want.State, want.StateReason, want.ExitCode, want.Signal = sessions.Failed, "because", ptr(137), ptr(9)
	want.Run, want.Tmux, want.EndedAt, want.Cols, want.Rows = 2, tmux, *m.EndedAt, 120, 40
	want.Owner, want.Deadline = "", time.Time{} // ended with STARTING
	want.UpdatedAt, want.Version = m.At, r.Version+1
	want.StateSince, want.StateEvidence = m.At, "it was seen"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	all := events(t, s)
	last := all[len(all)-1]
	wantEvent := sessions.Event{
		ID: last.ID, SessionID: r.ID, At: m.At, Actor: m.Actor, From: sessions.Starting, To: sessions.Failed,
		Reason: "because", Evidence: "it was seen", ExitCode: ptr(137), Signal: ptr(9),
	}
	if diff := cmp.Diff(wantEvent, last); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}

	restart := moveOf(got, sessions.Starting)
	restart.Owner, restart.Deadline = ptr("server-2"), ptr(m.At.Add(time.Minute))
	again, err := s.Move(t.Context(), restart)
	if err != nil {
		t.Fatal(err)
	}
	if again.Owner != "server-2" || !again.Deadline.Equal(*restart.Deadline) || !again.EndedAt.IsZero() ||
		again.ExitCode != nil || again.Signal != nil || again.Tmux != tmux || again.Run != 2 || again.Cols != 120 {
		t.Errorf("restarted: %+v", again)
	}
}

// What a program or tmux printed may be in a reason; it must not make a move impossible.
func TestHostileWords(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	m := moveOf(create(t, s), sessions.Failed)
	m.Reason, m.Evidence = "exec: \xff\x00\x1b]0;x\a no", strings.Repeat("long\n", 1000)
	got, err := s.Move(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if got.StateReason != "exec: ]0;x no" {
		t.Errorf("reason %q", got.StateReason)
	}
}

func TestEndOfARun(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	failed := createIn(t, s, sessions.Failed)
	if !failed.EndedAt.Equal(failed.UpdatedAt) {
		t.Errorf("ended at %v, moved at %v", failed.EndedAt, failed.UpdatedAt)
	}
	corrected := move(t, s, failed, sessions.Recoverable)
	if !corrected.EndedAt.Equal(failed.EndedAt) {
		t.Errorf("a correction moved the end from %v to %v", failed.EndedAt, corrected.EndedAt)
	}
}

// Of many writers that saw the same row exactly one wins, the others learn the state, and one event tells of it.
func TestConcurrentMoves(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	for range rounds.N(10, 50, 500) {
		r := createIn(t, s, sessions.Recoverable)
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range 6 {
			m := moveOf(r, []sessions.State{sessions.Starting, sessions.Stopped}[i%2])
			m.Evidence = fmt.Sprintf("writer %d", i)
			wg.Go(func() {
				switch _, err := s.Move(context.Background(), m); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, sessions.ErrConflict):
					t.Errorf("writer %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d writers won", won.Load())
		}
		events, err := s.Events(t.Context(), store.EventQuery{Session: r.ID})
		if err != nil || len(events) != 4 { // created, detached, recoverable, the winner's
			t.Fatalf("%d events, %v", len(events), err)
		}
	}
}

// A rename between reading and moving is not undone, nor does the move go through on a row that nobody has seen.
func TestNoLostUpdate(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	r := createIn(t, s, sessions.Detached)
	if _, err := s.Update(t.Context(), r.ID, ptr("renamed"), nil, t0); err != nil {
		t.Fatal(err)
	}
	_, err := s.Move(t.Context(), moveOf(r, sessions.Running))
	var conflict *sessions.Error
	if !errors.As(err, &conflict) || conflict.Code != sessions.CodeConflict {
		t.Fatalf("got %v", err)
	}
	if conflict.Details["state"] != sessions.Detached {
		t.Errorf("the conflict does not say the state: %v", conflict.Details)
	}

	// Renames, touches and moves at the same time: each move that succeeded and each rename counts once.
	writers, each := 4, rounds.N(10, 30, 200)
	var writes atomic.Int64
	start, err := s.Get(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			ctx := context.Background()
			for i := range each {
				now, err := s.Get(ctx, r.ID)
				if err != nil {
					t.Error(err)
					return
				}
				to := sessions.Running
				if now.State == sessions.Running {
					to = sessions.Detached
				}
				switch _, err := s.Move(ctx, moveOf(now, to)); {
				case err == nil:
					writes.Add(1)
				case !errors.Is(err, sessions.ErrConflict):
					t.Error(err)
				}
				if _, err := s.Update(ctx, r.ID, ptr(fmt.Sprintf("%d.%d", w, i)), nil, t0); err != nil {
					t.Error(err)
				}
				writes.Add(1)
				if err := s.Touch(ctx, r.ID, t0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	end, err := s.Get(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := end.Version - start.Version; got != writes.Load() {
		t.Errorf("%d writes succeeded, the version rose by %d", writes.Load(), got)
	}
}

// Events become visible in the order of their ids: a follower that reads while many write misses none.
func TestFollowerMissesNoEvent(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	writers, each := 6, rounds.N(15, 50, 400)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range each {
					if _, err := s.Create(context.Background(), newRecord(), sessions.ActorUser, ""); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}()
	seen, after := 0, int64(0)
	for last := false; ; {
		events, err := s.Events(t.Context(), store.EventQuery{After: after})
		if err != nil {
			t.Fatal(err)
		}
		seen += len(events)
		if len(events) > 0 {
			after = events[len(events)-1].ID
			continue
		}
		if last {
			break
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
	if seen != writers*each {
		t.Errorf("the follower saw %d of %d events", seen, writers*each)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan sessions.ID, 16)
	ended := make(chan error, 1)
	go func() { ended <- s.Listen(ctx, "", func(id sessions.ID) { heard <- id }) }()
	next := func() sessions.ID {
		t.Helper()
		select {
		case id := <-heard:
			return id
		case <-time.After(10 * time.Second):
			t.Fatal("nothing heard")
			return ""
		}
	}
	if id := next(); id != "" {
		t.Fatalf("first heard %q", id)
	}
	r := create(t, s)
	if err := s.Touch(t.Context(), r.ID, t0.Add(time.Hour)); err != nil { // no news
		t.Fatal(err)
	}
	r = move(t, s, r, sessions.Stopped)
	if _, err := s.Update(t.Context(), r.ID, ptr("x"), nil, t0); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), r.ID, r.Version+1); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if id := next(); id != r.ID {
			t.Errorf("heard %q", id)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	select {
	case id := <-heard:
		t.Errorf("heard %q too much", id)
	default:
	}
}

func TestListenEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	pool, err := store.Connect(t.Context(), url+"&application_name=listener")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s := store.New(pool)
	err = s.Listen(t.Context(), "", func(sessions.ID) {
		if _, err := pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = 'listener' AND query LIKE 'LISTEN%'`); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(err, sessions.ErrDatabaseUnavailable) {
		t.Errorf("got %v", err)
	}
}
