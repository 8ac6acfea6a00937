package attach

import (
	"fmt"
	"strings"
	"testing"

	"corral/sessions"
)

// BenchmarkAttach is a stream from its opening to live, on a terminal with 2000 lines of history.
func BenchmarkAttach(b *testing.B) {
	bed := newBed(b)
	bed.start(b, "a", 120, 40, `seq 3000; exec cat`)
	until(b, "output", func() bool { return bed.ask(b, "a", "#{history_size}") == "2961" })
	for b.Loop() {
		v := bed.view(b, "a", "mode", "pane", "replay", "2000")
		v.live(1)
		_ = v.conn.CloseNow()
	}
}

// BenchmarkResync is a new picture for a stream that is there.
func BenchmarkResync(b *testing.B) {
	bed := newBed(b)
	bed.start(b, "a", 120, 40, `seq 3000; exec cat`)
	v := bed.view(b, "a", "mode", "pane")
	v.live(1)
	n := 1
	for b.Loop() {
		v.send(sessions.Frame{Type: sessions.FrameResync})
		n++
		v.live(n)
	}
}

// BenchmarkEcho is a key from the WebSocket through tmux and back.
func BenchmarkEcho(b *testing.B) {
	bed := newBed(b)
	bed.start(b, "a", 120, 40, `exec cat`)
	v := bed.view(b, "a", "mode", "pane")
	v.live(1)
	n := 0
	for b.Loop() {
		v.mu.Lock()
		n = len(v.raw)
		v.mu.Unlock()
		v.typeKeys("x")
		v.wait("echo", func() bool { return len(v.raw) > n })
	}
}

// BenchmarkFilter is the cost of taking a stream apart.
func BenchmarkFilter(b *testing.B) {
	var data strings.Builder
	for y := range 50 {
		fmt.Fprintf(&data, "\x1b[%d;1H\x1b[38;5;%dm%s\x1b(B\x1b[m", y+1, y, strings.Repeat("text ", 40))
	}
	p := []byte(data.String())
	f := filter{nonce: "NONCE", sink: new(discard)}
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		f.write(p)
	}
}

// discard is a sink for benchmarks.
type discard struct{}

func (*discard) output([]byte) {}
func (*discard) redraw(marker) {}
func (*discard) syncBegin()    {}
func (*discard) syncEnd()      {}
func (*discard) answer([]byte) {}
func (*discard) detached()     {}
