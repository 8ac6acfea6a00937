package tui_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
	"corral/tui/terminal"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // goldens show times
	goleak.VerifyTestMain(m)
}

// dashboard is an App with everything round it faked, and its loop.
type dashboard struct {
	*tuitest.Loop
	t       *testing.T
	backend *tuitest.Backend
	display *tuitest.Display
	app     *tui.App
	now     time.Time // what the App takes the time to be
}

func open(t *testing.T, cols, rows int, cfg tui.Config, b *tuitest.Backend) *dashboard {
	t.Helper()
	d := &dashboard{t: t, backend: b, display: &tuitest.Display{}, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	cfg.Backend = b
	if cfg.CWD == "" {
		cfg.CWD = "/home/me"
	}
	rig := tui.NewRig(cfg, d.display, cols, rows, func() time.Time { return d.now })
	d.app = rig.App
	d.Loop = tuitest.NewLoop(t, rig.App)
	ctx, cancel := context.WithCancel(context.Background())
	ended := rig.Start(ctx, d.Post)
	t.Cleanup(func() { cancel(); d.Stop(); <-ended })
	return d
}

// with opens a dashboard that shows the given sessions.
func with(t *testing.T, cols, rows int, all ...sessions.Session) *dashboard {
	t.Helper()
	d := open(t, cols, rows, tui.Config{Version: "1.0"}, &tuitest.Backend{})
	d.tell(all...)
	return d
}

// tell makes the watch give a snapshot and waits until the dashboard has taken it.
func (d *dashboard) tell(all ...sessions.Session) {
	d.t.Helper()
	d.backend.Link(sessions.Link{State: sessions.LinkLive})
	d.backend.Tell(sessions.Change{Type: sessions.ChangeSnapshot, Sessions: all})
	d.Until("the list", func() bool { return d.app.Listed() && len(d.app.Sessions()) == len(all) })
}

// change makes the watch tell of one session and waits until it shows.
func (d *dashboard) change(s sessions.Session) {
	d.t.Helper()
	d.backend.Tell(sessions.Change{Type: sessions.ChangeSession, Session: &s})
	d.Until("the change", func() bool {
		for _, have := range d.app.Sessions() {
			if have.ID == s.ID {
				return have.State == s.State && have.UpdatedAt.Equal(s.UpdatedAt)
			}
		}
		return false
	})
}

// stream waits for the nth stream of a session.
func (d *dashboard) stream(id sessions.ID, n int) *tuitest.Stream {
	d.t.Helper()
	var found *tuitest.Stream
	d.Until(fmt.Sprintf("stream %d of %s", n, id), func() bool {
		count := 0
		for _, s := range d.backend.Streams() {
			if s.ID == id {
				if count++; count == n {
					found = s
					return true
				}
			}
		}
		return false
	})
	return found
}

func (d *dashboard) shows(text string) {
	d.t.Helper()
	deadline := d.display.Text
	d.Until(fmt.Sprintf("%q on the screen", text), func() bool { return strings.Contains(deadline(), text) })
}

func (d *dashboard) focused() bool {
	sink, _ := d.display.Sink()
	return sink != nil
}

var birth = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

// session returns a session that was created n minutes after the first.
func session(n int, title string, state sessions.State) sessions.Session {
	return sessions.Session{
		ID:        sessions.ID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", n)),
		Title:     title,
		CWD:       "/srv/" + title,
		Kind:      sessions.KindShell,
		State:     state,
		Node:      "box",
		CreatedAt: birth.Add(time.Duration(n) * time.Minute),
		UpdatedAt: birth.Add(time.Duration(n) * time.Minute),
	}
}

func later(s sessions.Session, state sessions.State) sessions.Session {
	s.State = state
	s.UpdatedAt = s.UpdatedAt.Add(time.Second)
	return s
}

func terminalEvent(e terminal.Event) any { return tui.TerminalMsg(e) }
