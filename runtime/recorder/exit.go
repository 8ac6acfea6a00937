package recorder

import (
	"time"

	"corral/runtime/internal/journal"
)

// lateExit is the end of a program whose output has not arrived: it was over before tmux's pipe command had handed the
// pipe over. tmux calls no program ended before all of its output is in the pipe.
type lateExit struct {
	record *journal.Record
	timer  *time.Timer
}

// postponeLocked keeps an exit until the pipe of id comes, for as long as its handoff may try.
func (w *worker) postponeLocked(id string, r *journal.Record) {
	w.forgetExitLocked(id)
	l := &lateExit{record: r}
	l.timer = time.AfterFunc(handoffTimeout, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.late[id] == l && !w.ended {
			w.exitLocked(id)
		}
	})
	w.late[id] = l
}

// exitLocked appends the exit that was kept for id, if there is one.
func (w *worker) exitLocked(id string) {
	if l := w.late[id]; l != nil {
		w.forgetExitLocked(id)
		w.appendLocked(op{id: id, record: l.record})
	}
}

func (w *worker) forgetExitLocked(id string) {
	if l := w.late[id]; l != nil {
		l.timer.Stop()
		delete(w.late, id)
	}
}
