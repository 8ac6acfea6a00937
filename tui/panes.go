package tui

import (
	"slices"

	"corral/sessions"
	"corral/tui/termpane"
)

// warmPanes is how many recently shown sessions keep their stream: a switch between them shows the screen at once. Each
// costs its runtime one attach client, about 0.6 MiB (perf.md 1.5 has the measurement).
const warmPanes = 12

// panes are the panes of the recently shown sessions, the newest last.
type panes struct{ recent []*termpane.Pane }

// get returns the pane of a session, nil when it is not warm.
func (p *panes) get(id sessions.ID) *termpane.Pane {
	for _, pane := range p.recent {
		if pane.ID() == id {
			return pane
		}
	}
	return nil
}

// use makes a pane the most recent one and returns those that had to go for it.
func (p *panes) use(pane *termpane.Pane) (evicted []*termpane.Pane) {
	p.recent = slices.DeleteFunc(p.recent, func(other *termpane.Pane) bool { return other == pane })
	p.recent = append(p.recent, pane)
	if n := len(p.recent) - warmPanes; n > 0 {
		evicted = slices.Clone(p.recent[:n])
		p.recent = slices.Delete(p.recent, 0, n)
	}
	return evicted
}

// drop forgets the panes whose session keep does not want, and returns them.
func (p *panes) drop(keep func(sessions.ID) bool) (dropped []*termpane.Pane) {
	p.recent = slices.DeleteFunc(p.recent, func(pane *termpane.Pane) bool {
		if keep(pane.ID()) {
			return false
		}
		dropped = append(dropped, pane)
		return true
	})
	return dropped
}
