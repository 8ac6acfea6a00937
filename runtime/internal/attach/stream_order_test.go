package attach

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"corral/sessions"
)

func TestStreamBeginsInTheFixedOrder(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, "seq 1 300; exec cat")
	until(t, "300 lines", func() bool { return b.ask(t, "a", "#{history_size}") == "277" })

	v := b.view(t, "a", "mode", "pane", "replay", "1000", "cols", "80", "rows", "24")
	v.live(1)
	v.mu.Lock()
	events := append([]string(nil), v.events...)
	v.mu.Unlock()
	if want := []string{"attached", "replay", "bytes", "restore", "live"}; len(events) < 5 || !cmp.Equal(events[:5], want) {
		t.Errorf("the stream began with %v, want %v", events, want)
	}
	attached := v.last(sessions.FrameAttached)
	if attached.Cols != 80 || attached.Rows != 24 || attached.SessionID != "a" || attached.Owner {
		t.Errorf("attached: %+v", attached)
	}
	restore := v.last(sessions.FrameRestore)
	if restore.CursorRow == nil || *restore.CursorRow != 23 || *restore.CursorColumn != 0 {
		t.Errorf("restore's cursor is at %v %v, want 23 0", restore.CursorRow, restore.CursorColumn)
	}
	v.typeKeys("hello\r")
	v.shows("hello\nhello")
	if got, want := v.text(), b.capture(t, "a"); got != want {
		t.Errorf("the screen is\n%s\nand tmux has\n%s", got, want)
	}
}
