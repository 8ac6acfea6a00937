package sessionlist

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"corral/sessions"
	"corral/tui/status"
)

// SetTasks replaces the tasks, the newest of which comes first. Those in unseen have ended since somebody looked.
func (p *Pane) SetTasks(all []sessions.Task, unseen map[sessions.ID]bool) {
	p.allTasks = slices.Clone(all)
	slices.SortFunc(p.allTasks, newestFirst)
	calling := make(map[sessions.ID]bool, len(unseen)+1)
	maps.Copy(calling, unseen)
	if p.calling[p.selected] {
		calling[p.selected] = true
	}
	p.unseen, p.calling, p.kept = unseen, calling, p.selected
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
	for _, t := range p.allTasks {
		if t.State == sessions.TaskRunning {
			running++
		}
	}
	if running > 0 {
		return p.section(" Tasks", fmt.Sprintf("%d running ", running), false)
	}
	return p.section(" Tasks", fmt.Sprintf("%d ", len(p.allTasks)), false)
}

// task returns the row of t.
func (p *Pane) task(t sessions.Task) string {
	title := clean(t.Title)
	if title == "" {
		title = t.ID.Short()
	}
	return p.line(look{
		title: title, badge: status.TaskBadge(t, p.now), selected: t.ID == p.selected, focused: p.focused,
		unseen: p.unseen[t.ID], load: p.load(t),
	})
}

// loadsFrom is the width from which the rows of running tasks tell what these use.
const loadsFrom = 30

// Load is what a running task uses now.
type Load struct {
	CPU    float64 // of one core; negative while it is not known
	Memory int64   // bytes
}

// SetLoads tells what the running tasks use.
func (p *Pane) SetLoads(loads map[sessions.ID]Load) { p.loads = loads }

// ShowsLoads reports whether there is a row that would tell what its task uses.
func (p *Pane) ShowsLoads() bool {
	if p.w < loadsFrom {
		return false
	}
	for i := p.top; i < min(p.top+p.h-p.head(), len(p.rows)); i++ {
		if at := p.rows[i].task; at >= 0 && p.tasks[at].State == sessions.TaskRunning {
			return true
		}
	}
	return false
}

func (p *Pane) load(t sessions.Task) string {
	l, ok := p.loads[t.ID]
	if !ok || p.w < loadsFrom || t.State != sessions.TaskRunning {
		return ""
	}
	return status.Load(l.CPU, l.Memory)
}
