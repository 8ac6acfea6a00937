package sessionlist

import (
	"cmp"
	"slices"
	"strings"

	"corral/sessions"
)

// Order is how the list is sorted.
type Order string

// The orders.
const (
	ByProject   Order = "project"   // oldest first within one
	ByAttention Order = "attention" // what wants its user, the longest wait first
	ByState     Order = "state"     // in the order of a session's life
	ByAge       Order = "age"       // newest first
)

// Sort goes on to the next order.
func (p *Pane) Sort() {
	switch p.order {
	case ByProject:
		p.order = ByAttention
	case ByAttention:
		p.order = ByState
	case ByState:
		p.order = ByAge
	case ByAge:
		p.order = ByProject
	}
	p.arrange()
}

// group is what s has in common with its neighbours, for their heading; "" for none.
func (o Order) group(s sessions.Session) string {
	switch o {
	case ByProject:
		return s.Project
	case ByState:
		return strings.ToLower(strings.ReplaceAll(string(s.State), "_", " "))
	case ByAttention, ByAge:
	}
	return ""
}

func byProject(a, b sessions.Session) int {
	return cmp.Or(cmp.Compare(a.Project, b.Project), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

func newestFirst(a, b sessions.Task) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// wants is how much a session wants its user: 0 is the most, calm is not at all.
func wants(s sessions.Session) int {
	switch s.State {
	case sessions.WaitingForInput:
		return 0
	case sessions.Recoverable:
		return 1
	case sessions.Failed:
		return 2
	default:
		return calm
	}
}

const calm = 3

// pickSessions returns the sessions to be shown, sorted.
func (p *Pane) pickSessions() []sessions.Session {
	shown := slices.DeleteFunc(slices.Clone(p.all), func(s sessions.Session) bool {
		return s.ID != p.kept && (!p.which.session(s) || !p.filter.session(s, p.now))
	})
	switch p.order {
	case ByProject: // as they come
	case ByAttention:
		slices.SortStableFunc(shown, func(a, b sessions.Session) int {
			if c := cmp.Compare(wants(a), wants(b)); c != 0 || wants(a) == calm {
				return c
			}
			return a.UpdatedAt.Compare(b.UpdatedAt)
		})
	case ByState:
		slices.SortStableFunc(shown, func(a, b sessions.Session) int {
			return cmp.Compare(slices.Index(sessions.States(), a.State), slices.Index(sessions.States(), b.State))
		})
	case ByAge:
		slices.SortStableFunc(shown, func(a, b sessions.Session) int { return b.CreatedAt.Compare(a.CreatedAt) })
	}
	return shown
}

// pickTasks is pickSessions for tasks, which have no projects.
func (p *Pane) pickTasks() []sessions.Task {
	shown := slices.DeleteFunc(slices.Clone(p.allTasks), func(t sessions.Task) bool {
		return t.ID != p.kept && (!p.which.task(t, p.calling[t.ID]) || !p.filter.task(t, p.now))
	})
	switch p.order {
	case ByProject, ByAge: // as they come
	case ByAttention:
		slices.SortStableFunc(shown, func(a, b sessions.Task) int {
			return cmp.Compare(rank(p.calling[a.ID]), rank(p.calling[b.ID]))
		})
	case ByState:
		slices.SortStableFunc(shown, func(a, b sessions.Task) int {
			return cmp.Compare(slices.Index(sessions.TaskStates(), a.State), slices.Index(sessions.TaskStates(), b.State))
		})
	}
	return shown
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}
