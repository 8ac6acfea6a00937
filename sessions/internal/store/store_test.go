package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"corral/migrations/pgtest"
	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// t0 has more digits than PostgreSQL keeps and is not in UTC, on purpose.
var t0 = time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.FixedZone("somewhere", 3*3600))

func setup(t *testing.T) (*store.Store, *pgxpool.Pool) {
	t.Helper()
	pool := pgtest.Pool(t)
	return store.New(pool), pool
}

func newRecord() store.Record {
	return store.Record{
		Session: sessions.Session{
			ID:             sessions.ID(uuid.NewString()),
			Title:          "a title",
			Project:        "corral",
			CWD:            "/srv/работа",
			Kind:           sessions.KindCommand,
			Args:           []string{"htop", "", "a b", `"quoted",{}\`},
			State:          sessions.Starting,
			Node:           "here",
			CreatedAt:      t0,
			UpdatedAt:      t0,
			LastActivityAt: t0,
		},
		Run:      1,
		Owner:    "server-1",
		Deadline: t0.Add(time.Minute),
		Cols:     80,
		Rows:     24,
	}
}

func create(t *testing.T, s *store.Store) store.Record {
	t.Helper()
	r, err := s.Create(t.Context(), newRecord(), sessions.ActorUser, "asked for")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// createIn makes a session and leads it to state by moves that exist.
func createIn(t *testing.T, s *store.Store, state sessions.State) store.Record {
	t.Helper()
	r := create(t, s)
	if state == sessions.Starting {
		return r
	}
	if state == sessions.Recoverable {
		r = move(t, s, r, sessions.Detached)
	}
	return move(t, s, r, state)
}

func moveOf(r store.Record, to sessions.State) store.Move {
	return store.Move{
		ID: r.ID, From: r.State, Version: r.Version, To: to, At: r.UpdatedAt.Add(time.Second),
		Actor: sessions.ActorServer, Reason: "because", Evidence: "it was seen",
	}
}

func move(t *testing.T, s *store.Store, r store.Record, to sessions.State) store.Record {
	t.Helper()
	moved, err := s.Move(t.Context(), moveOf(r, to))
	if err != nil {
		t.Fatalf("%s to %s: %v", r.State, to, err)
	}
	return moved
}

func ptr[T any](v T) *T { return &v }

func TestCreateAndRead(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	given := newRecord()
	created, err := s.Create(t.Context(), given, sessions.ActorUser, "asked for")
	if err != nil {
		t.Fatal(err)
	}
	want := given
	want.StateReason, want.Version = "asked for", 1
	want.StateSince = want.UpdatedAt
	for _, at := range []*time.Time{&want.StateSince, &want.CreatedAt, &want.UpdatedAt, &want.LastActivityAt, &want.Deadline} {
		*at = at.UTC().Truncate(time.Microsecond)
	}
	if diff := cmp.Diff(want, created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	read, err := s.Get(t.Context(), given.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(created, read); diff != "" {
		t.Errorf("read (-created +read):\n%s", diff)
	}
	if read.CreatedAt.Location() != time.UTC {
		t.Errorf("times are in %s", read.CreatedAt.Location())
	}
	list, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]store.Record{created}, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	events, err := s.Events(t.Context(), store.EventQuery{Session: given.ID})
	if err != nil {
		t.Fatal(err)
	}
	wantEvents := []sessions.Event{{
		ID: events[0].ID, SessionID: given.ID, At: want.UpdatedAt, Actor: sessions.ActorUser,
		To: sessions.Starting, Reason: "asked for",
	}}
	if diff := cmp.Diff(wantEvents, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestCreateTwiceIsAConflict(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	r := create(t, s)
	again := newRecord()
	again.ID = r.ID
	if _, err := s.Create(t.Context(), again, sessions.ActorUser, ""); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Adopt(t.Context(), again, ""); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	r := newRecord()
	r.State, r.Owner, r.Deadline, r.Run = sessions.Detached, "", time.Time{}, 3
	r.Tmux = rtapi.Incarnation{PID: 4711, Start: 1 << 40, BootID: "boot"}
	adopted, err := s.Adopt(t.Context(), r, "tmux server 4711 has it")
	if err != nil {
		t.Fatal(err)
	}
	if adopted.State != sessions.Detached || adopted.Run != 3 || adopted.Tmux != r.Tmux {
		t.Errorf("adopted %+v", adopted)
	}
	if e := events(t, s)[0]; e.Actor != sessions.ActorReconciler || e.From != "" || e.Evidence != "tmux server 4711 has it" {
		t.Errorf("event %+v", e)
	}
}

func TestRefusedValues(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	for name, spoil := range map[string]func(*store.Record){
		"id":         func(r *store.Record) { r.ID = "no-uuid" },
		"kind":       func(r *store.Record) { r.Kind = "Space Ship" },
		"state":      func(r *store.Record) { r.State = "ASLEEP" },
		"title":      func(r *store.Record) { r.Title = strings.Repeat("x", sessions.MaxTitle+1) },
		"project":    func(r *store.Record) { r.Project = strings.Repeat("x", sessions.MaxProject+1) },
		"cwd":        func(r *store.Record) { r.CWD = "relative" },
		"long cwd":   func(r *store.Record) { r.CWD = strings.Repeat("/x", sessions.MaxPath) },
		"utf-8":      func(r *store.Record) { r.CWD = "/\xff" },
		"zero byte":  func(r *store.Record) { r.Args = []string{"a\x00b"} },
		"size":       func(r *store.Record) { r.Cols = -1 },
		"owner":      func(r *store.Record) { r.State, r.Deadline = sessions.Detached, time.Time{} },
		"deadline":   func(r *store.Record) { r.State, r.Owner = sessions.Detached, "" },
		"size again": func(r *store.Record) { r.Rows = 1 << 20 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecord()
			spoil(&r)
			if _, err := s.Create(t.Context(), r, sessions.ActorUser, ""); !errors.Is(err, sessions.ErrInvalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	r := create(t, s)
	at := r.UpdatedAt.Add(time.Hour)
	got, err := s.Update(t.Context(), r.ID, ptr("new"), nil, at)
	if err != nil {
		t.Fatal(err)
	}
	want := r
	want.Title, want.UpdatedAt, want.Version = "new", at, r.Version+1
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got, err = s.Update(t.Context(), r.ID, nil, ptr(""), at)
	if err != nil {
		t.Fatal(err)
	}
	if got.Title != "new" || got.Project != "" || got.Version != r.Version+2 {
		t.Errorf("got %+v", got)
	}
}

func TestSetConversation(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	r := create(t, s)
	set := func(to string) store.Record {
		t.Helper()
		got, err := s.SetConversation(t.Context(), store.Conversation{
			ID: r.ID, To: to, At: r.UpdatedAt.Add(time.Second), Actor: sessions.ActorReconciler, Evidence: "its agent said so",
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for range 2 { // the second time is no change
		got := set("conv")
		if got.ConversationID != "conv" || got.Version != r.Version+1 || !got.UpdatedAt.Equal(r.UpdatedAt.Add(time.Second)) {
			t.Errorf("got %+v", got)
		}
	}
	set("next")
	events, err := s.Events(t.Context(), store.EventQuery{Session: r.ID})
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 3 { // the first is the creation's
		t.Fatalf("%d events: %+v", len(events), events)
	}
	last := events[2]
	if last.From != r.State || last.To != r.State || last.Reason != sessions.ReasonConversation ||
		!strings.HasSuffix(last.Evidence, "conv -> next; its agent said so") {
		t.Errorf("the event of the change: %+v", last)
	}
}

func TestTouchOnlyMovesForward(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	r := create(t, s)
	for _, d := range []time.Duration{time.Hour, -time.Hour} {
		if err := s.Touch(t.Context(), r.ID, r.LastActivityAt.Add(d)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Get(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := r
	want.LastActivityAt = r.LastActivityAt.Add(time.Hour)
	if diff := cmp.Diff(want, got); diff != "" { // the version, above all, is the same
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	r := createIn(t, s, sessions.Stopped)
	if err := s.Delete(t.Context(), r.ID, r.Version-1); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("an old version: %v", err)
	}
	if err := s.Delete(t.Context(), r.ID, r.Version); err != nil {
		t.Fatal(err)
	}
	if events, err := s.Events(t.Context(), store.EventQuery{Session: r.ID}); err != nil || len(events) != 2 {
		t.Errorf("events after: %v, %v", events, err)
	}
}

func TestUnknownSession(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	ctx := t.Context()
	for _, id := range []sessions.ID{sessions.ID(uuid.NewString()), "no-uuid", ""} {
		_, get := s.Get(ctx, id)
		_, update := s.Update(ctx, id, ptr("x"), nil, t0)
		_, conversation := s.SetConversation(ctx, store.Conversation{ID: id, To: "c", At: t0})
		_, moved := s.Move(ctx, store.Move{ID: id, From: sessions.Starting, Version: 1, To: sessions.Failed, At: t0})
		for name, err := range map[string]error{
			"get": get, "update": update, "conversation": conversation, "move": moved, "delete": s.Delete(ctx, id, 1),
		} {
			if !errors.Is(err, sessions.ErrNotFound) {
				t.Errorf("%s of %q: %v", name, id, err)
			}
		}
	}
}

func TestCountsAndVersion(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	create(t, s)
	create(t, s)
	createIn(t, s, sessions.Failed)
	got, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[sessions.State]int{sessions.Starting: 2, sessions.Failed: 1}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	v, err := s.Version(t.Context())
	if err != nil || v == "" || strings.Trim(v, "0123456789.") != "" {
		t.Errorf("version %q, %v", v, err)
	}
}

func TestEventQueries(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	createIn(t, s, sessions.Detached)
	b := createIn(t, s, sessions.Stopped)
	all, err := s.Events(t.Context(), store.EventQuery{})
	if err != nil || len(all) != 4 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	if !slices.IsSortedFunc(all, func(x, y sessions.Event) int { return int(x.ID - y.ID) }) {
		t.Errorf("not in order: %v", all)
	}
	got, err := s.Events(t.Context(), store.EventQuery{After: all[0].ID, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all[1:3], got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got, err = s.Events(t.Context(), store.EventQuery{Session: b.ID}); err != nil || len(got) != 2 {
		t.Errorf("events of one: %v, %v", got, err)
	}
}

func TestPruneKeepsTheNewestOfEachSession(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	kept, removed := createIn(t, s, sessions.Recoverable), createIn(t, s, sessions.Stopped)
	if err := s.Delete(t.Context(), removed.ID, removed.Version); err != nil {
		t.Fatal(err)
	}
	young := create(t, s)
	n, err := s.PruneEvents(t.Context(), t0.Add(-time.Hour))
	if err != nil || n != 0 {
		t.Errorf("pruned %d too young, %v", n, err)
	}
	n, err = s.PruneEvents(t.Context(), t0.Add(time.Hour))
	if err != nil || n != 4 { // two of the kept session, two of the removed one
		t.Errorf("pruned %d, %v", n, err)
	}
	left, err := s.Events(t.Context(), store.EventQuery{})
	if err != nil || len(left) != 2 || left[0].SessionID != kept.ID || left[0].To != sessions.Recoverable ||
		left[1].SessionID != young.ID {
		t.Errorf("left %+v, %v", left, err)
	}
}
