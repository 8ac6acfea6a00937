package service_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"corral/e2e/rounds"
	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/service"
	"corral/sessions/internal/servicetest"
	"corral/sessions/internal/store"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

func TestCreateStopRestartRemove(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	ctx := t.Context()
	made, err := s.Service.Create(ctx, sessions.CreateRequest{
		Title: " my\x1b[31m shell\n", CWD: "/tmp/.", Kind: sessions.KindShell, Project: "p", Cols: 120, Rows: 40, Env: []string{"SECRET=hidden"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := sessions.Session{
		ID: made.ID, Title: "my [31m shell", Project: "p", CWD: "/tmp", Kind: sessions.KindShell, Args: made.Args,
		State: sessions.Detached, StateReason: "started", StateSince: made.StateSince, StateEvidence: "the runtime started it",
		Node:      servicetest.Node,
		CreatedAt: made.CreatedAt, UpdatedAt: made.UpdatedAt, LastActivityAt: made.LastActivityAt,
	}
	if d := cmp.Diff(want, made); d != "" {
		t.Errorf("created (-want +got):\n%s", d)
	}
	launch := s.Runtime.Launches()[0]
	if launch.Cols != 120 || launch.Rows != 40 || launch.Meta.Run != 1 || len(launch.Argv) != 0 || !slices.Equal(launch.Env, []string{"SECRET=hidden"}) {
		t.Errorf("launched %+v", launch)
	}

	stopping, err := s.Service.Stop(ctx, made.ID)
	if err != nil || stopping.State != sessions.Stopping {
		t.Fatalf("stop answered %s, %v", stopping.State, err)
	}
	stopped := s.Await(t, made.ID, sessions.Stopped)
	if stopped.ExitCode == nil || *stopped.ExitCode != 129 || stopped.StateReason != "stopped by the user" {
		t.Errorf("stopped with %v, %q", stopped.ExitCode, stopped.StateReason)
	}
	if sig := s.Runtime.Signals(); len(sig) != 1 || sig[0].Signal != "HUP" {
		t.Errorf("a shell was stopped with %v", sig)
	}

	again, err := s.Service.Restart(ctx, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if again.ID != made.ID || again.CWD != "/tmp" || again.ExitCode != nil || again.State != sessions.Detached {
		t.Errorf("restarted as %+v", again)
	}
	if launch := s.Runtime.Launches()[1]; launch.Meta.Run != 2 || launch.Cols != 120 || len(launch.Env) != 0 {
		t.Errorf("respawned %+v", launch)
	}
	if err := s.Service.Remove(ctx, made.ID, false); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("removing a live session: %v", err)
	}
	if err := s.Service.Remove(ctx, made.ID, true); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Runtime.Terminal(string(made.ID)); ok {
		t.Error("the terminal stays behind")
	}
	if _, err := s.Service.Get(ctx, made.ID); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("get after remove: %v", err)
	}
	// It does not come back with the next rounds.
	for range 3 {
		if _, err := s.Reconciler.Round(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if list := s.Service.List(); len(list) != 0 {
		t.Errorf("the list still has %v", list)
	}
}

func TestStopKillsAfterTheGrace(t *testing.T) {
	t.Parallel()
	w := servicetest.NewWorld(t)
	clock := &clock{}
	s := w.Start(t, servicetest.Options{Now: clock.Now})
	made := s.Shell(t)
	s.Runtime.IgnoreStop(string(made.ID))
	if _, err := s.Service.Stop(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	s.Kill() // the server that was asked is gone
	s = w.Start(t, servicetest.Options{Now: clock.Now})
	for range 3 {
		if _, err := s.Reconciler.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := s.Board.Get(made.ID); got.State != sessions.Stopping {
		t.Fatalf("%s before its grace is over", got.State)
	}
	clock.Add(service.StopGrace)
	s.Reconciler.Kick()
	stopped := s.Await(t, made.ID, sessions.Stopped)
	if stopped.ExitCode == nil || *stopped.ExitCode != 137 || stopped.Signal == nil || *stopped.Signal != 9 {
		t.Errorf("stopped with %v %v", stopped.ExitCode, stopped.Signal)
	}
}

// clock is the real time and what a test has added to it: the terminals' deaths happen in real time.
type clock struct {
	added atomic.Int64
}

func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.added.Load())) }

func (c *clock) Add(d time.Duration) { c.added.Add(int64(d)) }

func TestEndsAreTold(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	zero, seven, segv := s.Shell(t), s.Shell(t), s.Shell(t)
	s.Runtime.Exit(string(zero.ID), 0)
	s.Runtime.Exit(string(seven.ID), 7)
	s.Runtime.Die(string(segv.ID), 11)
	if got := s.Await(t, zero.ID, sessions.Stopped); *got.ExitCode != 0 || got.Signal != nil {
		t.Errorf("exit 0: %+v", got)
	}
	if got := s.Await(t, seven.ID, sessions.Failed); *got.ExitCode != 7 || got.Signal != nil {
		t.Errorf("exit 7: %+v", got)
	}
	if got := s.Await(t, segv.ID, sessions.Failed); *got.ExitCode != 139 || *got.Signal != 11 {
		t.Errorf("signal 11: %+v", got)
	}
}

func TestLossOfTmux(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	one, two, three := s.Shell(t), s.Shell(t), s.Shell(t)
	s.Runtime.KillSession(string(two.ID))
	s.Await(t, two.ID, sessions.Recoverable)
	for _, other := range []sessions.ID{one.ID, three.ID} {
		if got, _ := s.Board.Get(other); got.State != sessions.Detached {
			t.Errorf("the other session is %s", got.State)
		}
	}
	if _, err := s.Service.Restart(t.Context(), one.ID); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("restarting a live session: %v", err)
	}
	s.Runtime.KillServer()
	s.Await(t, one.ID, sessions.Recoverable)
	s.Await(t, three.ID, sessions.Recoverable)
	for range 3 {
		if _, err := s.Reconciler.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.Runtime.Launches()); n != 3 {
		t.Fatalf("%d launches: something was restarted by itself", n)
	}
	back, err := s.Service.Restart(t.Context(), one.ID)
	if err != nil || back.State != sessions.Detached {
		t.Fatalf("restart: %s, %v", back.State, err)
	}
	closed, err := s.Service.Close(t.Context(), two.ID)
	if err != nil || closed.State != sessions.Stopped {
		t.Fatalf("close: %s, %v", closed.State, err)
	}
	if _, err := s.Service.Close(t.Context(), one.ID); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("closing a live session: %v", err)
	}
	if n := len(s.Runtime.Launches()); n != 4 {
		t.Errorf("%d launches after one restart and one close", n)
	}
}

// An orderly reboot: everything gets TERM, and a moment later the tmux server is gone.
func TestRebootIsNotAnExit(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	termed, caught, late := s.Shell(t), s.Shell(t), s.Shell(t)
	s.Runtime.Die(string(termed.ID), 15)
	s.Runtime.Exit(string(caught.ID), 143)
	for range 3 {
		if _, err := s.Reconciler.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []sessions.ID{termed.ID, caught.ID} {
		if got, _ := s.Board.Get(id); got.State != sessions.Detached {
			t.Fatalf("%s at once", got.State)
		}
	}
	s.Runtime.KillServer()
	for _, id := range []sessions.ID{termed.ID, caught.ID, late.ID} {
		s.Await(t, id, sessions.Recoverable)
	}
}

func TestFailureIsCorrectedWhenTheHostWentDown(t *testing.T) {
	t.Parallel()
	w := servicetest.NewWorld(t)
	clock := &clock{}
	s := w.Start(t, servicetest.Options{Now: clock.Now})
	made := s.Shell(t)
	s.Runtime.Die(string(made.ID), 1)
	clock.Add(6 * time.Second)
	s.Reconciler.Kick()
	s.Await(t, made.ID, sessions.Failed)
	s.Runtime.KillServer()
	got := s.Await(t, made.ID, sessions.Recoverable)
	if got.StateReason != "host went down" {
		t.Errorf("reason %q", got.StateReason)
	}
	want := []sessions.State{sessions.Starting, sessions.Detached, sessions.Failed, sessions.Recoverable}
	if d := cmp.Diff(want, w.Path(t, made.ID)); d != "" {
		t.Errorf("path (-want +got):\n%s", d)
	}
}

func TestAttachedIsRunning(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	made := s.Shell(t)
	s.Runtime.Attach(string(made.ID), 0, 1) // looking changes nothing
	s.Runtime.Attach(string(made.ID), 1, 0)
	if got := s.Await(t, made.ID, sessions.Running); got.Attached != 1 {
		t.Errorf("%d attached", got.Attached)
	}
	s.Runtime.Attach(string(made.ID), 0, 0)
	s.Await(t, made.ID, sessions.Detached)
	want := []sessions.State{sessions.Starting, sessions.Detached, sessions.Running, sessions.Detached}
	if d := cmp.Diff(want, s.Path(t, made.ID)); d != "" {
		t.Errorf("path (-want +got):\n%s", d)
	}
}

func TestRuntimeAway(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	made := s.Shell(t)
	s.Runtime.SetAway(true)
	waitNode(t, s, sessions.Offline)
	for range 3 {
		_, _ = s.Reconciler.Round(t.Context())
	}
	if got, _ := s.Board.Get(made.ID); got.State != sessions.Detached {
		t.Errorf("%s although the runtime is only away", got.State)
	}
	if _, err := s.Service.Stop(t.Context(), made.ID); !errors.Is(err, sessions.ErrRuntimeUnreachable) {
		t.Errorf("stop: %v", err)
	}
	_, err := s.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp"})
	if !errors.Is(err, sessions.ErrRuntimeUnreachable) {
		t.Errorf("create: %v", err)
	}
	if n := len(s.Path(t, made.ID)); n != 2 {
		t.Errorf("%d events", n)
	}
	s.Runtime.SetAway(false)
	waitNode(t, s, sessions.Up)
	if _, err := s.Service.Stop(t.Context(), made.ID); err != nil {
		t.Errorf("stop after the return: %v", err)
	}
}

func waitNode(t *testing.T, s *servicetest.Server, state sessions.RoleState) {
	t.Helper()
	sub := s.Board.Subscribe()
	defer s.Board.Unsubscribe(sub)
	deadline := time.After(servicetest.Patience)
	for s.Board.Node().State != state {
		select {
		case <-sub.Changes:
		case <-deadline:
			t.Fatalf("the node is not %s", state)
		}
	}
}

func TestRefusedStart(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	s.Runtime.Refuse(&rtapi.Error{Code: "invalid", Message: "the directory /tmp is not searchable", Hint: "choose another"})
	_, err := s.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp"})
	var e *sessions.Error
	if !errors.As(err, &e) || e.Code != sessions.CodeInvalid || !strings.Contains(e.Message, "searchable") {
		t.Fatalf("create: %v", err)
	}
	id, _ := e.Details["sessionId"].(sessions.ID)
	got := s.Await(t, id, sessions.Failed)
	if !strings.Contains(got.StateReason, "searchable") {
		t.Errorf("reason %q", got.StateReason)
	}
	s.Runtime.Refuse(nil)
	if back, err := s.Service.Restart(t.Context(), id); err != nil || back.State != sessions.Detached {
		t.Errorf("restart: %s, %v", back.State, err)
	}
}

func TestTwoRestartsAtOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	for range rounds.N(5, 20, 100) {
		made := s.Shell(t)
		s.Runtime.Exit(string(made.ID), 0)
		s.Await(t, made.ID, sessions.Stopped)
		launches := len(s.Runtime.Launches())
		var wait sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			wait.Go(func() { _, errs[i] = s.Service.Restart(t.Context(), made.ID) })
		}
		wait.Wait()
		conflicts := 0
		for _, err := range errs {
			if errors.Is(err, sessions.ErrConflict) {
				conflicts++
			} else if err != nil {
				t.Error(err)
			}
		}
		if n := len(s.Runtime.Launches()) - launches; n != 1 || conflicts != 1 {
			t.Fatalf("%d processes and %d conflicts", n, conflicts)
		}
	}
}

var errKilled = errors.New("the server was killed")

// A server killed between any two steps of create and restart leaves what the next one settles: right states, nothing
// twice, nothing orphaned.
func TestKilledBetweenSteps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		step string
		want []sessions.State // the path of states
	}{
		{"create.row", []sessions.State{sessions.Starting, sessions.Failed}},
		{"create.launch", []sessions.State{sessions.Starting, sessions.Detached}},
		{"restart.row", []sessions.State{sessions.Starting, sessions.Detached, sessions.Stopped, sessions.Starting, sessions.Failed}},
		{"restart.launch", []sessions.State{sessions.Starting, sessions.Detached, sessions.Stopped, sessions.Starting, sessions.Detached}},
	}
	for _, test := range tests {
		t.Run(test.step, func(t *testing.T) {
			t.Parallel()
			w := servicetest.NewWorld(t)
			// No reconciler in the first life: it must not settle what the second has to.
			first := w.Prepare(t, servicetest.Options{Hooks: service.Hooks{After: func(step string) error {
				if step == test.step {
					return errKilled
				}
				return nil
			}}})
			_, err := first.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp"})
			rows, listErr := w.Store.List(t.Context())
			if listErr != nil || len(rows) != 1 {
				t.Fatalf("%d rows, %v", len(rows), listErr)
			}
			id := rows[0].ID
			if strings.HasPrefix(test.step, "restart") {
				if err != nil {
					t.Fatal(err)
				}
				w.Runtime.Exit(string(id), 0)
				if _, err := first.Reconciler.Round(t.Context()); err != nil {
					t.Fatal(err)
				}
				_, err = first.Service.Restart(t.Context(), id)
			}
			if !errors.Is(err, errKilled) {
				t.Fatalf("not killed: %v", err)
			}
			second := w.Start(t, servicetest.Options{})
			final := test.want[len(test.want)-1]
			second.Await(t, id, final)
			for range 3 {
				if _, err := second.Reconciler.Round(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(test.want, w.Path(t, id)); d != "" {
				t.Errorf("path (-want +got):\n%s", d)
			}
			if list := second.Service.List(); len(list) != 1 {
				t.Errorf("%d sessions", len(list))
			}
			term, alive := w.Runtime.Terminal(string(id))
			if alive = alive && !term.Dead; alive != (final == sessions.Detached) {
				t.Errorf("alive %v in state %s", alive, final)
			}
			if final == sessions.Failed {
				if back, err := second.Service.Restart(t.Context(), id); err != nil || back.State != sessions.Detached {
					t.Errorf("restart: %s, %v", back.State, err)
				}
			}
		})
	}
}

func TestCreatesWhileReconciling(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	n := rounds.N(60, 200, 200)
	var wait sync.WaitGroup
	work := make(chan int)
	for range 8 {
		wait.Go(func() {
			for i := range work {
				made, err := s.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp", Title: fmt.Sprint(i)})
				if err != nil || made.State != sessions.Detached {
					t.Errorf("create %d: %s, %v", i, made.State, err)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wait.Wait()
	if _, err := s.Reconciler.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Store.List(t.Context())
	if err != nil || len(rows) != n || len(s.Runtime.Launches()) != n {
		t.Fatalf("%d rows, %d launches, %v", len(rows), len(s.Runtime.Launches()), err)
	}
	for _, r := range rows {
		if d := cmp.Diff([]sessions.State{sessions.Starting, sessions.Detached}, s.Path(t, r.ID)); d != "" {
			t.Errorf("path (-want +got):\n%s", d)
		}
		if r.State != sessions.Detached || r.Owner != "" || !r.Deadline.IsZero() || r.Tmux.PID == 0 {
			t.Errorf("row %+v", r)
		}
	}
}

func TestAdoptionAfterTheLossOfRows(t *testing.T) {
	t.Parallel()
	w := servicetest.NewWorld(t)
	first := w.Start(t, servicetest.Options{})
	made, err := first.Service.Create(t.Context(), sessions.CreateRequest{
		CWD: "/tmp", Title: "precious", Project: "p", Kind: sessions.KindCommand, Args: []string{"sleep", "1000"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Service.Update(t.Context(), made.ID, sessions.UpdateRequest{Title: new("renamed")}); err != nil {
		t.Fatal(err)
	}
	first.Kill()
	rec, err := w.Store.Get(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Store.Delete(t.Context(), made.ID, rec.Version); err != nil {
		t.Fatal(err)
	}
	got := w.Start(t, servicetest.Options{}).Await(t, made.ID, sessions.Detached)
	if got.Title != "renamed" || got.Project != "p" || got.Kind != sessions.KindCommand || !slices.Equal(got.Args, made.Args) {
		t.Errorf("adopted as %+v", got)
	}
}

func TestRenameDuringStart(t *testing.T) {
	t.Parallel()
	w := servicetest.NewWorld(t)
	var s *servicetest.Server
	s = w.Prepare(t, servicetest.Options{Hooks: service.Hooks{After: func(step string) error {
		if step != "create.row" {
			return nil
		}
		rows, err := w.Store.List(t.Context())
		if err != nil {
			return err
		}
		_, err = s.Service.Update(t.Context(), rows[0].ID, sessions.UpdateRequest{Title: new("renamed")})
		return err
	}}})
	s.Board.SetNode(sessions.Up)
	made, err := s.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp"})
	if err != nil || made.State != sessions.Detached || made.Title != "renamed" {
		t.Errorf("%s %q, %v", made.State, made.Title, err)
	}
}

func TestStopDuringStart(t *testing.T) {
	t.Parallel()
	w := servicetest.NewWorld(t)
	var s *servicetest.Server
	s = w.Prepare(t, servicetest.Options{Hooks: service.Hooks{After: func(step string) error {
		if step != "create.row" {
			return nil
		}
		rows, err := w.Store.List(t.Context())
		if err != nil {
			return err
		}
		_, err = s.Service.Stop(t.Context(), rows[0].ID)
		return err
	}}})
	s.Board.SetNode(sessions.Up)
	made, err := s.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp"})
	if err != nil || made.State != sessions.Stopping {
		t.Fatalf("%s, %v", made.State, err)
	}
	if _, err := s.Reconciler.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Board.Get(made.ID); got.State != sessions.Stopped {
		t.Errorf("%s: the stop never reached the program", got.State)
	}
}

// The first thing that a new user does is not refused for coming before database and runtime are up.
func TestFirstCreateWaits(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Prepare(t, servicetest.Options{StartupGrace: servicetest.Patience})
	s.Board.SetDatabase(sessions.DatabaseStatus{State: sessions.Down, Kind: "private"})
	created := make(chan error, 1)
	go func() {
		_, err := s.Service.Create(t.Context(), sessions.CreateRequest{CWD: "/tmp"})
		created <- err
	}()
	s.Board.SetDatabase(sessions.DatabaseStatus{State: sessions.Up, Kind: "private"})
	select {
	case err := <-created:
		t.Fatalf("created without a runtime: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	s.Board.SetNode(sessions.Up)
	if err := <-created; err != nil {
		t.Error(err)
	}
}

func TestScreenHistoryInput(t *testing.T) {
	t.Parallel()
	s := servicetest.NewWorld(t).Start(t, servicetest.Options{})
	made := s.Shell(t)
	ctx := t.Context()
	screen, err := s.Service.Screen(ctx, made.ID)
	if err != nil || screen.Text != "$ " || *screen.CursorColumn != 2 || screen.Title != "a title" {
		t.Errorf("screen %+v, %v", screen, err)
	}
	h, err := s.Service.History(ctx, made.ID, 2, 1)
	if err != nil || !slices.Equal(h.Lines, []string{"one", "two"}) || h.Total != 3 {
		t.Errorf("history %+v, %v", h, err)
	}
	if err := s.Service.Input(ctx, made.ID, sessions.InputRequest{Text: "ls", Enter: true}); err != nil {
		t.Error(err)
	}
	if err := s.Service.Input(ctx, made.ID, sessions.InputRequest{}); !errors.Is(err, sessions.ErrInvalid) {
		t.Errorf("empty input: %v", err)
	}
	s.Runtime.KillSession(string(made.ID))
	s.Await(t, made.ID, sessions.Recoverable)
	if err := s.Service.Input(ctx, made.ID, sessions.InputRequest{Text: "x"}); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("input into nothing: %v", err)
	}
	if _, err := s.Service.Screen(ctx, made.ID); !errors.Is(err, sessions.ErrConflict) {
		t.Errorf("screen of nothing: %v", err)
	}
	for _, id := range []sessions.ID{"", "nonsense", "0b7c7bb3-7a4f-4e52-9f0a-0a6f6d1c2e31", "0B7C7BB3-7A4F-4E52-9F0A-0A6F6D1C2E31"} {
		if _, err := s.Service.Get(ctx, id); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("get %q: %v", id, err)
		}
	}
	if events, err := s.Service.Events(ctx, store.EventQuery{Session: made.ID}); err != nil || len(events) != 3 {
		t.Errorf("%d events, %v", len(events), err)
	}
}
