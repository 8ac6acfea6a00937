package sessionlist

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"corral/sessions"
	"corral/tui/status"
)

// SetTasks replaces the tasks, the newest of which comes first. Those in unseen have ended since somebody looked.
func (p *Pane) SetTasks(all []sessions.Task, unseen map[sessions.ID]bool) {
	p.tasks = slices.Clone(all)
	slices.SortFunc(p.tasks, func(a, b sessions.Task) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	p.unseen = unseen
	p.arrange()
}

// SetNow tells the time, from which the run times of tasks follow.
func (p *Pane) SetNow(now time.Time) { p.now = now }

// SelectedTask returns the selected task, if it is one that is selected.
func (p *Pane) SelectedTask() (sessions.Task, bool) {
	i := slices.IndexFunc(p.tasks, func(t sessions.Task) bool { return t.ID == p.selected })
	if i < 0 {
		return sessions.Task{}, false
	}
	return p.tasks[i], true
}

// taskHeading says how many tasks there are, and how many run.
func (p *Pane) taskHeading() string {
	running := 0
	for _, t := range p.tasks {
		if t.State == sessions.TaskRunning {
			running++
		}
	}
	if running > 0 {
		return p.section(" Tasks", fmt.Sprintf("%d running ", running), false)
	}
	return p.section(" Tasks", fmt.Sprintf("%d ", len(p.tasks)), false)
}

// task returns the row of t.
func (p *Pane) task(t sessions.Task) string {
	title := clean(t.Title)
	if title == "" {
		title = t.ID.Short()
	}
	return p.line(look{
		title: title, badge: status.TaskBadge(t, p.now), selected: t.ID == p.selected, focused: p.focused,
		unseen: p.unseen[t.ID],
	})
}
