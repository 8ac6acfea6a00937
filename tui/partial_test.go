package tui_test

import (
	"testing"

	"corral/sessions"
)

// A server that was just started knows no sessions yet. What is shown stays, and so does the keyboard: what is typed next
// must not become commands of the dashboard.
func TestAServerThatJustStartedTakesNothingAway(t *testing.T) {
	t.Parallel()
	one, two := session(1, "one", sessions.Detached), session(2, "two", sessions.Detached)
	d := with(t, 80, 24, one, two)
	s := d.stream(one.ID, 1)
	s.Live(55, 22, "$ ")
	d.shows("$")
	d.Press("enter")
	d.backend.Tell(sessions.Change{Type: sessions.ChangeSnapshot, Partial: true, Sessions: []sessions.Session{two}})
	d.backend.Tell(sessions.Change{Type: sessions.ChangeNode, Nodes: []sessions.NodeStatus{{Name: "n", State: sessions.Up}}})
	d.shows("gives the keyboard back")
	if n := len(d.app.Sessions()); n != 2 {
		t.Errorf("%d sessions are left", n)
	}
	d.tell(two) // now it knows
	d.shows("two")
	if n := len(d.app.Sessions()); n != 1 {
		t.Errorf("%d sessions are left", n)
	}
}
