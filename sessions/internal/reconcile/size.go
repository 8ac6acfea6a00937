package reconcile

import (
	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

// Sized names a session and the size that its terminal has by now.
type Sized struct {
	ID         sessions.ID
	Cols, Rows int
}

// size notes the size of a living terminal, in which the session is started again when it is lost.
func (p *planner) size(row store.Record, t rtapi.Terminal) {
	if row.Cols == 0 || t.Cols <= 0 || t.Rows <= 0 || t.Cols == row.Cols && t.Rows == row.Rows {
		return
	}
	p.plan.Actions = append(p.plan.Actions, Action{Name: "size", Sized: &Sized{row.ID, t.Cols, t.Rows}})
}
