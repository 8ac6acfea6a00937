package store_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"corral/e2e/rounds"
	"corral/sessions"
	"corral/sessions/backup"
	"corral/sessions/internal/store"
)

var update = flag.Bool("update", false, "write testdata/schema-N.backup for the newest schema")

func save(t *testing.T, s *store.Store) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Backup(t.Context(), &b, "here", t0); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func list(t *testing.T, s *store.Store) []store.Record {
	t.Helper()
	all, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func events(t *testing.T, s *store.Store) []sessions.Event {
	t.Helper()
	all, err := s.Events(t.Context(), store.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What comes back is what was there, on another node, over whatever was there, with the numbers of the events.
func TestRestore(t *testing.T) {
	t.Parallel()
	from, _ := setup(t)
	for _, state := range sessions.States() {
		if state != sessions.Running {
			createIn(t, from, state)
		}
	}
	text := save(t, from)

	to, _ := setup(t)
	old := createIn(t, to, sessions.Failed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard, ended := make(chan sessions.ID, 64), make(chan struct{})
	go func() {
		defer close(ended)
		_ = to.Listen(ctx, "", func(id sessions.ID) { heard <- id })
	}()
	<-heard
	got, err := to.Restore(t.Context(), strings.NewReader(text), "there")
	if err != nil || got.Sessions != len(sessions.States())-1 || got.Events != len(events(t, from)) || !got.MadeAt.Equal(t0) {
		t.Fatalf("%+v, %v", got, err)
	}
	want := list(t, from)
	for i := range want {
		want[i].Node = "there"
	}
	restored := list(t, to)
	if d := cmp.Diff(want, restored, cmpopts.IgnoreFields(store.Record{}, "Version"), cmpopts.SortSlices(func(a, b store.Record) bool { return a.ID < b.ID })); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	if d := cmp.Diff(events(t, from), events(t, to)); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	for id := range heard {
		if id == "" {
			break // the whole list is to be read
		}
	}
	cancel()
	<-ended
	// Nothing that was read before it can be changed any more, and what happens next has a number of its own.
	if _, err := to.Move(t.Context(), moveOf(old, sessions.Starting)); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("a move from before: %v", err)
	}
	create(t, to)
	if all := events(t, to); all[len(all)-1].ID <= all[len(all)-2].ID {
		t.Errorf("the numbers end with %d, %d", all[len(all)-2].ID, all[len(all)-1].ID)
	}
	if again, err := to.Restore(t.Context(), strings.NewReader(text), "there"); err != nil || again != got {
		t.Errorf("once more: %+v, %v", again, err)
	}
	for i, r := range list(t, to) {
		if r.Version <= restored[i].Version {
			t.Errorf("version %d after %d", r.Version, restored[i].Version)
		}
	}
}

// A file that is bad, wherever that shows, changes nothing.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	s, pool := setup(t)
	for range 3 {
		createIn(t, s, sessions.Detached)
	}
	good := save(t, s)
	before := list(t, s)
	var schema int
	if err := pool.QueryRow(t.Context(), `SELECT max(number) FROM schema_migrations`).Scan(&schema); err != nil {
		t.Fatal(err)
	}
	made := func(row string) string {
		var b bytes.Buffer
		w, _ := backup.NewWriter(&b, backup.Header{Schema: schema})
		_ = w.Write(backup.Row{Table: "sessions", Row: []byte(row)})
		_ = w.Close()
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"cut off":          {good[:strings.LastIndex(good, `{"end"`)], "cut off"},
		"changed":          {strings.Replace(good, "a title", "b title", 1), "damaged"},
		"a newer schema":   {strings.Replace(good, fmt.Sprintf(`"schema":%d`, schema), `"schema":9999`, 1), "newer corral"},
		"an unknown table": {strings.ReplaceAll(good, `"table":"sessions"`, `"table":"horses"`), "does not know"},
		"an empty row":     {made(`{}`), "refuses"},
		"nonsense":         {made(`{"id":"x"}`), "refuses"},
	} {
		_, err := s.Restore(t.Context(), strings.NewReader(c.text), "here")
		var e *sessions.Error
		if !errors.As(err, &e) || e.Code != sessions.CodeInvalid || !strings.Contains(e.Message, c.want) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := cmp.Diff(before, list(t, s)); d != "" {
		t.Errorf("rows changed (-before +after):\n%s", d)
	}
}

// Backups of every released schema can be restored. Write the one of the newest with: go test ./sessions/internal/store
// -run EverySchema -update
func TestRestoreOfEverySchema(t *testing.T) {
	t.Parallel()
	s, pool := setup(t)
	var schema int
	if err := pool.QueryRow(t.Context(), `SELECT max(number) FROM schema_migrations`).Scan(&schema); err != nil {
		t.Fatal(err)
	}
	if *update {
		createIn(t, s, sessions.Detached)
		createIn(t, s, sessions.Recoverable)
		if err := os.WriteFile(fmt.Sprintf("testdata/schema-%d.backup", schema), []byte(save(t, s)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/schema-*.backup")
	if err != nil || len(files) == 0 {
		t.Fatalf("no backups: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Restore(t.Context(), bytes.NewReader(text), "there"); err != nil || got.Sessions != 2 || got.Events != 5 {
			t.Errorf("%s: %+v, %v", file, got, err)
		}
		for _, r := range list(t, s) {
			if r.StateSince.IsZero() || r.Node != "there" {
				t.Errorf("%s: %+v", file, r)
			}
		}
	}
}

// A backup shows one moment, whatever changes while it is made: each session is where its newest event led.
func TestBackupIsOneMoment(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range 4 {
		r := createIn(t, s, sessions.Detached)
		writers.Go(func() {
			to := sessions.Running
			for ctx.Err() == nil {
				moved, err := s.Move(context.WithoutCancel(ctx), moveOf(r, to))
				if err != nil {
					t.Error(err)
					return
				}
				r, to = moved, r.State
			}
		})
	}
	copies := make([]string, rounds.N(5, 20, 50))
	for i := range copies {
		copies[i] = save(t, s)
	}
	stop()
	writers.Wait()
	into, _ := setup(t)
	for i, text := range copies {
		if _, err := into.Restore(t.Context(), strings.NewReader(text), "here"); err != nil {
			t.Fatal(err)
		}
		last := map[sessions.ID]sessions.Event{}
		for after := int64(0); ; {
			batch, err := into.Events(t.Context(), store.EventQuery{After: after})
			if err != nil {
				t.Fatal(err)
			}
			if len(batch) == 0 {
				break
			}
			for _, e := range batch {
				last[e.SessionID], after = e, e.ID
			}
		}
		for _, r := range list(t, into) {
			if e := last[r.ID]; e.To != r.State || !e.At.Equal(r.StateSince) {
				t.Errorf("backup %d: the row is %s since %s, its newest event %+v", i, r.State, r.StateSince, e)
			}
		}
	}
}

func TestExclusive(t *testing.T) {
	t.Parallel()
	s, pool := setup(t)
	inside := func(node string) (done bool) {
		done, err := s.Exclusive(t.Context(), node, func(context.Context) error { return nil })
		if err != nil {
			t.Error(err)
		}
		return done
	}
	failure := errors.New("from inside")
	done, err := s.Exclusive(t.Context(), "here", func(context.Context) error {
		if inside("here") {
			t.Error("two at once")
		}
		if !inside("elsewhere") {
			t.Error("another node is locked too")
		}
		return failure
	})
	if !done || !errors.Is(err, failure) {
		t.Errorf("%v, %v", done, err)
	}
	if !inside("here") {
		t.Error("still locked")
	}
	// A server that stops in the middle does not keep the lock: PostgreSQL ends its transaction.
	const sqlLimit = `SELECT setting::int FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'`
	limited, err := store.Connect(t.Context(), pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer limited.Close()
	var limit int
	if err := limited.QueryRow(t.Context(), sqlLimit).Scan(&limit); err != nil || limit <= 0 || time.Duration(limit)*time.Millisecond > 10*time.Second {
		t.Errorf("a paused server keeps the lock for %d ms, %v", limit, err)
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	ctx, stop := context.WithCancel(t.Context())
	listening, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Listen(ctx, "server-1", func(sessions.ID) { close(listening) })
	}()
	<-listening
	if owners, err := s.Owners(t.Context()); err != nil || len(owners) != 1 || owners[0] != "server-1" {
		t.Errorf("owners %q, %v", owners, err)
	}
	stop()
	<-ended
	deadline := time.Now().Add(10 * time.Second)
	for {
		owners, err := s.Owners(t.Context())
		if err == nil && len(owners) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("owners %q, %v", owners, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
