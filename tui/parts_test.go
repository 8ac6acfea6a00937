package tui

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/termpane"
)

func TestLayoutCoversTheTerminalWithoutOverlap(t *testing.T) {
	t.Parallel()
	for cols := 1; cols <= 250; cols++ {
		for _, rows := range []int{1, 11, 12, 24, 40, 50, 100} {
			for _, zoomed := range []bool{false, true} {
				l := layoutFor(cols, rows, zoomed)
				if small := cols < minCols || rows < minRows; l.tooSmall != small {
					t.Fatalf("%dx%d: tooSmall = %v", cols, rows, l.tooSmall)
				}
				if l.tooSmall {
					continue
				}
				parts := []canvas.Rect{l.list, l.divider, l.header, l.pane, l.status}
				if zoomed {
					parts = []canvas.Rect{l.pane}
				}
				cells := 0
				for _, r := range parts {
					cells += r.W * r.H
					if r.X < 0 || r.Y < 0 || r.W <= 0 || r.H <= 0 || r.X+r.W > cols || r.Y+r.H > rows {
						t.Fatalf("%dx%d: %+v lies outside", cols, rows, r)
					}
				}
				if cells != cols*rows {
					t.Fatalf("%dx%d zoomed %v: the parts take %d of %d cells", cols, rows, zoomed, cells, cols*rows)
				}
			}
		}
	}
}

func TestPendingChangesAreMerged(t *testing.T) {
	t.Parallel()
	session := func(id sessions.ID, state sessions.State) sessions.Change {
		return sessions.Change{Type: sessions.ChangeSession, Session: &sessions.Session{ID: id, State: state}}
	}
	removed := func(id sessions.ID) sessions.Change { return sessions.Change{Type: sessions.ChangeRemoved, ID: id} }
	snapshot := sessions.Change{Type: sessions.ChangeSnapshot}
	node := sessions.Change{Type: sessions.ChangeNode}
	tests := map[string]struct{ in, want []sessions.Change }{
		"the newest state counts":   {[]sessions.Change{session("a", sessions.Starting), session("b", sessions.Running), session("a", sessions.Running)}, []sessions.Change{session("b", sessions.Running), session("a", sessions.Running)}},
		"a removal counts":          {[]sessions.Change{session("a", sessions.Stopped), removed("a")}, []sessions.Change{removed("a")}},
		"a snapshot is everything":  {[]sessions.Change{session("a", sessions.Running), node, snapshot}, []sessions.Change{snapshot}},
		"changes follow a snapshot": {[]sessions.Change{snapshot, session("a", sessions.Running), removed("b")}, []sessions.Change{snapshot, session("a", sessions.Running), removed("b")}},
		"a sign of life is nothing": {[]sessions.Change{{Type: sessions.ChangeAlive}}, nil},
		"nodes are no sessions":     {[]sessions.Change{node, session("a", sessions.Running), node}, []sessions.Change{node, session("a", sessions.Running), node}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []sessions.Change
			for _, c := range tt.in {
				got = merge(got, c)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPumpIsBoundedWhileNobodyTakes(t *testing.T) {
	t.Parallel()
	p := newPump()
	var tellers sync.WaitGroup
	for i := range 4 {
		tellers.Go(func() {
			for j := range 2000 {
				id := sessions.ID(fmt.Sprint(j % 5))
				p.change(sessions.Change{Type: sessions.ChangeSession, Session: &sessions.Session{ID: id}})
				p.paneChanged(id)
				p.linked(sessions.Link{Attempt: i})
			}
		})
	}
	tellers.Wait() // nobody takes, and nobody waited
	watched, _, panes := p.take()
	if len(watched.changes) != 5 || len(panes) != 5 || watched.link == nil {
		t.Errorf("pending: %d changes, %d panes", len(watched.changes), len(panes))
	}
	if again, _, panes := p.take(); again != nil || panes != nil {
		t.Error("taken twice")
	}
}

func TestPumpKeepsThePaintersPace(t *testing.T) {
	t.Parallel()
	const frames = 20
	p := newPump()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began, sent := time.Now(), 0
	p.paneChanged("id")
	p.run(ctx, func(tea.Msg) {
		if sent++; sent == frames {
			cancel()
			return
		}
		p.paneChanged("id") // a flood: there is always something new
	})
	if took := time.Since(began); took < (frames-1)*frameEvery {
		t.Errorf("%d frames in %v, want one in %v at most", frames, took, frameEvery)
	}
}

func TestPumpReportsPanics(t *testing.T) {
	t.Parallel()
	p := newPump()
	p.linked(sessions.Link{})
	got := make(chan tea.Msg, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.run(ctx, func(m tea.Msg) {
		if _, ok := m.(watchedMsg); ok {
			panic("boom")
		}
		got <- m
	})
	if m, ok := (<-got).(panickedMsg); !ok || m.value != "boom" {
		t.Errorf("got %v", m)
	}
}

func TestWorkEndsWhatRuns(t *testing.T) {
	t.Parallel()
	w := newWork(t.Context())
	begun, ended := make(chan struct{}), make(chan struct{})
	slow := w.do(0, func(ctx context.Context) tea.Msg {
		close(begun)
		<-ctx.Done()
		close(ended)
		return nil
	})
	go slow()
	<-begun
	clock := make(chan tea.Msg)
	after := w.after(time.Hour, toastExpiredMsg{})
	go func() { clock <- after() }()
	w.stop()
	select {
	case <-ended:
	default:
		t.Error("stop did not wait")
	}
	if m := <-clock; m != nil {
		t.Errorf("a clock that was stopped brought %v", m)
	}
	if m := w.do(0, func(context.Context) tea.Msg { return toastExpiredMsg{} })(); m != nil {
		t.Errorf("a command ran after the stop: %v", m)
	}
}

func TestWorkHasDeadlinesAndCatchesPanics(t *testing.T) {
	t.Parallel()
	w := newWork(t.Context())
	defer w.stop()
	m := w.do(time.Millisecond, func(ctx context.Context) tea.Msg { <-ctx.Done(); return ctx.Err() })()
	if m != context.DeadlineExceeded {
		t.Errorf("got %v", m)
	}
	if p, ok := w.do(0, func(context.Context) tea.Msg { panic("boom") })().(panickedMsg); !ok || p.value != "boom" || len(p.stack) == 0 {
		t.Errorf("got %v", p)
	}
}

func TestPanesEvictTheLeastRecent(t *testing.T) {
	t.Parallel()
	var p panes
	pane := func(i int) *termpane.Pane {
		return termpane.New(termpane.Config{ID: sessions.ID(fmt.Sprint(i)), Changed: func(sessions.ID) {}}, 10, 5)
	}
	var all []*termpane.Pane
	for i := range warmPanes {
		all = append(all, pane(i))
		if gone := p.use(all[i]); len(gone) != 0 {
			t.Fatalf("pane %d evicted %v", i, gone)
		}
	}
	p.use(all[0]) // is recent now
	if gone := p.use(pane(99)); len(gone) != 1 || gone[0] != all[1] {
		t.Errorf("evicted %v, want the second", gone)
	}
	if p.get("0") != all[0] || p.get("1") != nil {
		t.Error("the wrong ones are kept")
	}
	if gone := p.drop(func(id sessions.ID) bool { return id != "0" }); len(gone) != 1 || gone[0] != all[0] {
		t.Errorf("dropped %v", gone)
	}
}

func TestFarewell(t *testing.T) {
	t.Parallel()
	of := func(states ...sessions.State) []sessions.Session {
		var all []sessions.Session
		for _, s := range states {
			all = append(all, sessions.Session{State: s})
		}
		return all
	}
	for _, tt := range []struct {
		in   []sessions.Session
		want string
	}{
		{nil, "no session is running; come back with: corral"},
		{of(sessions.Detached), "1 session keeps running; come back with: corral"},
		{of(sessions.Detached, sessions.Running, sessions.WaitingForInput), "3 sessions keep running (1 waiting for you); come back with: corral"},
		{of(sessions.Recoverable, sessions.Stopped), "no session is running (1 recoverable); come back with: corral"},
		{of(sessions.WaitingForInput, sessions.Recoverable), "1 session keeps running (1 waiting for you, 1 recoverable); come back with: corral"},
	} {
		if got := Farewell(Outcome{Sessions: tt.in}); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
