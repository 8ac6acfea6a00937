package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/sessions"
	"corral/sessions/recovery"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a fake server: each session does after its start what the test says.
type server struct {
	after func(s *sessions.Session) error // makes of a started session what it becomes

	mu      sync.Mutex
	started []sessions.ID
	at      []time.Time
	changes chan sessions.Change
}

func (f *server) RestartIn(_ context.Context, id sessions.ID, _ sessions.ConversationChoice) (sessions.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = append(f.started, id)
	f.at = append(f.at, time.Now())
	s := sessions.Session{ID: id, Title: string(id), State: sessions.Detached, UpdatedAt: time.Now()}
	then := s
	if err := f.after(&then); err != nil {
		return sessions.Session{}, err
	}
	then.UpdatedAt = then.UpdatedAt.Add(time.Microsecond)
	f.changes <- sessions.Change{Type: sessions.ChangeSession, Session: &then}
	return s, nil
}

func (f *server) Watch(ctx context.Context, change func(sessions.Change), _ func(sessions.Link)) {
	for {
		select {
		case c := <-f.changes:
			change(c)
		case <-ctx.Done():
			return
		}
	}
}

func (f *server) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.started)
}

func newServer(after func(*sessions.Session) error) *server {
	return &server{after: after, changes: make(chan sessions.Change, 1000)}
}

func conversation(id sessions.ID) string { return "conversation of " + string(id) }

// speaks makes an agent tell that it runs in its conversation.
func speaks(s *sessions.Session) error {
	s.Agent = &sessions.Agent{State: sessions.AgentWaiting, HookAt: time.Now(), ConversationID: conversation(s.ID)}
	return nil
}

func plan(n int) []sessions.Recovery {
	var all []sessions.Recovery
	for i := range n {
		id := sessions.ID(fmt.Sprintf("s%03d", i))
		all = append(all, sessions.Recovery{
			Session: sessions.Session{ID: id}, Way: "resume", Hooks: true, ConversationID: conversation(id),
		})
	}
	return all
}

// run carries a plan out and returns the results by session.
func run(ctx context.Context, f *server, p []sessions.Recovery, cfg recovery.Config) (recovery.Summary, map[sessions.ID]recovery.Result) {
	results := map[sessions.ID]recovery.Result{}
	cfg.Client = f
	told := cfg.Each
	cfg.Each = func(r recovery.Result) {
		results[r.Session.ID] = r
		if told != nil {
			told(r)
		}
	}
	return recovery.Run(ctx, p, cfg), results
}

func TestAllComeBackWithProofs(t *testing.T) {
	t.Parallel()
	const n, pace = 30, 3 * time.Millisecond
	f := newServer(speaks)
	sum, results := run(t.Context(), f, plan(n), recovery.Config{Pace: pace})
	if sum.Proven != n || sum.Halted != "" || len(results) != n {
		t.Fatalf("%+v of %d", sum, n)
	}
	for id, r := range results {
		if !r.Alive || r.Hook == nil || !*r.Hook || r.Conversation == nil || !*r.Conversation {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if took := f.at[n-1].Sub(f.at[0]); took < (n-2)*pace { // the first of them may have come late
		t.Errorf("%d starts within %v", n, took)
	}
}

func TestStoppedInTheMiddle(t *testing.T) {
	t.Parallel()
	const n = 100
	f := newServer(speaks)
	ctx, stop := context.WithCancel(t.Context())
	done := 0
	sum, results := run(ctx, f, plan(n), recovery.Config{Pace: time.Millisecond, Each: func(recovery.Result) {
		if done++; done == 10 {
			stop()
		}
	}})
	if sum.Halted != "stopped" || sum.Proven != f.count() || sum.Proven < 10 || sum.Proven > 20 || sum.Proven+sum.Skipped != n || len(results) != n {
		t.Errorf("%+v, %d started", sum, f.count())
	}
}

func TestHaltsAfterFailuresInARow(t *testing.T) {
	t.Parallel()
	f := newServer(func(s *sessions.Session) error {
		if s.ID >= "s005" {
			s.State, s.StateReason = sessions.Failed, "exited 1"
			return nil
		}
		return speaks(s)
	})
	sum, results := run(t.Context(), f, plan(50), recovery.Config{Pace: time.Millisecond, AtOnce: 1})
	if sum.Proven != 5 || sum.Failed != 3 || sum.Skipped != 42 || !strings.Contains(sum.Halted, "3 failures") || f.count() != 8 {
		t.Errorf("%+v, %d started", sum, f.count())
	}
	if r := results["s005"]; r.Outcome != recovery.Failed || !strings.Contains(r.Reason, "exited 1") {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsNoProof(t *testing.T) {
	t.Parallel()
	refused := &sessions.Error{
		Code: sessions.CodeConflict, Message: "the conversation is gone",
		Details: map[string]any{sessions.DetailChoices: []sessions.Choice{{Conversation: sessions.ConversationFresh}}},
	}
	for name, c := range map[string]struct {
		after   func(*sessions.Session) error
		plan    func(*sessions.Recovery)
		outcome recovery.Outcome
		says    string
	}{
		"no word":              {func(*sessions.Session) error { return nil }, nil, recovery.Unproven, "no sign"},
		"another conversation": {func(s *sessions.Session) error { _ = speaks(s); s.Agent.ConversationID = "x"; return nil }, nil, recovery.Failed, "conversation x"},
		"a word of the last run": {func(s *sessions.Session) error {
			_ = speaks(s)
			s.Agent.HookAt = time.Now().Add(-time.Minute)
			return nil
		}, nil, recovery.Unproven, "no sign"},
		"refused":               {func(*sessions.Session) error { return refused }, nil, recovery.Failed, "is gone"},
		"cannot be told":        {func(*sessions.Session) error { return errors.New("a\x1bb") }, nil, recovery.Failed, "a b"},
		"a shell":               {func(*sessions.Session) error { return nil }, func(r *sessions.Recovery) { r.Hooks, r.ConversationID = false, "" }, recovery.Proven, ""},
		"a shell that ends":     {func(s *sessions.Session) error { s.State = sessions.Stopped; return nil }, func(r *sessions.Recovery) { r.Hooks = false }, recovery.Failed, "ended at once"},
		"a problem of the plan": {speaks, func(r *sessions.Recovery) { r.Problem = "no directory" }, recovery.Skipped, "no directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan(1)
			if c.plan != nil {
				c.plan(&p[0])
			}
			f := newServer(c.after)
			_, results := run(t.Context(), f, p, recovery.Config{Proof: 50 * time.Millisecond, Settle: 20 * time.Millisecond})
			r := results["s000"]
			if r.Outcome != c.outcome || !strings.Contains(r.Reason, c.says) {
				t.Errorf("%s, %q; want %s, %q", r.Outcome, r.Reason, c.outcome, c.says)
			}
			if name == "refused" && len(r.Choices) != 1 {
				t.Errorf("choices %+v", r.Choices)
			}
			if c.outcome == recovery.Skipped && f.count() != 0 {
				t.Error("it was started")
			}
		})
	}
}
