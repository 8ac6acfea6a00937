package daemon

import (
	"log/slog"
	"testing"

	"corral/runtime/internal/tmux"
	"corral/runtime/rtapi"
)

// subscribed is Subscribe without a tmux server to wait for.
func subscribed(inv *inventory) chan rtapi.Event {
	sub := make(chan rtapi.Event, backlog)
	inv.mu.Lock()
	defer inv.mu.Unlock()
	inv.subs[sub] = struct{}{}
	return sub
}

func number(n int) *int { return &n }

// listing is an inventory of one terminal, as a pane of tmux gives it.
func listing(inv *inventory, server int, p tmux.Pane) rtapi.Inventory {
	return rtapi.Inventory{
		Complete: true, Server: rtapi.Incarnation{PID: server},
		Terminals: []rtapi.Terminal{inv.terminal("one", p)},
	}
}

func TestADeathWithoutAReasonIsNoDeathYet(t *testing.T) {
	t.Parallel()
	inv := newInventory(nil, slog.New(slog.DiscardHandler))
	p := tmux.Pane{Dead: true, Meta: `{"id":"another","run":3,"title":"t"}`}
	if got := inv.terminal("one", p); got.Dead || got.ID != "one" || got.Run != 3 {
		t.Errorf("got %+v", got)
	}
	p.Status = number(0)
	if got := inv.terminal("one", p); !got.Dead || *got.ExitCode != 0 || got.Signal != nil {
		t.Errorf("got %+v", got)
	}
	p.Signal = number(9) // some versions leave a status of 0 beside it
	if got := inv.terminal("one", p); !got.Dead || got.ExitCode != nil || *got.Signal != 9 {
		t.Errorf("got %+v", got)
	}
	if got := inv.terminal("one", tmux.Pane{Meta: "{"}); got.ID != "one" || got.Run != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestAnExitIsToldOncePerRun(t *testing.T) {
	t.Parallel()
	inv := newInventory(nil, slog.New(slog.DiscardHandler))
	var told []int
	inv.exited = func(_ string, code, _ *int) { told = append(told, *code) }
	dead := func(run string, code int) tmux.Pane {
		return tmux.Pane{Dead: true, Status: number(code), Meta: `{"run":` + run + `}`}
	}
	for _, next := range []rtapi.Inventory{
		listing(inv, 1, tmux.Pane{Meta: `{"run":1}`}), listing(inv, 1, dead("1", 1)), listing(inv, 1, dead("1", 1)),
		listing(inv, 1, dead("2", 2)), // restarted and ended again between two looks
		listing(inv, 2, dead("2", 3)), // another server
	} {
		inv.book(next, nil)
	}
	if len(told) != 3 || told[0] != 1 || told[1] != 2 || told[2] != 3 {
		t.Errorf("told %v", told)
	}
}

func TestSubscribers(t *testing.T) {
	t.Parallel()
	inv := newInventory(nil, slog.New(slog.DiscardHandler))
	quick, slow := subscribed(inv), subscribed(inv)
	alive := listing(inv, 1, tmux.Pane{})
	inv.book(alive, nil)
	inv.book(alive, nil) // nothing changed: no event
	inv.setViewers("one", 1, 2)
	inv.setViewers("one", 1, 2)
	if e := <-quick; e.Type != rtapi.EventInventory || e.Inventory.Terminals[0].Attached != 0 {
		t.Errorf("got %+v", e)
	}
	if e := <-quick; e.Type != rtapi.EventViewers || e.Attached != 1 || e.Watching != 2 {
		t.Errorf("got %+v", e)
	}
	if len(quick) != 0 {
		t.Errorf("%d more events", len(quick))
	}
	for i := range 2 * backlog {
		inv.setViewers("one", i+2, 0)
		<-quick
	}
	n := 0
	for range slow {
		n++
	}
	if n != backlog {
		t.Errorf("the one that lagged got %d events, then no end", n)
	}
	inv.book(listing(inv, 1, tmux.Pane{Cols: 5}), nil)
	if e := <-quick; e.Inventory.Terminals[0].Attached != 2*backlog+1 {
		t.Errorf("counts were lost: %+v", e.Inventory.Terminals[0])
	}
	inv.close()
	inv.book(listing(inv, 2, tmux.Pane{}), nil)
	inv.setViewers("one", 0, 0)
	if e, ok := <-quick; ok {
		t.Errorf("told after the end: %+v", e)
	}
}
