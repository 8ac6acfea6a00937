package server

import (
	"context"
	"log/slog"
	"time"

	"corral/runtime/rtapi"
	"corral/runtime/rtclient"
	"corral/sessions"
	"corral/sessions/internal/reconcile"
	"corral/sessions/internal/service"
)

const (
	startPauseMin, startPauseMax = 500 * time.Millisecond, 10 * time.Second
	// lookPause is how long to wait before looking again for a runtime that somebody else has to start.
	lookPause = 500 * time.Millisecond
	// lasted is how long a runtime must have been followed to count as having worked.
	lasted = 5 * time.Second
)

// link follows the runtime's events, tells board and reconciler, and brings the runtime back when it is gone.
type link struct {
	runtime    *rtclient.Client
	start      func(context.Context) error // nil: never start it
	held       func() bool                 // true while nothing may be started; nil: never
	board      *service.Board
	reconciler *reconcile.Reconciler
	log        *slog.Logger
}

// run follows the runtime until ctx ends.
func (l *link) run(ctx context.Context) {
	pause := startPauseMin
	for ctx.Err() == nil {
		begun := time.Now()
		wasUp, err := l.follow(ctx)
		if wasUp && ctx.Err() == nil {
			l.log.Warn("runtime lost", "error", err)
		}
		if wasUp && time.Since(begun) > lasted {
			pause = startPauseMin
			continue // at once: it may only have been restarted
		}
		sleep(ctx, l.revive(ctx, &pause))
	}
}

// revive starts the runtime where that is allowed and returns how long to wait before it is followed again. Starts in a
// row, also those that seem to succeed, come at growing pauses.
func (l *link) revive(ctx context.Context, pause *time.Duration) time.Duration {
	if l.start == nil || l.held != nil && l.held() {
		return lookPause
	}
	wait := *pause
	*pause = min(2*wait, startPauseMax)
	if err := l.start(ctx); err != nil {
		if ctx.Err() == nil {
			l.log.Warn("runtime not started", "error", err, "retry", wait)
			l.board.SetNodeMessage(sessions.CleanLine(err.Error(), 300))
		}
		return wait
	}
	l.log.Info("runtime started")
	if wait == startPauseMin {
		return 0
	}
	return wait
}

// follow is the life of one event stream. The node is up while it has one.
func (l *link) follow(ctx context.Context) (wasUp bool, err error) {
	err = l.runtime.Events(ctx, func(e rtapi.Event) {
		if !wasUp {
			wasUp = true
			l.board.SetNode(sessions.Up)
		}
		l.event(e)
	})
	if wasUp && ctx.Err() == nil {
		l.board.SetNode(sessions.Offline)
	}
	return wasUp, err
}

func (l *link) event(e rtapi.Event) {
	switch e.Type {
	case rtapi.EventInventory:
		if e.Inventory != nil && e.Inventory.Complete {
			l.board.Inventory(*e.Inventory)
		}
		l.reconciler.Kick()
	case rtapi.EventViewers:
		l.board.Viewers(sessions.ID(e.ID), e.Attached, e.Watching)
		l.reconciler.Viewers(sessions.ID(e.ID), e.Attached)
	case rtapi.EventAgent:
		if e.Agent != nil {
			l.board.Agent(sessions.ID(e.ID), e.Run, *e.Agent)
		}
		l.reconciler.Kick()
	case rtapi.EventTasks:
		l.board.SetTasks(e.Tasks)
	case rtapi.EventTask:
		if e.Task != nil {
			l.board.SetTask(*e.Task)
		}
	case rtapi.EventTaskGone:
		l.board.DropTask(sessions.ID(e.ID))
	case rtapi.EventRecording:
		l.board.SetNodeWarning(sessions.CleanLine(e.Warning, 300))
	case rtapi.EventAlive:
	}
}

// runtime fits rtclient.Client to what the use cases ask for.
type runtime struct{ *rtclient.Client }

// History asks for lines with their colours.
func (r runtime) History(ctx context.Context, id string, lines, before int) (rtapi.History, error) {
	return r.Client.History(ctx, id, rtclient.HistoryRange{Lines: lines, Before: before, ANSI: true})
}
