package attach

import (
	"fmt"
	"strings"
	"testing"

	"corral/sessions"
)

// sized waits until the program's tty, tmux and every viewer have this size, and the viewers show what tmux has.
func sized(t *testing.T, b *bed, id string, cols, rows int, owner *viewing, viewers ...*viewing) {
	t.Helper()
	want := fmt.Sprintf("%d %d", cols, rows)
	until(t, "size "+want, func() bool { return b.ask(t, id, "#{window_width} #{window_height}") == want })
	for i, v := range viewers {
		v.wait(fmt.Sprintf("size %s at viewer %d", want, i), func() bool {
			return v.size.Cols == cols && v.size.Rows == rows && v.size.Owner == (v == owner)
		})
		v.wait(fmt.Sprintf("tmux's screen at viewer %d", i), func() bool {
			return v.textLocked() == b.capture(t, id)
		})
	}
}

func TestSizeBelongsToWhoTypes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `trap 'stty size' WINCH; seq 100; while :; do read x; echo "got $x"; done`)
	first := b.view(t, "a", "mode", "pane", "cols", "100", "rows", "30")
	second := b.view(t, "a", "mode", "pane", "cols", "60", "rows", "20")
	preview := b.view(t, "a", "mode", "preview", "cols", "30", "rows", "5")
	all := []*viewing{first, second, preview}
	for _, v := range all {
		v.live(1)
	}
	sized(t, b, "a", 80, 24, nil, all...) // looking changes nothing
	preview.send(sessions.Frame{Type: sessions.FrameResize, Cols: 31, Rows: 6})
	first.send(sessions.Frame{Type: sessions.FrameResize, Cols: 101, Rows: 31})
	sized(t, b, "a", 80, 24, nil, all...) // nor does resizing without the keyboard

	first.send(sessions.Frame{Type: sessions.FrameOwn})
	sized(t, b, "a", 101, 31, first, all...)
	second.send(sessions.Frame{Type: sessions.FrameOwn}) // held by first
	second.send(sessions.Frame{Type: sessions.FrameResize, Cols: 61, Rows: 21})
	sized(t, b, "a", 101, 31, first, all...)
	second.typeKeys("x")
	sized(t, b, "a", 61, 21, second, all...)
	second.send(sessions.Frame{Type: sessions.FrameResize, Cols: 70, Rows: 22})
	sized(t, b, "a", 70, 22, second, all...)

	second.send(sessions.Frame{Type: sessions.FrameRelease})
	first.send(sessions.Frame{Type: sessions.FrameRelease})
	sized(t, b, "a", 70, 22, second, all...)
	first.send(sessions.Frame{Type: sessions.FrameOwn})
	sized(t, b, "a", 101, 31, first, all...)

	_ = first.conn.CloseNow() // the size stays when the owner leaves
	until(t, "first gone", func() bool { return b.counted("a") == [2]int{1, 1} })
	sized(t, b, "a", 101, 31, nil, preview)
}

func TestRawViewerOwnsFromTheStart(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `seq 100; exec cat`)
	preview := b.view(t, "a", "mode", "preview")
	preview.live(1)
	raw := b.view(t, "a", "mode", "raw", "cols", "90", "rows", "25", "replay", "50")
	raw.live(1)
	if f := raw.last(sessions.FrameAttached); f.Cols != 90 || f.Rows != 25 || !f.Owner {
		t.Errorf("attached: %+v", f)
	}
	if f := raw.last(sessions.FrameRestore); f.ScreenText != "" {
		t.Errorf("a raw restore carries screenText")
	}
	sized(t, b, "a", 90, 25, raw, raw, preview)
	// Written to a terminal as it comes, the history ends up above the screen.
	replay := string(raw.replay)
	if !strings.HasSuffix(replay, strings.Repeat("\r\n", 24)+"\x1b[H") {
		t.Errorf("the replay ends with %q", replay[max(0, len(replay)-80):])
	}
}

func TestManyResizes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `exec sh`)
	v := b.view(t, "a", "mode", "pane", "cols", "80", "rows", "24")
	other := b.view(t, "a", "mode", "preview")
	v.live(1)
	other.live(1)
	v.typeKeys("seq 500\r")
	for i := range 40 {
		v.send(sessions.Frame{Type: sessions.FrameResize, Cols: 40 + i*2, Rows: 10 + i})
	}
	sized(t, b, "a", 118, 49, v, v, other)
}
