package termpane_test

import (
	"testing"

	"corral/sessions"
)

// TestWidthsAreTheNodes has a node whose tmux gives two columns to what others give one.
func TestWidthsAreTheNodes(t *testing.T) {
	t.Parallel()
	r := open(t, 20, 5)
	h := r.feed()
	for widths, want := range map[string]int{"cell 21\n3b1 3b1 2\n": 3, "": 2, "nonsense": 2} {
		h.StreamFrame(sessions.Frame{Type: sessions.FrameAttached, Cols: 20, Rows: 5, Widths: widths})
		h.StreamFrame(sessions.Frame{Type: sessions.FrameRestore, ScreenText: "αx"})
		if got := r.Frame().Cursor.Col; got != want {
			t.Errorf("with the table %q the cursor is at %d, want %d", widths, got, want)
		}
	}
}
