package logview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"go.uber.org/goleak"

	"corral/e2e/rounds"
	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/keys"
	"corral/tui/style"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	goleak.VerifyTestMain(m)
}

// fake is a log in memory.
type fake struct {
	mu    sync.Mutex
	data  []byte             // guarded by mu
	cut   span               // guarded by mu
	ended bool               // guarded by mu
	err   error              // guarded by mu
	grew  chan struct{}      // guarded by mu; closed by growth
	marks []sessions.LogMark // guarded by mu
	read  int64              // guarded by mu
}

func newFake(s string) *fake { return &fake{data: []byte(s), grew: make(chan struct{})} }

func (f *fake) info() sessions.LogInfo {
	return sessions.LogInfo{Size: int64(len(f.data)), Ended: f.ended, CutFrom: f.cut.from, CutTo: f.cut.to}
}

func (f *fake) ReadAt(_ context.Context, p []byte, off int64) (int, sessions.LogInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return 0, sessions.LogInfo{}, f.err
	}
	end := int64(len(f.data))
	if f.cut.contains(off) {
		end = off
	} else if off < f.cut.from {
		end = f.cut.from
	}
	n := 0
	if off < end {
		n = copy(p, f.data[off:end])
	}
	f.read += int64(n)
	return n, f.info(), nil
}

func (f *fake) Wait(ctx context.Context, size int64) (sessions.LogInfo, error) {
	for {
		f.mu.Lock()
		info, grew := f.info(), f.grew
		f.mu.Unlock()
		if info.Size > size || info.Ended {
			return info, nil
		}
		select {
		case <-grew:
		case <-ctx.Done():
			return info, ctx.Err()
		}
	}
}

func (f *fake) Marks(_ context.Context, from int64) ([]sessions.LogMark, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []sessions.LogMark
	for _, m := range f.marks {
		if m.Offset >= from {
			out = append(out, m)
		}
	}
	return out, nil
}

func (f *fake) append(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data = append(f.data, s...)
	close(f.grew)
	f.grew = make(chan struct{})
}

// viewer is a pane with its loop.
type viewer struct {
	t       *testing.T
	pane    *Pane
	w, h    int
	changed chan struct{}

	mu     sync.Mutex
	copied string // guarded by mu
}

func (v *viewer) copy(b []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.copied = string(b)
}

const patience = 20 * time.Second

func view(t *testing.T, s Source, w, h int) *viewer {
	t.Helper()
	v := &viewer{t: t, w: w, h: h, changed: make(chan struct{}, 1)}
	v.pane = New(Config{ID: "x", Source: s, Keys: keys.New(""), Copy: v.copy, Changed: func(sessions.ID) {
		select {
		case v.changed <- struct{}{}:
		default:
		}
	}}, w, h)
	v.pane.SetVisible(true)
	v.pane.Open()
	t.Cleanup(v.pane.Close)
	return v
}

// screen returns the rows as text.
func (v *viewer) screen() []string {
	c := canvas.New(v.w, v.h)
	v.pane.Draw(c, canvas.Rect{W: v.w, H: v.h}, style.New(true, style.Full), DrawOptions{Focused: true})
	rows := make([]string, v.h)
	for y := range rows {
		var b strings.Builder
		for _, cell := range c.Row(y) {
			b.WriteString(cell.Text)
		}
		rows[y] = strings.TrimRight(b.String(), " ")
	}
	return rows
}

func (v *viewer) until(what string, ok func(rows []string) bool) {
	v.t.Helper()
	deadline := time.After(patience)
	for {
		rows := v.screen()
		if ok(rows) {
			return
		}
		select {
		case <-v.changed:
		case <-deadline:
			v.t.Fatalf("waited in vain for %s; the screen:\n%s", what, strings.Join(rows, "\n"))
		}
	}
}

func (v *viewer) shows(text string) {
	v.t.Helper()
	v.until(fmt.Sprintf("%q", text), func(rows []string) bool { return strings.Contains(strings.Join(rows, "\n"), text) })
}

// rows waits until the text is exactly this.
func (v *viewer) rows(want ...string) {
	v.t.Helper()
	v.until(fmt.Sprintf("%q", want), func(rows []string) bool {
		return strings.Join(rows[:len(rows)-1], "|") == strings.Join(want, "|")
	})
}

func (v *viewer) press(names ...string) {
	special := map[string]tea.KeyType{
		"enter": tea.KeyEnter, "esc": tea.KeyEsc, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "ctrl+r": tea.KeyCtrlR,
		"backspace": tea.KeyBackspace,
	}
	for _, n := range names {
		if k, ok := special[n]; ok {
			v.pane.HandleKey(tea.KeyMsg{Type: k})
			continue
		}
		for _, r := range n {
			v.pane.HandleKey(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	}
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestOpensAtTheEndAndFollows(t *testing.T) {
	t.Parallel()
	f := newFake(numbered(1, 100))
	v := view(t, f, 40, 4)
	v.rows("line 98", "line 99", "line 100")
	f.append("line 101\nline")
	v.rows("line 100", "line 101", "line")
	f.append(" 102\n")
	v.rows("line 100", "line 101", "line 102")
	v.shows("following")
}

func TestScrolledUpItStaysAndCountsWhatIsNew(t *testing.T) {
	t.Parallel()
	f := newFake(numbered(1, 100))
	v := view(t, f, 60, 4)
	v.rows("line 98", "line 99", "line 100")
	v.press("k", "k")
	v.rows("line 96", "line 97", "line 98")
	f.append(numbered(101, 103))
	v.shows("3 new lines below; G follows")
	v.rows("line 96", "line 97", "line 98")
	v.press("G")
	v.rows("line 101", "line 102", "line 103")
	v.press("k", "j")
	v.shows("following")
	v.press("g")
	v.rows("line 1", "line 2", "line 3")
	v.press("pgdown")
	v.rows("line 3", "line 4", "line 5")
	v.press(":50%", "enter")
	v.shows("line 54")
	v.press(":77", "enter")
	v.rows("line 77", "line 78", "line 79")
	v.press(":1000", "enter")
	v.shows("fewer lines")
}

func TestHugeLogIsNotRead(t *testing.T) {
	t.Parallel()
	f := newFake("")
	f.data = bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 1<<18) // 25 MiB
	v := view(t, f, 80, 24)
	v.shows("xxx")
	v.press("g", "G", "k", ":50%", "enter")
	v.shows("50%")
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read > 16*blockSize {
		t.Errorf("%d bytes were read of a log of which three screens were shown", f.read)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := 1; i <= 50_000; i++ { // several chunks
		fmt.Fprintf(&b, "line %d %s\n", i, strings.Repeat("-", 60))
		if i%10_000 == 0 {
			fmt.Fprintf(&b, "\x1b[31mneedle\x1b[m number %d\n", i/10_000)
		}
	}
	v := view(t, newFake(b.String()), 70, 10)
	v.shows("line 50000")
	v.press("/needle", "enter")
	v.shows("needle number 5")
	v.shows(`"needle" 5 of 5`)
	v.press("N")
	v.shows("needle number 4")
	v.shows(`4 of 5`)
	v.press("N", "N", "N")
	v.shows("1 of 5")
	v.press("N")
	v.shows("no further match above")
	v.press("n")
	v.shows("needle number 2")
	v.press("/ctrl")
	v.press("esc", "/", "ctrl+r", `number [34]$`, "enter")
	v.shows("number 3")
	v.shows("1 of 2")
	v.press("/(", "enter")
	v.shows("no regular expression")
	v.press("esc", "/", "ctrl+r", "nowhere to be found", "enter")
	v.shows("is nowhere in the log")
	v.press("/", "enter")
	v.until("no pattern", func(rows []string) bool { return !strings.Contains(rows[9], "nowhere") })
}

func TestFilter(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := 1; i <= 30_000; i++ {
		fmt.Fprintf(&b, "line %d %s\n", i, strings.Repeat("-", 60))
		if i%10_000 == 5 {
			fmt.Fprintf(&b, "error %d\n", i)
		}
	}
	f := newFake(b.String())
	v := view(t, f, 60, 8)
	v.press("&error", "enter")
	v.rows("error 5", "error 10005", "error 20005", "", "", "", "")
	v.shows(`only lines with "error"`)
	f.append("error last\nmore\n")
	v.rows("error 5", "error 10005", "error 20005", "error last", "", "", "")
	v.press("+")
	v.until("context", func(rows []string) bool {
		return strings.HasPrefix(rows[0], "error 10005") || strings.HasPrefix(rows[6], "more")
	})
	v.press("g")
	v.until("the begin", func(rows []string) bool {
		return strings.HasPrefix(rows[0], "line 5 ") && rows[1] == "error 5" && strings.HasPrefix(rows[2], "line 6 ") &&
			strings.HasPrefix(rows[3], "line 10005 ")
	})
	v.press("j")
	v.until("one further", func(rows []string) bool { return rows[0] == "error 5" && strings.HasPrefix(rows[2], "line 10005 ") })
	v.press("&", "enter")
	v.until("all lines", func(rows []string) bool { return rows[0] == "error 5" && strings.HasPrefix(rows[2], "line 7 ") })
}

func TestHostileBytesAreShownAndDoNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want string }{
		"colours":             {"a\x1b[1;31mred\x1b[mb", "aredb"},
		"nul and bell":        {"a\x00b\x07c", "a␀b␇c"},
		"tabs":                {"a\tb\tc", "a       b       c"},
		"invalid utf-8":       {"a\xffb\xc3", "a\ufffdb\ufffd"},
		"cursor":              {"a\x1b[2J\x1b[1;1Hb\x1b[5Ac", "abc"},
		"title":               {"a\x1b]0;evil\x07b", "ab"},
		"clipboard":           {"a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"},
		"open string":         {"a\x1b]0;never ends", "a␛]0;never ends"},
		"esc at the end":      {"a\x1b", "a␛"},
		"progress":            {"10%\r20%\r100%", "100%"},
		"shorter progress":    {"downloading\rdone", "doneloading"},
		"erased progress":     {"downloading\r\x1b[Kdone", "done"},
		"crlf":                {"text\r", "text"},
		"wide under progress": {"日本\ra", "a 本"},
		"del":                 {"a\x7fb", "a␡b"},
		"empty":               {"", ""},
	} {
		var got strings.Builder
		for _, c := range cellsOf([]byte(tt.in)) {
			got.WriteString(c.Text)
		}
		if got.String() != tt.want {
			t.Errorf("%s: %q is shown as %q, want %q", name, tt.in, got.String(), tt.want)
		}
	}
}

func TestTenThousandCarriageReturnsAreOneLine(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("before\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "\rprogress %5d of 10000 %s", i+1, strings.Repeat("#", 40))
	}
	b.WriteString("\nafter\n")
	v := view(t, newFake(b.String()), 80, 4)
	v.rows("before", "progress 10000 of 10000 "+strings.Repeat("#", 40), "after")
}

func TestEndlessLineIsCut(t *testing.T) {
	t.Parallel()
	f := newFake("")
	f.data = append(bytes.Repeat([]byte("0123456789"), 1<<20), "\nlast\n"...)
	v := view(t, f, 50, 4)
	v.shows("last")
	v.press("g")
	row := strings.Repeat("0123456789", 5)
	v.until("the begin", func(rows []string) bool { return rows[0] == row })
	v.press("l")
	v.shows("column 26")
	v.press("0", "w")
	v.rows(row, row, row)
	v.press("/last", "enter")
	v.shows("1 of 1")
	v.shows("last")
}

func TestWrap(t *testing.T) {
	t.Parallel()
	v := view(t, newFake("short\n"+strings.Repeat("0123456789", 5)+"\nend\n"), 20, 5)
	v.press("w")
	v.rows("01234567890123456789", "01234567890123456789", "0123456789", "end")
	v.press("k")
	v.rows("short", "01234567890123456789", "01234567890123456789", "0123456789")
	v.pane.Resize(10, 5)
	v.w = 10
	v.rows("short", "0123456789", "0123456789", "0123456789")
}

func TestWhatALimitCutOutIsOneLine(t *testing.T) {
	t.Parallel()
	f := newFake(strings.Repeat("head\n", 100_000) + strings.Repeat("cut\n", 500_000) + "xx\n" + strings.Repeat("tail\n", 100_000))
	f.cut = span{500_000, 2_500_000}
	v := view(t, f, 60, 7)
	v.press(":20%", "enter")
	v.until("the cut", func(rows []string) bool {
		return strings.Contains(rows[0], "--- 1.9 MiB were cut out here") && rows[1] == "xx"
	})
	v.press("k")
	v.until("the head", func(rows []string) bool {
		return rows[0] == "head" && strings.HasPrefix(rows[1], "---") && rows[3] == "tail"
	})
	v.press("/cut", "enter")
	v.shows("is nowhere in the log")
	v.press("/tail", "enter")
	v.shows("of 100000")
}

func TestTimes(t *testing.T) {
	t.Parallel()
	f := newFake("one\ntwo\nthree\nfour\n")
	at := time.Date(2026, 11, 30, 9, 30, 0, 0, time.UTC)
	f.marks = []sessions.LogMark{{Offset: 0, At: at}, {Offset: 8, At: at.Add(time.Hour)}}
	v := view(t, f, 40, 3)
	v.press("t")
	v.rows("10:30:00.000 three", "10:30:00.000 four")
	v.press("g")
	v.rows("09:30:00.000 one", "09:30:00.000 two")
	v.press(":10:00", "enter")
	v.rows("10:30:00.000 three", "10:30:00.000 four")
}

func TestSave(t *testing.T) {
	t.Parallel()
	text := numbered(1, 300_000)
	v := view(t, newFake(text), 80, 5)
	file := filepath.Join(t.TempDir(), "copy")
	v.press("s"+file, "enter")
	v.shows("saved")
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("the copy has %d bytes (%v), want %d", len(got), err, len(text))
	}
	v.press("s"+file, "enter")
	v.shows("cannot save")
	v.press("srelative", "enter")
	v.shows("absolute path")
}

func TestCopy(t *testing.T) {
	t.Parallel()
	v := view(t, newFake(numbered(1, 20)+"\x1b[31mred\x1b[m\ttab\n"), 60, 5)
	v.shows("red")
	copied := func(want string) {
		t.Helper()
		v.shows("copied")
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.copied != want {
			t.Errorf("copied %q, want %q", v.copied, want)
		}
	}
	v.press("y")
	copied("red     tab")
	v.press("v", "k", "k", "k", "k", "k")
	v.rows("line 16", "line 17", "line 18", "line 19")
	v.shows("y copies")
	v.press("j")
	v.press("y")
	v.shows("copied 5 lines")
	copied("line 17\nline 18\nline 19\nline 20\nred     tab")
	v.press("v")
	v.shows("y copies")
	if v.press("esc"); v.pane.HandleKey(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'k'}}) {
		t.Error("esc gave more than the selection up")
	}
	v.press("/line 3", "enter")
	v.shows("1 of 1")
	v.press("y")
	v.shows("copied line 3")
}

func TestTroubleIsShownAndPasses(t *testing.T) {
	t.Parallel()
	f := newFake(numbered(1, 10))
	f.err = errors.New("no server\x1b[2J answers")
	v := view(t, f, 60, 3)
	v.shows("no server [2J answers")
	f.mu.Lock()
	f.err = nil
	f.mu.Unlock()
	v.rows("line 9", "line 10")

	f.mu.Lock()
	f.err, f.ended = errors.New("gone for a moment"), true
	f.mu.Unlock()
	v.press("t") // lines are laid out again
	f.append("line 11\n")
	v.shows("gone for a moment")
	f.mu.Lock()
	f.err = nil
	f.mu.Unlock()
	v.press("j") // a key tries again
	v.shows("line 11")
}

func TestFloodIsFollowedWithoutLag(t *testing.T) {
	t.Parallel()
	f := newFake("")
	v := view(t, f, 80, 24)
	for i := range rounds.N(200, 1000, 10_000) {
		f.append(numbered(50*i+1, 50*i+50))
	}
	start := time.Now()
	f.append("the last one\n")
	v.shows("the last one")
	if lag := time.Since(start); rounds.Timing() && lag > 100*time.Millisecond {
		t.Errorf("the last line came %v late", lag)
	}
}

// TestLinesAreTheSameBothWays walks random logs forwards and backwards.
func TestLinesAreTheSameBothWays(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for round := range rounds.N(12, 40, 400) {
		var data []byte
		for len(data) < 300_000 {
			switch r.IntN(6) {
			case 0:
				data = append(data, bytes.Repeat([]byte("x"), r.IntN(3*blockSize))...)
			case 1:
				data = append(data, bytes.Repeat([]byte("p\r"), r.IntN(blockSize))...)
			case 2:
				data = append(data, "\n\n\n"...)
			default:
				data = append(data, bytes.Repeat([]byte("y"), r.IntN(200))...)
			}
			if r.IntN(3) > 0 {
				data = append(data, '\n')
			}
		}
		f := newFake(string(data))
		x := newText(f)
		x.size = int64(len(data))
		if round%3 == 0 {
			f.cut = span{int64(50_000 + r.IntN(50_000)), int64(150_000 + r.IntN(50_000))}
			x.gap = f.cut
		}
		var forwards []int64
		for off := int64(0); off < x.size; {
			l, err := x.lineAt(t.Context(), off)
			if err != nil || l.next <= off {
				t.Fatal(l, err)
			}
			forwards = append(forwards, off)
			off = l.next
		}
		off := x.size
		for i := len(forwards) - 1; i >= 0; i-- {
			start, err := x.startOf(t.Context(), off-1)
			if err != nil || start != forwards[i] {
				t.Fatalf("round %d: before %d begins %d, want %d (%v)", round, off, start, forwards[i], err)
			}
			off = start
		}
		if off != 0 {
			t.Fatalf("round %d: backwards ends at %d", round, off)
		}
	}
}

// TestSearchFindsEveryLine compares the search in chunks with a search of the whole.
func TestSearchFindsEveryLine(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for round := range rounds.N(1, 4, 40) {
		var data []byte
		for len(data) < 3*chunkSize+1000 {
			n := r.IntN(300)
			if r.IntN(500) == 0 {
				n = r.IntN(100_000)
			}
			line := bytes.Repeat([]byte("z"), n)
			if r.IntN(10) == 0 {
				line = append(line, "needle"...)
			}
			if r.IntN(40) == 0 {
				line = append(line, " needle needle"...)
			}
			data = append(append(data, line...), '\n')
		}
		for _, p := range []Pattern{{Text: "needle"}, {Text: "needle$", Regexp: true}, {Text: "[^a]eedle", Regexp: true}} {
			x := newText(newFake(string(data)))
			x.size = int64(len(data))
			m, err := newMatcher(x, p)
			if err != nil {
				t.Fatal(err)
			}
			var want []int64
			for off := int64(0); off < x.size; {
				l, _ := x.lineAt(t.Context(), off)
				if bytes.Contains(data[l.start:l.end], []byte("needle")) {
					want = append(want, off)
				}
				off = l.next
			}
			for !m.complete() {
				if err := m.countOne(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if m.total != int64(len(want)) {
				t.Errorf("round %d: %+v: %d lines, want %d", round, p, m.total, len(want))
			}
			budget := 0
			at := int64(0)
			for i, w := range want {
				got, state, err := m.after(t.Context(), at, &budget)
				if err != nil || state != found || got != w {
					t.Fatalf("round %d: %+v: match %d at %d (%v %v), want %d", round, p, i, got, state, err, w)
				}
				if n := m.ordinal(t.Context(), got); n != int64(i)+1 {
					t.Fatalf("round %d: match %d is called %d", round, i, n)
				}
				at = got + 1
			}
			for i := len(want) - 1; i >= 0; i-- {
				got, state, _ := m.before(t.Context(), at, &budget)
				if state != found || got != want[i] {
					t.Fatalf("round %d: backwards %d: %d, want %d", round, i, got, want[i])
				}
				at = got
			}
		}
	}
}
