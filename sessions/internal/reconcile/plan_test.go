package reconcile

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

const (
	id    = sessions.ID("0b7c7bb3-7a4f-4e52-9f0a-0a6f6d1c2e31")
	owner = "this server"
	node  = "here"
)

var (
	now     = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	server  = rtapi.Incarnation{PID: 4711, Start: 100, BootID: "boot"}
	before  = rtapi.Incarnation{PID: 17, Start: 50, BootID: "boot"}
	oldBoot = rtapi.Incarnation{PID: 4711, Start: 100, BootID: "boot before"}
)

func ptr[T any](v T) *T { return &v }

// row is a row of run 2 that was last written an hour ago.
func row(state sessions.State, edits ...func(*store.Record)) store.Record {
	r := store.Record{
		Session: sessions.Session{ID: id, State: state, StateReason: "as it was", Node: node, UpdatedAt: now.Add(-time.Hour)},
		Version: 9, Run: 2, Tmux: server,
	}
	switch state {
	case sessions.Starting:
		r.Owner, r.Deadline = owner, now.Add(time.Minute)
	case sessions.Stopping:
		r.Deadline = now.Add(10 * time.Second)
	}
	for _, edit := range edits {
		edit(&r)
	}
	return r
}

func alive(edits ...func(*rtapi.Terminal)) *rtapi.Terminal {
	t := &rtapi.Terminal{Meta: rtapi.Meta{ID: string(id), Kind: "shell", Title: "t", CWD: "/", Run: 2}, Cols: 80, Rows: 24, CreatedAt: now.Add(-time.Hour)}
	for _, edit := range edits {
		edit(t)
	}
	return t
}

func attached(n int) func(*rtapi.Terminal) { return func(t *rtapi.Terminal) { t.Attached = n } }
func run(n int) func(*rtapi.Terminal)      { return func(t *rtapi.Terminal) { t.Run = n } }

// exited is a terminal that died a minute ago.
func exited(code int, edits ...func(*rtapi.Terminal)) *rtapi.Terminal {
	return alive(append([]func(*rtapi.Terminal){func(t *rtapi.Terminal) {
		t.Dead, t.ExitCode, t.DeadAt = true, &code, now.Add(-time.Minute)
	}}, edits...)...)
}

func killed(signal int, edits ...func(*rtapi.Terminal)) *rtapi.Terminal {
	return exited(0, append([]func(*rtapi.Terminal){func(t *rtapi.Terminal) {
		t.ExitCode, t.Signal = nil, &signal
	}}, edits...)...)
}

func ago(d time.Duration) func(*rtapi.Terminal) {
	return func(t *rtapi.Terminal) { t.DeadAt = now.Add(-d) }
}

func failed(code int, signal *int, edits ...func(*store.Record)) store.Record {
	return row(sessions.Failed, append([]func(*store.Record){func(r *store.Record) {
		r.ExitCode, r.Signal, r.EndedAt = &code, signal, now.Add(-time.Minute)
	}}, edits...)...)
}

func TestPlan(t *testing.T) {
	t.Parallel()
	type want struct {
		to     sessions.State // "" for no move
		code   *int
		signal *int
		reason string // a part of it
		run    *int
		kill   bool
		adopt  bool
		wake   time.Duration // from now; 0 for none
	}
	tests := []struct {
		name string
		row  *store.Record
		term *rtapi.Terminal
		edit func(*Observation)
		want want
	}{
		// A healthy runtime that does not know the session.
		{name: "running, unknown", row: ptr(row(sessions.Running)), want: want{to: sessions.Recoverable, reason: "tmux session was killed"}},
		{name: "detached, unknown", row: ptr(row(sessions.Detached)), want: want{to: sessions.Recoverable}},
		{name: "waiting, unknown", row: ptr(row(sessions.WaitingForInput)), want: want{to: sessions.Recoverable}},
		{
			name: "detached, unknown, lived in another tmux server",
			row:  ptr(row(sessions.Detached, func(r *store.Record) { r.Tmux = before })),
			want: want{to: sessions.Recoverable, reason: "tmux server went down"},
		},
		{
			name: "starting by another server that is there",
			row:  ptr(row(sessions.Starting, func(r *store.Record) { r.Owner = "another" })),
			edit: func(o *Observation) { o.Starting = map[string]bool{"another": true} },
			want: want{wake: time.Minute},
		},
		{name: "stopping, unknown", row: ptr(row(sessions.Stopping)), want: want{to: sessions.Stopped, reason: "as it was"}},
		{name: "starting, unknown, in time", row: ptr(row(sessions.Starting)), want: want{wake: time.Minute}},
		{
			name: "starting, unknown, deadline passed",
			row:  ptr(row(sessions.Starting, func(r *store.Record) { r.Deadline = now })),
			want: want{to: sessions.Failed, reason: "in time"},
		},
		{
			name: "starting, unknown, owner gone",
			row:  ptr(row(sessions.Starting, func(r *store.Record) { r.Owner = "another server" })),
			want: want{to: sessions.Failed, reason: "server that was starting it has gone"},
		},
		{name: "stopped, unknown", row: ptr(row(sessions.Stopped))},
		{name: "failed, unknown", row: ptr(row(sessions.Failed))},
		{name: "recoverable, unknown", row: ptr(row(sessions.Recoverable))},
		{
			name: "detached, newer than the inventory",
			row:  ptr(row(sessions.Detached, func(r *store.Record) { r.UpdatedAt = now.Add(-time.Second) })),
			edit: func(o *Observation) { o.Inventory.At = now.Add(-1100 * time.Millisecond) },
			want: want{wake: time.Second},
		},
		{
			name: "detached, newer than a cached inventory for long",
			row:  ptr(row(sessions.Detached, func(r *store.Record) { r.UpdatedAt = now.Add(-3 * time.Second) })),
			edit: func(o *Observation) { o.Inventory.At = now.Add(-time.Minute) },
			want: want{to: sessions.Recoverable},
		},
		{name: "terminal of an earlier run counts as unknown", row: ptr(row(sessions.Detached)), term: alive(run(1)), want: want{to: sessions.Recoverable}},
		{name: "starting, the earlier run's dead terminal", row: ptr(row(sessions.Starting)), term: exited(0, run(1)), want: want{wake: time.Minute}},

		// Inventories that prove nothing.
		{name: "incomplete inventory", row: ptr(row(sessions.Running)), edit: func(o *Observation) { o.Inventory.Complete = false }},
		{name: "inventory without a server", row: ptr(row(sessions.Running)), edit: func(o *Observation) { o.Inventory.Server = rtapi.Incarnation{} }},
		{name: "row of another node", row: ptr(row(sessions.Running, func(r *store.Record) { r.Node = "there" }))},

		// Live terminals.
		{name: "starting, alive", row: ptr(row(sessions.Starting)), term: alive(), want: want{to: sessions.Detached, reason: "started"}},
		{
			name: "starting, alive, owner gone",
			row:  ptr(row(sessions.Starting, func(r *store.Record) { r.Owner = "another server" })), term: alive(),
			want: want{to: sessions.Detached},
		},
		{name: "stopped, alive", row: ptr(row(sessions.Stopped)), term: alive(), want: want{to: sessions.Detached, reason: "adopted"}},
		{name: "failed, alive", row: ptr(row(sessions.Failed)), term: alive(), want: want{to: sessions.Detached}},
		{name: "recoverable, alive", row: ptr(row(sessions.Recoverable)), term: alive(), want: want{to: sessions.Detached}},
		{name: "recoverable, alive at a later run", row: ptr(row(sessions.Recoverable)), term: alive(run(5)), want: want{to: sessions.Detached, run: ptr(5)}},
		{name: "failed restart beside a live earlier run", row: ptr(row(sessions.Failed)), term: alive(run(1)), want: want{to: sessions.Detached, run: ptr(1)}},
		{name: "unknown row, alive", term: alive(), want: want{adopt: true}},
		{name: "unknown row, dead", term: exited(0)},
		{name: "unknown row, not one of our ids", term: alive(func(t *rtapi.Terminal) { t.ID = "../../etc" })},
		{name: "stopping, alive, in time", row: ptr(row(sessions.Stopping)), term: alive(), want: want{wake: 10 * time.Second}},
		{
			name: "stopping, alive, deadline passed",
			row:  ptr(row(sessions.Stopping, func(r *store.Record) { r.Deadline = now })), term: alive(),
			want: want{kill: true},
		},

		// Dead terminals.
		{name: "exit 0", row: ptr(row(sessions.Running)), term: exited(0), want: want{to: sessions.Stopped, code: ptr(0)}},
		{name: "exit 7", row: ptr(row(sessions.Detached)), term: exited(7), want: want{to: sessions.Failed, code: ptr(7), reason: "exited 7"}},
		{name: "exit 7 while starting", row: ptr(row(sessions.Starting)), term: exited(7), want: want{to: sessions.Failed, code: ptr(7)}},
		{name: "signal 11", row: ptr(row(sessions.WaitingForInput)), term: killed(11), want: want{to: sessions.Failed, code: ptr(139), signal: ptr(11)}},
		{name: "exit of a later run", row: ptr(row(sessions.Running)), term: exited(7, run(3)), want: want{to: sessions.Failed, code: ptr(7), run: ptr(3)}},
		{name: "stopping, exit 0", row: ptr(row(sessions.Stopping)), term: exited(0), want: want{to: sessions.Stopped, code: ptr(0), reason: "as it was"}},
		{name: "stopping, exit 7", row: ptr(row(sessions.Stopping)), term: exited(7), want: want{to: sessions.Stopped, code: ptr(7)}},
		{name: "stopping, killed just now", row: ptr(row(sessions.Stopping)), term: killed(9, ago(0)), want: want{to: sessions.Stopped, code: ptr(137), signal: ptr(9)}},
		{name: "stopped, dead", row: ptr(row(sessions.Stopped)), term: exited(0)},
		{name: "failed, dead", row: ptr(failed(7, nil)), term: exited(7)},
		{name: "recoverable, dead", row: ptr(row(sessions.Recoverable)), term: exited(7)},

		// Deaths that a shutdown could have caused are kept back.
		{name: "HUP just now", row: ptr(row(sessions.Running)), term: killed(1, ago(time.Second)), want: want{wake: 4 * time.Second}},
		{name: "TERM just now", row: ptr(row(sessions.Running)), term: killed(15, ago(0)), want: want{wake: 5 * time.Second}},
		{name: "KILL just now", row: ptr(row(sessions.Running)), term: killed(9, ago(0)), want: want{wake: 5 * time.Second}},
		{name: "exit 129 just now", row: ptr(row(sessions.Detached)), term: exited(129, ago(0)), want: want{wake: 5 * time.Second}},
		{name: "exit 137 just now", row: ptr(row(sessions.Detached)), term: exited(137, ago(0)), want: want{wake: 5 * time.Second}},
		{name: "exit 143 just now", row: ptr(row(sessions.Starting)), term: exited(143, ago(0)), want: want{wake: 5 * time.Second}},
		{name: "signal 11 just now", row: ptr(row(sessions.Running)), term: killed(11, ago(0)), want: want{to: sessions.Failed, code: ptr(139), signal: ptr(11)}},
		{name: "exit 1 just now", row: ptr(row(sessions.Running)), term: exited(1, ago(0)), want: want{to: sessions.Failed, code: ptr(1)}},
		{name: "KILL 5 s ago", row: ptr(row(sessions.Running)), term: killed(9, ago(5*time.Second)), want: want{to: sessions.Failed, code: ptr(137), signal: ptr(9)}},

		// Failures that turn out to be the host's end.
		{
			name: "tmux server ended 3 s after",
			row:  ptr(failed(143, nil, func(r *store.Record) { r.Tmux = before })),
			edit: func(o *Observation) {
				o.Inventory.Ended = []rtapi.ServerEnd{{Server: before, At: now.Add(-57 * time.Second)}}
			},
			want: want{to: sessions.Recoverable, reason: "host went down", code: ptr(143)},
		},
		{
			name: "boot ended 30 s before it was seen",
			row:  ptr(failed(129, ptr(1), func(r *store.Record) { r.Tmux = oldBoot })),
			edit: func(o *Observation) {
				o.Inventory.Ended = []rtapi.ServerEnd{{Server: rtapi.Incarnation{PID: 5, BootID: "boot before"}, At: now.Add(-90 * time.Second)}}
			},
			want: want{to: sessions.Recoverable, reason: "host went down", code: ptr(129), signal: ptr(1)},
		},
		{
			name: "tmux server ended 31 s after",
			row:  ptr(failed(143, nil, func(r *store.Record) { r.Tmux = before })),
			edit: func(o *Observation) {
				o.Inventory.Ended = []rtapi.ServerEnd{{Server: before, At: now.Add(-29 * time.Second)}}
			},
		},
		{
			name: "another tmux server of this boot ended",
			row:  ptr(failed(143, nil)),
			edit: func(o *Observation) {
				o.Inventory.Ended = []rtapi.ServerEnd{{Server: before, At: now.Add(-time.Minute)}}
			},
		},
		{
			name: "exit 7 with the tmux server's end",
			row:  ptr(failed(7, nil, func(r *store.Record) { r.Tmux = before })),
			edit: func(o *Observation) {
				o.Inventory.Ended = []rtapi.ServerEnd{{Server: before, At: now.Add(-time.Minute)}}
			},
		},

		// Attached and detached, after a second.
		{name: "detached, attached for long", row: ptr(row(sessions.Detached)), term: alive(attached(1)), want: want{to: sessions.Running}},
		{name: "running, nobody for long", row: ptr(row(sessions.Running)), term: alive(), want: want{to: sessions.Detached}},
		{name: "running, attached", row: ptr(row(sessions.Running)), term: alive(attached(2))},
		{name: "detached, nobody", row: ptr(row(sessions.Detached)), term: alive()},
		{name: "waiting, attached", row: ptr(row(sessions.WaitingForInput)), term: alive(attached(1))},
		{
			name: "detached, attached just now", row: ptr(row(sessions.Detached)), term: alive(attached(1)),
			edit: func(o *Observation) {
				o.ViewersSince = map[sessions.ID]time.Time{id: now.Add(-300 * time.Millisecond)}
			},
			want: want{wake: 700 * time.Millisecond},
		},
		{
			name: "running, nobody just now", row: ptr(row(sessions.Running)), term: alive(),
			edit: func(o *Observation) { o.ViewersSince = map[sessions.ID]time.Time{id: now} },
			want: want{wake: time.Second},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := Observation{
				Inventory: rtapi.Inventory{Complete: true, At: now, Server: server},
				Now:       now, Node: node, Owner: owner, Stable: time.Second,
			}
			if test.row != nil {
				o.Rows = []store.Record{*test.row}
			}
			if test.term != nil {
				o.Inventory.Terminals = []rtapi.Terminal{*test.term}
			}
			if test.edit != nil {
				test.edit(&o)
			}
			plan := NewPlan(o)
			var got want
			if !plan.Wake.IsZero() {
				got.wake = plan.Wake.Sub(now)
			}
			if len(plan.Actions) > 1 {
				t.Fatalf("%d actions for one session", len(plan.Actions))
			}
			for _, a := range plan.Actions {
				got.kill, got.adopt = a.Kill != nil, a.Adopt != nil
				if a.Move != nil {
					got.to, got.code, got.signal, got.run = a.Move.To, a.Move.ExitCode, a.Move.Signal, a.Move.Run
					got.reason = test.want.reason
					if !strings.Contains(a.Move.Reason, test.want.reason) {
						got.reason = a.Move.Reason
					}
					checkMove(t, *test.row, *a.Move)
				}
			}
			if d := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); d != "" {
				t.Errorf("plan (-want +got):\n%s", d)
			}
		})
	}
}

// checkMove holds what is true of every move that the reconciler makes.
func checkMove(t *testing.T, r store.Record, m store.Move) {
	t.Helper()
	if !r.State.CanFollow(m.To) {
		t.Errorf("%s cannot become %s", r.State, m.To)
	}
	if m.From != r.State || m.Version != r.Version || m.ID != r.ID {
		t.Errorf("the move does not compare with the row it was planned on: %+v", m)
	}
	if m.Actor != sessions.ActorReconciler || m.Reason == "" || m.Evidence == "" || !m.At.Equal(now) {
		t.Errorf("the event would not say who, why and when: %+v", m)
	}
	if m.To.Ended() && r.State.Live() && (m.EndedAt == nil || m.EndedAt.IsZero()) {
		t.Error("an end without a time")
	}
	if (r.Owner != "" && (m.Owner == nil || *m.Owner != "")) || (!r.Deadline.IsZero() && (m.Deadline == nil || !m.Deadline.IsZero())) {
		t.Error("owner or deadline of what is over stays behind")
	}
}

func TestPlanAdoptsWithEverythingTheTerminalCarries(t *testing.T) {
	t.Parallel()
	term := rtapi.Terminal{
		Meta: rtapi.Meta{
			ID: string(id), Kind: "claude", Title: "a\x1b[31m title", Project: "p", CWD: "/srv/x y",
			Args: []string{"--model", "opus"}, Conversation: "c", Run: 4,
		},
		Cols: 120, Rows: 40, CreatedAt: now.Add(-time.Hour),
	}
	plan := NewPlan(Observation{
		Inventory: rtapi.Inventory{Complete: true, At: now, Server: server, Terminals: []rtapi.Terminal{term}},
		Now:       now, Node: node, Owner: owner,
	})
	if len(plan.Actions) != 1 || plan.Actions[0].Adopt == nil {
		t.Fatalf("not adopted: %+v", plan)
	}
	want := store.Record{
		Session: sessions.Session{
			ID: id, Title: "a [31m title", Project: "p", CWD: "/srv/x y", Kind: sessions.KindClaude,
			Args: []string{"--model", "opus"}, ConversationID: "c", State: sessions.Detached,
			StateReason: "adopted: its program is alive", Node: node,
			CreatedAt: now.Add(-time.Hour), UpdatedAt: now, LastActivityAt: now,
		},
		Run: 4, Tmux: server, Cols: 120, Rows: 40, ConversationUsed: true,
	}
	if d := cmp.Diff(want, plan.Actions[0].Adopt.Record); d != "" {
		t.Errorf("adopted record (-want +got):\n%s", d)
	}
}

// Many sessions of which each calls for something else are decided independently, and the earliest wake counts.
func TestPlanWakesForTheEarliest(t *testing.T) {
	t.Parallel()
	var o Observation
	o.Now, o.Node, o.Owner, o.Stable = now, node, owner, time.Second
	o.Inventory = rtapi.Inventory{Complete: true, At: now, Server: server}
	for i, d := range []time.Duration{40 * time.Second, 7 * time.Second, 20 * time.Second} {
		r := row(sessions.Starting, func(r *store.Record) {
			r.ID = sessions.ID(strings.Repeat(string(rune('a'+i)), 8))
			r.Deadline = now.Add(d)
		})
		o.Rows = append(o.Rows, r)
	}
	if plan := NewPlan(o); len(plan.Actions) != 0 || plan.Wake.Sub(now) != 7*time.Second {
		t.Errorf("got %d actions and a wake in %s", len(plan.Actions), plan.Wake.Sub(now))
	}
}

func BenchmarkPlan500(b *testing.B) {
	o := Observation{
		Inventory: rtapi.Inventory{Complete: true, At: now, Server: server},
		Now:       now, Node: node, Owner: owner, Stable: time.Second,
	}
	for i := range 500 {
		r, t := row(sessions.Detached), *alive()
		r.ID = sessions.ID(strings.Repeat("0", i+1))
		t.ID = string(r.ID)
		o.Rows, o.Inventory.Terminals = append(o.Rows, r), append(o.Inventory.Terminals, t)
	}
	for b.Loop() {
		NewPlan(o)
	}
}
