package attach

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/sessions"
)

func TestPenKeepsWhatIsInForce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"plain", ""},
		{"\x1b[1m\x1b[31mred\x1b[32m", "\x1b[1;32m"},
		{"\x1b[1;31;44mx\x1b[0m", ""},
		{"\x1b[1;31;44mx\x1b[m\x1b[7m", "\x1b[7m"},
		{"\x1b[38;5;200m\x1b[48;2;1;2;3m\x1b[39m", "\x1b[48;2;1;2;3m"},
		{"\x1b[38;2;1;2;3;1mx\x1b[90m", "\x1b[1;90m"},
		{"\x1b[4:3m\x1b[58:2:1:2:3m", "\x1b[4:3;58:2:1:2:3m"},
		{"\x1b[4:3m\x1b[4:0m\x1b[58;5;9m\x1b[59m", ""},
		{"\x1b[1m\x1b[2m\x1b[22m\x1b[3m\x1b[53m\x1b[55m", "\x1b[3m"},
		{"\x1b[104m\x1b[45m\x1b[31", "\x1b[45m"},
	} {
		var p pen
		p.write([]byte(test.text))
		if got := string(p.sequence()); got != test.want {
			t.Errorf("%q leaves %q, want %q", test.text, got, test.want)
		}
	}
}

func TestBoundaryFindsTheRowOfTheMarker(t *testing.T) {
	t.Parallel()
	// A history of at most 100 rows that is trimmed by 10, of lines 1, 2, 3, ...; the screen has 5 rows.
	rows := func(from, to int) (list []string) {
		for i := from; i <= to; i++ {
			list = append(list, fmt.Sprintf("\x1b[3%dmline %d", i%8, i))
		}
		return list
	}
	shown := func(from int) (list []string) {
		for i := range 5 {
			list = append(list, fmt.Sprintf("line %d", from+i))
		}
		return list
	}
	for _, test := range []struct {
		name    string
		size    int // at the marker
		shown   []string
		then    captured
		first   int
		wantRow int
		wantOK  bool
	}{
		{"far from full", 50, shown(51), captured{size: 60, rows: rows(1, 65)}, 0, 50, true},
		{"full, not trimmed", 95, shown(96), captured{size: 97, rows: rows(1, 102)}, 0, 95, true},
		{"trimmed once", 95, shown(96), captured{size: 93, rows: rows(11, 108)}, 0, 85, true},
		{"trimmed twice", 95, shown(96), captured{size: 96, rows: rows(21, 121)}, 0, 75, true},
		{"all of it gone", 95, shown(96), captured{size: 95, rows: rows(201, 300)}, 0, 0, false},
		{"cleared", 50, shown(51), captured{size: 3, rows: rows(300, 307)}, 0, 0, true},
		{"a capture that does not reach back", 95, shown(96), captured{size: 96, rows: rows(100, 121)}, 79, 0, false},
		{"nothing but blanks", 95, make([]string, 5), captured{size: 97, rows: rows(1, 102)}, 0, 0, false},
		{"drawn over in part", 95, []string{"status", "line 97", "line 98", "line 99", ""}, captured{size: 97, rows: rows(1, 102)}, 0, 95, true},
	} {
		row, ok := boundary(test.then, test.first, test.size, 100, test.shown)
		if row != test.wantRow || ok != test.wantOK {
			t.Errorf("%s: row %d %v, want %d %v", test.name, row, ok, test.wantRow, test.wantOK)
		}
	}
}

func TestComposeDrawsLines(t *testing.T) {
	t.Parallel()
	h := compose([]string{"a\x1b[31m\x0eqx", "q\x0fq\x1b[0m"}, 0, false)
	if want := "a\x1b[31m─│\r\n─q\x1b[0m\r\n\x1b[0m"; string(h.bytes) != want || h.lines != 2 || h.truncated {
		t.Errorf("composed %q (%d lines), want %q", h.bytes, h.lines, want)
	}
	h = compose([]string{"\x1b[31mleft out", "kept"}, 1, true)
	if want := "\x1b[31mkept\r\n\x1b[0m"; string(h.bytes) != want || h.lines != 1 || !h.truncated {
		t.Errorf("composed %q, want %q", h.bytes, want)
	}
}

func TestScanKey(t *testing.T) {
	t.Parallel()
	var got []string
	for p := []byte("aä\x1b[A\x1bOP\x1b[M !!\x1bx\x1bé\x1b\x1b[B\x1b\r\x1b\x7f\x1b[1;5R"); len(p) > 0; {
		_, n := scanKey(p)
		if n == 0 {
			t.Fatalf("stuck at %q", p)
		}
		got = append(got, string(p[:n]))
		p = p[n:]
	}
	want := []string{"aä", "\x1b[A", "\x1bOP", "\x1b[M !!", "\x1bx", "\x1bé", "\x1b\x1b[B", "\x1b\r", "\x1b\x7f", "\x1b[1;5R"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, p := range []string{"\x1b", "\x1b[", "\x1b[1;", "\x1bO", "\x1b[M a", "\xc3", "\x1b\xc3", "\x1b\x1b[", "\x1b]0;t", "\x1bP+q\x1b"} {
		if k, n := scanKey([]byte(p)); k != incomplete || n != 0 {
			t.Errorf("%q is %d %d, want incomplete", p, k, n)
		}
	}
}

func TestQueueGathers(t *testing.T) {
	t.Parallel()
	q := newQueue(maxQueued)
	now := time.Now()
	q.write([]byte("first"))
	if m, _, ok := q.take(now); !ok || string(m.bytes) != "first" {
		t.Fatalf("the first output after quiet waits: %q", m.bytes)
	}
	q.write([]byte("a"))
	q.write([]byte("b"))
	if _, wait, ok := q.take(now.Add(time.Millisecond)); ok || wait != 2*time.Millisecond {
		t.Errorf("due in %v, want 2ms", wait)
	}
	q.hurry(sessions.Frame{Type: sessions.FramePong})
	if m, _, ok := q.take(now.Add(time.Millisecond)); !ok || m.frame == nil || m.frame.Type != sessions.FramePong {
		t.Error("a pong waits for output")
	}
	if m, _, ok := q.take(now.Add(gather)); !ok || string(m.bytes) != "ab" {
		t.Errorf("gathered %q", m.bytes)
	}
	big := bytes.Repeat([]byte("x"), 30000)
	for range 5 {
		q.write(big)
	}
	for _, want := range []int{60000, 60000} { // full messages do not wait
		if m, _, ok := q.take(now.Add(gather)); !ok || len(m.bytes) != want {
			t.Errorf("took %d bytes, want %d", len(m.bytes), want)
		}
	}
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	q := newQueue(maxQueued)
	chunk := bytes.Repeat([]byte("x"), 10000)
	for i := range 1000 {
		q.write(chunk)
		q.post(sizeFrame(i, 1, false))
		q.hurry(sessions.Frame{Type: sessions.FrameViewers, Watching: i})
		q.hurry(sessions.Frame{Type: sessions.FramePong})
		if q.size > maxQueued || len(q.urgent) > maxUrgent || len(q.items) > 2*maxQueued/len(chunk)+2 {
			t.Fatalf("%d bytes, %d items, %d urgent", q.size, len(q.items), len(q.urgent))
		}
	}
	if !q.lagging() || q.size != 0 {
		t.Errorf("behind %v with %d bytes", q.lagging(), q.size)
	}
	if !slices.ContainsFunc(q.urgent, func(m message) bool { return m.frame.Watching == 999 }) {
		t.Error("the last count of viewers is lost")
	}
	if last := q.items[len(q.items)-1].frame; last == nil || last.Cols != 999 {
		t.Error("the last size is lost")
	}
	q.reset()
	q.urgent = nil
	q.write([]byte("again"))
	if m, _, ok := q.take(time.Now()); !ok || string(m.bytes) != "again" {
		t.Errorf("after the reset %q", m.bytes)
	}
}

func TestMarkerOfAHostileTitle(t *testing.T) {
	t.Parallel()
	m, isMarker, ok := parseMarker([]byte("0;N;5;9;0;80x24;9;a;b\x1b[31m\u009bc\xff"), "N")
	if !isMarker || !ok || m.title != "a;b[31mc" || m.history != 5 || m.cols != 80 || m.rows != 24 || m.redraw != 9 {
		t.Errorf("%+v %v %v", m, isMarker, ok)
	}
	for _, body := range []string{"0;N;5;9", "0;N;x;9;0;80x24;9;t", "0;N;5;9;0;80;9;t", "2;N;"} {
		if _, isMarker, ok := parseMarker([]byte(body), "N"); !isMarker || ok {
			t.Errorf("%q: marker %v, ok %v", body, isMarker, ok)
		}
	}
	for _, body := range []string{"0;other", "0;N", "", "0;" + strings.Repeat("N", 3)} {
		if _, isMarker, _ := parseMarker([]byte(body), "N"); isMarker {
			t.Errorf("%q is taken for a marker", body)
		}
	}
}
