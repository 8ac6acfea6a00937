package tui_test

import (
	"context"
	"errors"
	"testing"

	"corral/sessions"
	"corral/tui"
	"corral/tui/internal/tuitest"
)

func TestZoomLendsTheTerminalToALiveSession(t *testing.T) {
	t.Parallel()
	shown, back := make(chan sessions.ID, 1), make(chan error)
	cfg := tui.Config{Raw: func(ctx context.Context, id sessions.ID) error {
		shown <- id
		select {
		case err := <-back:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	d, s := reading(t, cfg, &tuitest.Backend{})
	one := session(1, "", "").ID
	d.Press("z")
	if id := <-shown; id != one || d.display.Lent() != 1 || s.Closed() != 1 {
		t.Errorf("shown %s, lent %d times, the pane's stream closed %d times", id, d.display.Lent(), s.Closed())
	}
	back <- errors.New("the login has expired")
	d.stream(one, 2).Live(55, 22, "$ after the zoom")
	d.shows("$ after the zoom")
	d.shows("zoom: the login has expired")
	if d.focused() {
		t.Error("the prefix gave the keyboard to the session")
	}
}

func TestZoomOfWhatIsReadIsThePanes(t *testing.T) {
	t.Parallel()
	cfg := tui.Config{Raw: func(context.Context, sessions.ID) error { return errors.New("lent") }}
	d, s := reading(t, cfg, &tuitest.Backend{})
	d.Press("l")
	replay(s, 1, 100, "$ prompt")
	d.shows("line 100")
	d.Press("z")
	d.shows("line 79\n") // more rows than beside the list
	d.Press("z", "q")
	s.End(sessions.Stopped, 0)
	d.Press("z") // nobody to lend it to
	if d.display.Lent() != 0 {
		t.Error("the terminal was lent")
	}
}
