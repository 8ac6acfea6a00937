package attach

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"corral/runtime/internal/tmux"
)

const (
	maxReplayLines = 20000
	maxReplayBytes = 2 << 20

	// replaySlack is how many rows more than wanted are captured from a pane that prints, because so many may have been
	// added since the marker.
	replaySlack = 4000
)

// history is what a viewer gets of the rows above the screen.
type history struct {
	bytes     []byte // lines, each with CR LF, the pen default before and after
	lines     int
	truncated bool // older lines exist
}

// captured is a capture of a pane, made some time after a marker.
type captured struct {
	size int      // of the history at the time of the capture
	rows []string // the newest rows of the history and, unless joined, the screen below them
}

// history gets up to want lines of the rows that were above the screen when m was written: each once, none missing.
// shown waits for the picture behind m, as rows of text. ok is false when that could not be proved, which takes a
// program that prints as fast as it can into a full history; another marker may have better luck.
func (t *terminal) history(
	ctx context.Context, m marker, limit, want int, shown func() ([]string, error),
) (h history, ok bool, err error) {
	want = min(want, maxReplayLines)
	if want <= 0 || m.history == 0 {
		return history{truncated: m.history > 0}, true, nil
	}
	quiet, visible, err := t.captureQuiet(ctx, want)
	if err != nil {
		return history{}, false, err
	}
	rows, err := shown()
	if err != nil {
		return history{}, false, err
	}
	if quiet.size == m.history && (m.history < trimmed(limit) || sameRows(rows, visible)) {
		return compose(quiet.rows, 0, m.history > want), true, nil
	}
	for _, depth := range []int{want + replaySlack, 0} {
		busy, err := t.capture(ctx, depth, m.rows)
		if err != nil {
			return history{}, false, err
		}
		first := busy.size + m.rows - len(busy.rows) // number of the first row captured, from the top of the history
		// Unmoved all the while: not trimmed either.
		still := busy.size == m.history && quiet.size == m.history
		end, ok := m.history, still
		if !ok {
			end, ok = boundary(busy, first, m.history, limit, rows)
		}
		start := max(0, end-want)
		if ok && start >= first {
			return compose(busy.rows[:end-first], start-first, start > 0), true, nil
		}
	}
	return history{}, false, nil
}

// trimmed is the least size of a history that tmux has ever trimmed: it takes a tenth of the limit off the top of a full
// one (grid.c: grid_collect_history). Below it, equal numbers mean equal rows.
func trimmed(limit int) int { return limit - max(1, limit/10) }

// boundary finds the row of a capture, whose first row has the number first, that was the top of the screen when the
// history had this size.
func boundary(c captured, first, size, limit int, shown []string) (row int, ok bool) {
	if c.size >= size && c.size < trimmed(limit) {
		return size, true
	}
	for row := size; row >= first && row >= 0; row -= max(1, limit/10) {
		if follows(c.rows, row-first, shown) {
			return row, true
		}
	}
	// The program has cleared its history: nothing of it is left.
	return 0, first == 0 && c.size < size && c.size < trimmed(limit)
}

// follows reports whether the rows from at on are what was shown. The program may have drawn over a few of them, so most are
// enough; what says nothing (blank rows, none at all) is no proof.
func follows(rows []string, at int, shown []string) bool {
	same, told := 0, 0
	for i, want := range shown {
		if at+i >= len(rows) {
			break
		}
		if want == "" {
			continue
		}
		told++
		if plainText(rows[at+i]) == want {
			same++
		}
	}
	return told > 0 && same*2 > told
}

func sameRows(a, b []string) bool {
	for i := range max(len(a), len(b)) {
		if rowAt(a, i) != plainText(rowAt(b, i)) {
			return false
		}
	}
	return true
}

func rowAt(rows []string, i int) string {
	if i < len(rows) {
		return rows[i]
	}
	return ""
}

// plainText is a captured row without its escape sequences and trailing blanks.
func plainText(row string) string {
	if strings.IndexByte(row, esc) >= 0 {
		var out []byte
		for p := []byte(row); len(p) > 0; {
			k, n := scan(p)
			if k == incomplete {
				break
			}
			if k == plain {
				out = append(out, p[:n]...)
			}
			p = p[n:]
		}
		row = string(out)
	}
	return strings.TrimRight(row, " ")
}

// captureQuiet gets the last want rows of the history, with rows that were wrapped joined into lines, and the screen.
func (t *terminal) captureQuiet(ctx context.Context, want int) (c captured, screen []string, err error) {
	replies, err := t.tmux.Run(ctx,
		tmux.Command{"display-message", "-p", "-t", t.pane(), "#{history_size}"},
		tmux.Command{"capture-pane", "-p", "-e", "-J", "-t", t.pane(), "-S", strconv.Itoa(-want), "-E", "-1"},
		tmux.Command{"capture-pane", "-p", "-t", t.pane()})
	if c, err = t.parseCapture(replies, 3, err); err != nil {
		return captured{}, nil, err
	}
	return c, replies[2].Lines, nil
}

// capture gets the last depth rows of the history, all of them for 0, and the rows of the screen.
func (t *terminal) capture(ctx context.Context, depth, screen int) (captured, error) {
	start := "-"
	if depth > 0 {
		start = strconv.Itoa(-depth)
	}
	replies, err := t.tmux.Run(ctx,
		tmux.Command{"display-message", "-p", "-t", t.pane(), "#{history_size}"},
		tmux.Command{"capture-pane", "-p", "-e", "-t", t.pane(), "-S", start, "-E", strconv.Itoa(screen - 1)})
	return t.parseCapture(replies, 2, err)
}

func (t *terminal) parseCapture(replies []tmux.Reply, n int, err error) (captured, error) {
	if err := refusal(replies, err); err != nil {
		return captured{}, fmt.Errorf("capture terminal %s: %w", t.id, err)
	}
	if len(replies) != n || len(replies[0].Lines) == 0 {
		return captured{}, fmt.Errorf("capture terminal %s: tmux answered nothing", t.id)
	}
	size, ok := number(replies[0].Lines[0], true)
	if !ok {
		return captured{}, fmt.Errorf("capture terminal %s: the history's size is %q", t.id, replies[0].Lines[0])
	}
	return captured{size: size, rows: replies[1].Lines}, nil
}

// compose makes a replay of lines[from:], less the oldest of them if they are too long. The rendition carries over from
// line to line, so the lines left out decide how the first one begins.
func compose(lines []string, from int, truncated bool) history {
	lines = drawn(lines)
	size, start := 0, len(lines)
	for start > from && size+len(lines[start-1])+2 <= maxReplayBytes {
		start--
		size += len(lines[start]) + 2
	}
	var carried pen
	for _, line := range lines[:start] {
		carried.write([]byte(line))
	}
	var out bytes.Buffer
	out.Grow(size + 64)
	out.Write(carried.sequence())
	for _, line := range lines[start:] {
		out.WriteString(line)
		out.WriteString("\r\n")
	}
	out.WriteString("\x1b[0m")
	return history{bytes: out.Bytes(), lines: len(lines) - start, truncated: truncated || start > from}
}

// capture-pane writes line drawing as letters between shift out and shift in, in DEC's special graphics set, which is
// this from '`' on.
const (
	so       = 0x0e
	si       = 0x0f
	graphics = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"
)

// drawn returns captured lines with line drawing as what it looks like, so that nobody needs to know of shifts.
func drawn(lines []string) []string {
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.IndexByte(l, so) >= 0 }) {
		return lines
	}
	set := []rune(graphics)
	out := make([]string, len(lines))
	shifted := false
	for i, line := range lines {
		var b strings.Builder
		for p := []byte(line); len(p) > 0; {
			k, n := scan(p)
			n = max(n, 1)
			if k != plain {
				b.Write(p[:n])
			} else {
				shifted = draw(&b, string(p[:n]), set, shifted)
			}
			p = p[n:]
		}
		out[i] = b.String()
	}
	return out
}

func draw(b *strings.Builder, text string, set []rune, shifted bool) bool {
	for _, r := range text {
		switch {
		case r == so, r == si:
			shifted = r == so
		case shifted && r >= '`' && r <= '~':
			b.WriteRune(set[r-'`'])
		default:
			b.WriteRune(r)
		}
	}
	return shifted
}
