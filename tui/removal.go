package tui

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
)

// undoFor is for how long a removal can be taken back.
const undoFor = 30 * time.Second

// removal is a session or task that the user removed. Until it is due it is only hidden; a dashboard that ends by itself
// before, because its terminal or its process is gone, has removed nothing.
type removal struct {
	id    sessions.ID
	title string
	task  bool
	due   time.Time
	asked bool // the server was asked: too late to take it back
}

func (r removal) op() operation {
	if r.task {
		return opRemoveTask
	}
	return opRemove
}

// remove hides a session or task, and removes it when it was not brought back in time.
func (a *App) remove(id sessions.ID, title string, task bool) tea.Cmd {
	if title = sessions.CleanTitle(title); title == "" {
		title = id.Short()
	}
	a.removals = append(a.removals, removal{id: id, title: title, task: task, due: a.now().Add(undoFor)})
	return tea.Batch(a.relist(), a.countdown(), a.work.after(undoFor, removalDueMsg{id: id}))
}

// undo brings back what was removed last.
func (a *App) undo() tea.Cmd {
	i := a.lastRemoval()
	if i < 0 {
		return nil
	}
	r := a.removals[i]
	a.removals = slices.Delete(a.removals, i, i+1)
	cmd := a.relist()
	a.reveal(r.id)
	return tea.Batch(cmd, a.show(), a.say(r.title+" is back", false))
}

// lastRemoval returns the index of the newest one that can be taken back, negative when there is none.
func (a *App) lastRemoval() int {
	for i := len(a.removals) - 1; i >= 0; i-- {
		if !a.removals[i].asked {
			return i
		}
	}
	return -1
}

func (a *App) removed(id sessions.ID) int {
	return slices.IndexFunc(a.removals, func(r removal) bool { return r.id == id })
}

// removalDue has the server remove what nobody brought back.
func (a *App) removalDue(id sessions.ID) tea.Cmd {
	i := a.removed(id)
	if i < 0 || a.removals[i].asked || a.now().Before(a.removals[i].due) { // brought back, and perhaps removed once more
		return nil
	}
	a.removals[i].asked = true
	a.dirty = true
	if a.removals[i].task {
		return a.operateTask(opRemoveTask, id)
	}
	return a.operate(opRemove, id)
}

// settleRemovals forgets the removals of what lives again. What is not in the list may come back with the database, so its
// removal stands.
func (a *App) settleRemovals() tea.Cmd {
	for i, r := range a.removals {
		if s, there := a.sessions[r.id]; there && !s.State.Ended() {
			a.removals = slices.Delete(a.removals, i, i+1)
			return a.say(r.title+" runs again and is not removed", false)
		}
	}
	return nil
}

// forget drops the removal of what is gone.
func (a *App) forget(id sessions.ID) {
	a.removals = slices.DeleteFunc(a.removals, func(r removal) bool { return r.id == id })
}

// removalNote says what can be brought back, and for how long.
func (a *App) removalNote() string {
	i := a.lastRemoval()
	if i < 0 {
		return ""
	}
	r := a.removals[i]
	left := int((r.due.Sub(a.now()) + time.Second - 1) / time.Second)
	if i == 0 {
		return fmt.Sprintf("removed %s; U brings it back (%d s)", r.title, max(left, 0))
	}
	return fmt.Sprintf("removed %d; U brings back %s (%d s)", i+1, r.title, max(left, 0))
}

// quitDeadline bounds what is still done when the user has left.
const quitDeadline = 5 * time.Second

// finishRemovals removes what is hidden, when the user leaves on purpose. It is called when the loop has ended.
func (a *App) finishRemovals(ctx context.Context) (done, failed int) {
	if !a.leaving {
		return 0, 0
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), quitDeadline)
	defer cancel()
	errs := make([]error, len(a.removals))
	var asking sync.WaitGroup
	for i, r := range a.removals {
		asking.Go(func() {
			if r.task {
				errs[i] = a.backend.RemoveTask(ctx, r.id)
			} else {
				errs[i] = a.backend.Remove(ctx, r.id, false)
			}
		})
	}
	asking.Wait()
	for i, err := range errs {
		if err != nil && sessions.CodeOf(err) != sessions.CodeNotFound {
			failed++
			a.log.Warn("operation did not succeed", "op", string(a.removals[i].op()), "error", err)
			continue
		}
		done++
	}
	return done, failed
}

// bringBack shows again what the server did not remove.
func (a *App) bringBack(id sessions.ID) tea.Cmd {
	i := a.removed(id)
	if i < 0 || !a.removals[i].asked {
		return nil
	}
	a.removals = slices.Delete(a.removals, i, i+1)
	return a.relist()
}
