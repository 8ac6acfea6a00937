package httpapi_test

import (
	"bytes"
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/e2e/rounds"
	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/servicetest"
)

var pane = sessions.StreamOptions{Cols: 100, Rows: 30, Replay: 5, Mode: sessions.ModePane, Foreground: "#ffffff", Client: "me"}

func TestStreamOrderAndState(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.Shell(t)
	v := r.attach(made.ID, pane)
	v.waitLive(1)
	v.mu.Lock()
	order, attached, restore := slices.Clone(v.order), v.frames[0], v.frames[2]
	v.mu.Unlock()
	want := []string{"link connecting", "attached", "replay", "bytes", "restore", "live", "link live"}
	if d := cmp.Diff(want, order); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	if attached.State != sessions.Detached || attached.SessionID != made.ID || attached.Cols != 80 {
		t.Errorf("attached %+v", attached)
	}
	for _, part := range []string{"cols=100", "rows=30", "replay=5", "mode=pane", "fg=%23ffffff", "client=me"} {
		if !strings.Contains(restore.ScreenText, part) {
			t.Errorf("the runtime was asked %q, without %s", restore.ScreenText, part)
		}
	}
	r.Runtime.Attach(string(made.ID), 1, 0)
	v.waitFrame(func(f sessions.Frame) bool { return f.Type == sessions.FrameState && f.State == sessions.Running })
}

func TestStreamCarriesBytesUntouched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	v := r.attach(r.Shell(t).ID, pane)
	v.waitLive(1)
	sent := make([]byte, rounds.N(300, 2000, 20000)<<10)
	_, _ = rand.Read(sent)
	for chunk := range slices.Chunk(sent, 64<<10) {
		for !v.stream.Send(chunk) { // the queue is full: the echo has to go first
			v.mu.Lock()
			news := v.news
			v.mu.Unlock()
			select {
			case <-news:
			case <-time.After(servicetest.Patience):
				t.Fatal("the stream stands still")
			}
		}
	}
	v.wait("echo", func() bool { return len(v.bytes) >= len("old\r\n")+len(sent) })
	v.mu.Lock()
	defer v.mu.Unlock()
	if !bytes.Equal(v.bytes[len("old\r\n"):], sent) {
		t.Error("the echo is not what was sent")
	}
}

func TestPasteResizeOwnAreInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	v := r.attach(r.Shell(t).ID, pane)
	v.waitLive(1)
	big := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	v.stream.Own()
	v.stream.Send([]byte("before"))
	if !v.stream.Paste(big) || v.stream.Paste(make([]byte, sessions.MaxPaste+1)) {
		t.Fatal("pastes are taken whole up to 16 MiB, or not at all")
	}
	v.stream.Send([]byte("after"))
	v.stream.Resize(90, 20)
	v.stream.Resize(91, 21)
	v.waitBytes(append(append([]byte("before"), big...), "after"...))
	var heard []string
	v.wait("frames back", func() bool {
		heard = nil
		for _, f := range v.frames {
			if f.Type == sessions.FrameClipboard {
				heard = append(heard, f.Data)
			}
		}
		return len(heard) > 0 && strings.Contains(heard[len(heard)-1], `"cols":91`)
	})
	if !strings.Contains(heard[0], `"own"`) || !strings.Contains(heard[1], `"paste"`) || !strings.Contains(heard[1], `"bytes":3145728`) {
		t.Errorf("the runtime heard %q", heard)
	}
}

func TestExitEndsTheStream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.Shell(t)
	v := r.attach(made.ID, pane)
	v.waitLive(1)
	r.Runtime.Exit(string(made.ID), 7)
	link := v.waitEnded()
	if link.Code != sessions.CloseEnded || link.Err != nil {
		t.Errorf("ended with %+v", link)
	}
	v.mu.Lock()
	last := v.frames[len(v.frames)-1]
	v.mu.Unlock()
	if last.Type != sessions.FrameEnded || last.State != sessions.Failed || last.ExitCode == nil || *last.ExitCode != 7 {
		t.Errorf("the last frame is %+v", last)
	}
	if slices.ContainsFunc(v.frames, func(f sessions.Frame) bool { return f.Type == "exited" }) {
		t.Error("the runtime's own frame came through")
	}

	// Its terminal is kept: looking again shows the last screen and then the end.
	again := r.attach(made.ID, pane)
	if link := again.waitEnded(); link.Code != sessions.CloseEnded {
		t.Errorf("ended with %+v", link)
	}
	again.mu.Lock()
	order := slices.Clone(again.order)
	again.mu.Unlock()
	want := []string{"link connecting", "attached", "replay", "bytes", "restore", "live", "link live", "ended", "link ended"}
	if d := cmp.Diff(want, order); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}

func TestLateDeathEndsTheStreamAllTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.Shell(t)
	v := r.attach(made.ID, pane)
	v.waitLive(1)
	r.Runtime.Die(string(made.ID), 9)
	if link := v.waitEnded(); link.Code != sessions.CloseEnded {
		t.Errorf("ended with %+v", link)
	}
	v.waitFrame(func(f sessions.Frame) bool { return f.Type == sessions.FrameEnded && *f.ExitCode == 137 })
}

func TestStreamOfALostSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.Shell(t)
	v := r.attach(made.ID, pane)
	v.waitLive(1)
	r.Runtime.KillSession(string(made.ID))
	// The stream is cut; what comes back to it is a session that cannot be shown any more.
	if link := v.waitEnded(); link.Code != sessions.CloseEnded {
		t.Errorf("ended with %+v", link)
	}
	v.waitFrame(func(f sessions.Frame) bool { return f.Type == sessions.FrameEnded && f.State == sessions.Recoverable })

	other := r.attach(made.ID, pane)
	other.waitEnded()
	other.mu.Lock()
	order := slices.Clone(other.order)
	other.mu.Unlock()
	if d := cmp.Diff([]string{"link connecting", "attached", "ended", "link ended"}, order); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}

	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Runtime.SetRecorded(string(made.ID), rtapi.Screen{Cols: 30, Rows: 5, ANSI: "one\n\x1b[1mtwo\x1b[m", Text: "one\ntwo", CursorRow: 1, At: at})
	last := r.attach(made.ID, pane)
	last.waitEnded()
	last.waitFrame(func(f sessions.Frame) bool {
		return f.Type == sessions.FrameRestore && f.ScreenText == "one\r\n\x1b[1mtwo\x1b[m" && f.At != nil && f.At.Equal(at) && *f.CursorRow == 1
	})
	raw := r.attach(made.ID, sessions.StreamOptions{Mode: sessions.ModeRaw})
	raw.waitEnded()
	raw.mu.Lock()
	defer raw.mu.Unlock()
	if slices.Contains(raw.order, "restore") {
		t.Errorf("a raw viewer got a picture: %v", raw.order)
	}
}

func TestUnknownAndDeletedSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, id := range []sessions.ID{"0b7c7bb3-7a4f-4e52-9f0a-0a6f6d1c2e31", "nonsense"} {
		if _, err := r.Reconciler.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		link := r.attach(id, pane).waitEnded()
		if link.Code != sessions.CloseNotFound || sessions.CodeOf(link.Err) != sessions.CodeNotFound {
			t.Errorf("%s: ended with %+v", id, link)
		}
	}
	made := r.Shell(t)
	v := r.attach(made.ID, pane)
	v.waitLive(1)
	if err := r.client.Remove(t.Context(), made.ID, true); err != nil {
		t.Fatal(err)
	}
	if link := v.waitEnded(); link.Code != sessions.CloseNotFound {
		t.Errorf("deleted while open: ended with %+v", link)
	}
}

func TestRuntimeAwayAndBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	v := r.attach(r.Shell(t).ID, pane)
	v.waitLive(1)
	v.stream.Own()
	v.stream.Resize(70, 20)
	v.waitFrame(func(f sessions.Frame) bool { return strings.Contains(f.Data, `"cols":70`) })
	r.Runtime.SetAway(true)
	v.wait("reconnecting", func() bool { return v.links[len(v.links)-1].State == sessions.LinkReconnecting })
	if v.stream.Send([]byte("touch X\r")) || v.stream.Paste([]byte("p")) {
		t.Error("input was taken while the stream was down")
	}
	const keys = len("touch X\r") + 1 // a paste is one
	v.wait("a count of what was dropped", func() bool { return v.links[len(v.links)-1].Dropped == keys })
	r.Runtime.SetAway(false)
	v.stream.Wake()
	v.waitLive(2)
	v.wait("the count with the live link", func() bool { return v.links[len(v.links)-1].Dropped == keys })
	v.waitFrame(func(f sessions.Frame) bool { return strings.Contains(f.ScreenText, "cols=70") })
	v.wait("own again", func() bool {
		owned := 0
		for _, f := range v.frames {
			if strings.Contains(f.Data, `"own"`) {
				owned++
			}
		}
		return owned == 2
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	if bytes.Contains(v.bytes, []byte("touch X")) {
		t.Error("what was typed while the stream was down came through later")
	}
}

func TestServerStopsAndReturns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	v := r.attach(r.Shell(t).ID, pane)
	v.waitLive(1)
	begun := time.Now()
	r.stopAPI()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("stopping took %s", took)
	}
	v.wait("reconnecting", func() bool { return v.links[len(v.links)-1].State == sessions.LinkReconnecting })
	r.startAPI()
	v.stream.Wake()
	v.waitLive(2)
	v.stream.Send([]byte("hello again"))
	v.waitBytes([]byte("hello again"))
}

func TestCloseCodesFromTheRuntime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	v := r.attach(r.Shell(t).ID, pane)
	for i, code := range []sessions.CloseCode{sessions.CloseNotDraining, sessions.CloseGoingAway, 1011, 4999} {
		v.waitLive(i + 1)
		r.Runtime.CloseStreams(code)
		v.stream.Wake()
	}
	v.waitLive(5)
}

func TestCloseFlushesWhatWasTyped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.Shell(t)
	watching := r.attach(made.ID, pane)
	watching.waitLive(1)
	for range rounds.N(5, 20, 100) {
		v := r.attach(made.ID, pane)
		v.waitLive(1)
		v.stream.Send([]byte("last words"))
		v.stream.Close()
		v.stream.Close() // once more than needed
		if v.stream.Send([]byte("x")) {
			t.Error("a closed stream takes input")
		}
	}
}
