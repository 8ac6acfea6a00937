package service_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/e2e/rounds"
	"corral/sessions"
	"corral/sessions/internal/service"
	"corral/sessions/internal/servicetest"
	"corral/sessions/internal/store"
)

// Two servers of one node on one database, both reconciling every 50 ms: what one starts the other does not call
// abandoned, every change is made once, and both show the same. One is killed in the middle.
func TestTwoServersOfOneNode(t *testing.T) {
	t.Parallel()
	w := servicetest.NewWorld(t)
	slow := servicetest.Options{Hooks: service.Hooks{After: func(step string) error {
		if step == "create.row" {
			time.Sleep(60 * time.Millisecond) // long enough for a round of the other one
		}
		return nil
	}}}
	servers := []*servicetest.Server{w.Start(t, slow), w.Start(t, slow)}
	n := rounds.N(10, 30, 60)
	made := make([][]sessions.ID, len(servers))
	var work sync.WaitGroup
	for i, s := range servers {
		work.Go(func() {
			for range n {
				one, err := s.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp"})
				if err != nil {
					t.Errorf("server %d: %v", i, err)
					return
				}
				made[i] = append(made[i], one.ID)
			}
		})
	}
	work.Wait()
	all := slices.Concat(made...)
	if len(all) != 2*n {
		t.Fatalf("%d sessions", len(all))
	}
	servers[0].Kill()
	for i, id := range all {
		switch i % 3 {
		case 0:
			w.Runtime.Exit(string(id), 7)
		case 1:
			w.Runtime.KillSession(string(id))
		}
	}
	third := w.Start(t, servicetest.Options{})
	want := []sessions.State{sessions.Failed, sessions.Recoverable, sessions.Detached}
	for i, id := range all {
		for _, s := range []*servicetest.Server{servers[1], third} {
			s.Await(t, id, want[i%3])
		}
		path := []sessions.State{sessions.Starting, sessions.Detached}
		if i%3 < 2 {
			path = append(path, want[i%3])
		}
		if d := cmp.Diff(path, w.Path(t, id)); d != "" {
			t.Errorf("path (-want +got):\n%s", d)
		}
	}
	if launches := len(w.Runtime.Launches()); launches != 2*n {
		t.Errorf("%d launches of %d sessions", launches, 2*n)
	}
}

// What lives on another node is shown and left alone: only its title and project can be changed here, and when it has
// ended it can be removed.
func TestSessionsOfAnotherNode(t *testing.T) {
	t.Parallel()
	w := servicetest.NewWorld(t)
	s := w.Start(t, servicetest.Options{})
	mine := s.Shell(t)
	elsewhere := func(state sessions.State) sessions.ID {
		t.Helper()
		theirs := s.Shell(t)
		w.Runtime.KillSession(string(theirs.ID))
		s.Await(t, theirs.ID, sessions.Recoverable)
		for _, sql := range []string{
			`INSERT INTO nodes VALUES ('elsewhere', now()) ON CONFLICT DO NOTHING`,
			fmt.Sprintf(`UPDATE sessions SET node = 'elsewhere', state = '%s', version = version + 1,
				ended_at = CASE WHEN '%s' = 'DETACHED' THEN NULL ELSE ended_at END WHERE id = '%s'`, state, state, theirs.ID),
		} {
			if _, err := w.Pool.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		s.Await(t, theirs.ID, state)
		return theirs.ID
	}
	live, ended := elsewhere(sessions.Detached), elsewhere(sessions.Failed)
	for name, err := range map[string]error{
		"stop":      second(s.Service.Stop(t.Context(), live)),
		"remove":    s.Service.Remove(t.Context(), live, true),
		"reconnect": second(s.Service.Reconnect(t.Context(), live)),
		"restart":   second(s.Service.Restart(t.Context(), ended)),
		"screen":    second(s.Service.Screen(t.Context(), live)),
		"input":     s.Service.Input(t.Context(), live, sessions.InputRequest{Text: "x"}),
	} {
		if !errors.Is(err, sessions.ErrConflict) || !strings.Contains(err.Error(), "lives on the node elsewhere") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := s.Service.Update(t.Context(), live, sessions.UpdateRequest{Title: new("other")}); err != nil || got.Title != "other" {
		t.Errorf("rename: %+v, %v", got, err)
	}
	if err := s.Service.Remove(t.Context(), ended, false); err != nil {
		t.Errorf("remove what has ended: %v", err)
	}
	for range 3 {
		if _, err := s.Reconciler.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []sessions.ID{mine.ID, live} {
		if got, err := s.Service.Get(t.Context(), id); err != nil || got.State != sessions.Detached {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// An old backup under live sessions: what it does not know is adopted with all its data, what has ended in it too, what
// was renamed since keeps its name, what has ended since is found out, and nothing is started.
func TestRestoreOfAnOldBackup(t *testing.T) {
	t.Parallel()
	w := servicetest.NewWorld(t)
	s := w.Start(t, servicetest.Options{})
	renamed, restarted, gone := s.Shell(t), s.Shell(t), s.Shell(t)
	w.Runtime.Exit(string(restarted.ID), 1)
	s.Await(t, restarted.ID, sessions.Failed)
	var old bytes.Buffer
	if err := s.Service.Backup(t.Context(), &old); err != nil {
		t.Fatal(err)
	}

	if _, err := s.Service.Update(t.Context(), renamed.ID, sessions.UpdateRequest{Title: new("newer"), Project: new("p")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Service.Restart(t.Context(), restarted.ID); err != nil {
		t.Fatal(err)
	}
	unknown, err := s.Service.Create(t.Context(), sessions.CreateRequest{
		CWD: "/tmp", Title: "unknown", Project: "q", Kind: sessions.KindCommand, Args: []string{"sleep", "1000"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Runtime.KillSession(string(gone.ID))
	s.Await(t, gone.ID, sessions.Recoverable)
	launches := len(w.Runtime.Launches())

	sub := s.Board.Subscribe() // a watcher sees it all happen
	defer s.Board.Unsubscribe(sub)
	got, err := s.Service.Restore(t.Context(), &old)
	if err != nil || got.Sessions != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	for id, want := range map[sessions.ID]sessions.State{
		renamed.ID: sessions.Detached, restarted.ID: sessions.Detached, unknown.ID: sessions.Detached, gone.ID: sessions.Recoverable,
	} {
		deadline := time.Now().Add(servicetest.Patience)
		for {
			rec, err := w.Store.Get(t.Context(), id)
			if err == nil && rec.State == want {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is %s, want %s: %v", id, rec.State, want, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	rec, err := w.Store.Get(t.Context(), unknown.ID)
	if err != nil || rec.Title != "unknown" || rec.Project != "q" || rec.Kind != sessions.KindCommand || !slices.Equal(rec.Args, unknown.Args) {
		t.Errorf("adopted as %+v, %v", rec, err)
	}
	if rec, err := w.Store.Get(t.Context(), renamed.ID); err != nil || rec.Title != "newer" || rec.Project != "p" {
		t.Errorf("renamed: %+v, %v", rec, err)
	}
	if rec, err := w.Store.Get(t.Context(), restarted.ID); err != nil || rec.Run != 2 {
		t.Errorf("restarted: %+v, %v", rec, err)
	}
	if n := len(w.Runtime.Launches()); n != launches {
		t.Errorf("%d programs were started by the restore", n-launches)
	}
	rows, err := w.Store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range rows {
		events, err := w.Store.Events(t.Context(), store.EventQuery{Session: rec.ID})
		if err != nil || len(events) == 0 || events[len(events)-1].To != rec.State {
			t.Errorf("%s is %s, its events %+v, %v", rec.ID, rec.State, events, err)
		}
	}
}
