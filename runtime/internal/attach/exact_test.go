package attach

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"corral/e2e/rounds"
	"corral/sessions"
	"corral/vt"
)

// printer prints numbered lines: per a second, or as fast as it can for 0.
func printer(perSecond int) string {
	if perSecond == 0 {
		return `exec awk 'BEGIN { for (i = 1; ; i++) print "line " i }'`
	}
	return fmt.Sprintf(`i=1; while :; do awk -v from=$i -v n=%d 'BEGIN { for (j = 0; j < n; j++) print "line " from + j }'; i=$((i + %d)); sleep 0.01; done`,
		perSecond/100, perSecond/100)
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// numbers are the numbers of the lines in text, which must all be whole.
func numbers(t *testing.T, text string) []int {
	t.Helper()
	var list []int
	for line := range strings.Lines(sgr.ReplaceAllString(text, "")) {
		line = strings.TrimRight(line, "\r\n ")
		if line == "" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimPrefix(line, "line "))
		if err != nil {
			t.Errorf("%q is no numbered line", line)
			return nil
		}
		list = append(list, n)
	}
	return list
}

// consecutive reports where list does not count up by one.
func consecutive(list []int) error {
	for i := 1; i < len(list); i++ {
		if list[i] != list[i-1]+1 {
			return fmt.Errorf("%d is followed by %d", list[i-1], list[i])
		}
	}
	return nil
}

// history and screen of a fresh attach together, as numbered lines.
func (v *viewing) everything(t *testing.T) []int {
	t.Helper()
	restore := v.last(sessions.FrameRestore)
	v.mu.Lock()
	replay, cols, rows := string(v.replay), v.size.Cols, v.size.Rows
	v.mu.Unlock()
	screen := vt.New(cols, rows)
	_, _ = screen.Write([]byte(restore.ScreenText))
	lines := frameRows(screen.Frame())
	lines = lines[:*restore.CursorRow] // the cursor's line is still being printed
	return append(numbers(t, replay), numbers(t, strings.Join(lines, "\n"))...)
}

func TestEveryLineOnceOnAFreshAttach(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `awk 'BEGIN { for (i = 1; i <= 300; i++) print "line " i }'; exec cat`)
	until(t, "300 lines", func() bool { return b.ask(t, "a", "#{history_size}") == "277" })
	for range rounds.N(5, 20, 100) {
		v := b.view(t, "a", "mode", "pane", "replay", "1000")
		v.live(1)
		got := v.everything(t)
		if len(got) != 300 || got[0] != 1 || consecutive(got) != nil {
			t.Fatalf("%d lines from %v: %v", len(got), got[:min(len(got), 1)], consecutive(got))
		}
		if f := v.last(sessions.FrameReplay); f.Lines != 277 || f.Truncated || f.Bytes != len(v.replay) {
			t.Errorf("replay frame %+v", f)
		}
	}
}

func TestEveryLineOnceWhileTheProgramPrints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		rate          int
		cols, rows    int
		limit, replay int
	}{
		{"10000 a second", 10000, 80, 24, 22300, 2000},
		{"flat out, all of it", 0, 120, 40, 22300, 20000},
		{"flat out, trimmed all the time", 0, 80, 24, 2000, 2000},
		{"flat out, some of it", 0, 40, 10, 22300, 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t, withHistory(test.limit))
			b.start(t, "a", test.cols, test.rows, printer(test.rate))
			until(t, "output", func() bool { n, _ := strconv.Atoi(b.ask(t, "a", "#{history_size}")); return n > 1000 })
			none := 0
			for range rounds.N(3, 10, 100) {
				v := b.view(t, "a", "mode", "pane", "replay", strconv.Itoa(test.replay))
				v.live(1)
				got := v.everything(t)
				if err := consecutive(got); err != nil {
					t.Errorf("%d lines: %v", len(got), err)
				}
				if v.last(sessions.FrameReplay).Lines == 0 {
					none++
				}
				_ = v.conn.CloseNow()
			}
			if none > 0 {
				t.Errorf("%d attaches brought no history", none)
			}
		})
	}
}

func TestScreenIsTmuxsAfterOutput(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `exec sh`)
	v := b.view(t, "a", "mode", "pane", "replay", "100")
	v.live(1)
	for i := range rounds.N(5, 20, 100) {
		end := fmt.Sprintf("end-%d", i)
		v.typeKeys(fmt.Sprintf("clear; seq %d %d; printf '\\033[1;31mred\\033[0m äöü %s\\n'\r", i, i+500*(i%3), end))
		v.shows("äöü " + end)
		v.wait("tmux's screen", func() bool { return v.textLocked() == b.capture(t, "a") })
	}
}

func TestResyncBringsHistoryAndScreenAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, printer(10000))
	v := b.view(t, "a", "mode", "preview")
	v.live(1)
	for i := range rounds.N(3, 10, 100) {
		v.send(sessions.Frame{Type: sessions.FrameResync, Lines: 3000})
		v.live(i + 2)
		if f := v.last(sessions.FrameReplay); f.Lines == 0 {
			t.Fatalf("no history: %+v", f)
		}
		if err := consecutive(v.everything(t)); err != nil {
			t.Error(err)
		}
	}
}

func TestReplayIsCapped(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	// Lines of 1000 bytes: 2 MiB are fewer than were asked for.
	b.start(t, "a", 1000, 5, `awk 'BEGIN { for (i = 1; i <= 5000; i++) printf "\033[%dm%06d%0993d\n", 31 + i % 6, i, 0 }'; exec cat`)
	until(t, "output", func() bool { return b.ask(t, "a", "#{history_size}") == "4996" })
	v := b.view(t, "a", "mode", "pane", "replay", "100000")
	v.live(1)
	f := v.last(sessions.FrameReplay)
	if !f.Truncated || f.Bytes > maxReplayBytes+100 || f.Lines < 2000 || f.Lines > 2100 {
		t.Errorf("replay frame %+v", f)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	first := 4996 - f.Lines + 1
	// The pen that the lines left out leave behind, then the line.
	if want := fmt.Sprintf("\x1b[%dm\x1b[%dm%06d", 31+(first-1)%6, 31+first%6, first); !strings.HasPrefix(string(v.replay), want) {
		t.Errorf("the replay begins with %q, want %q", v.replay[:20], want)
	}
	if v.longest > sessions.MaxDown {
		t.Errorf("a message of %d bytes", v.longest)
	}
}
