package tui_test

import (
	"fmt"
	"testing"
	"time"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
)

// rig returns an App of 200x50 with 40 sessions whose first is live, driven without a loop.
func rig(b *testing.B) (*tui.App, *tuitest.Stream) {
	b.Helper()
	backend := &tuitest.Backend{}
	r := tui.NewRig(tui.Config{Backend: backend}, &tuitest.Display{}, 200, 50, time.Now)
	var all []sessions.Session
	for i := range 40 {
		all = append(all, session(i, fmt.Sprintf("session %d", i), sessions.Detached))
	}
	r.App.Update(tui.WatchedMsg(sessions.Change{Type: sessions.ChangeSnapshot, Sessions: all}))
	s := backend.Streams()[0]
	s.Live(167, 48, "$ ")
	return r.App, s
}

// BenchmarkPaneChanged is what one visible change of a program costs the loop.
func BenchmarkPaneChanged(b *testing.B) {
	app, s := rig(b)
	msg := tui.PaneChangedMsg(s.ID)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Handler.StreamBytes(fmt.Appendf(nil, "\rline %d", i))
		app.Update(msg)
	}
}

// BenchmarkMove is what one step through the list costs the loop.
func BenchmarkMove(b *testing.B) {
	app, _ := rig(b)
	down, up := tuitest.Key("j"), tuitest.Key("k")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			app.Update(down)
		} else {
			app.Update(up)
		}
	}
}
