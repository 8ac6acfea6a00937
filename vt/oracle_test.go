package vt_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"corral/e2e/rounds"
	"corral/vt"
)

// oracleCase is one recording of what a program prints. testdata/cases/cases.tsv lists them: name, columns, rows, what
// it shows.
type oracleCase struct {
	name       string
	cols, rows int
	data       []byte
}

func oracleCases(t testing.TB) []oracleCase {
	t.Helper()
	f, err := os.Open("testdata/cases/cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []oracleCase
	for s := bufio.NewScanner(f); s.Scan(); {
		var c oracleCase
		if _, err := fmt.Sscanf(s.Text(), "%s\t%d\t%d\t", &c.name, &c.cols, &c.rows); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		if c.data, err = os.ReadFile(filepath.Join("testdata/cases", c.name+".bin")); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// Cases in which tmux 3.3a contradicts itself: what it draws is not what it captures.
var (
	// liveDiffers holds those that a redraw repairs. They depend on how tmux cuts its input, too.
	liveDiffers = map[string]string{
		"ich-dch-ech":     "ICH past the end of a line: the grid keeps text that the client is told to erase",
		"wide-half-right": "the grid keeps the left half of a wide character whole, the client blanks it",
		"wide-backspace":  "as wide-half-right",
		"wide-erase-left": "as wide-dch",
		"wide-dch":        "half a wide character is left in the grid, blank on the client",
		"wide-ich":        "as wide-dch",
		"wide-ech":        "as wide-dch",
	}
	// redrawDiffers holds those that differ even then.
	redrawDiffers = map[string]string{
		"sgr-underline": "a palette colour of an underline reaches clients as RGB",
		"osc-other":     "colours that the program redefined reach clients as RGB",
	}
)

// TestScreenAgreesWithTmux sends each case through a real tmux: what its client printed, as this package sees it, must
// be what tmux says the screen is, as printed live and again after a full redraw.
func TestScreenAgreesWithTmux(t *testing.T) {
	t.Parallel()
	server := startTmux(t)
	bySize := map[[2]int][]oracleCase{}
	for _, c := range oracleCases(t) {
		size := [2]int{c.cols, c.rows}
		bySize[size] = append(bySize[size], c)
	}
	// A client for each size shows one case after the other: to start one takes longer than a case. Most of the time goes
	// into waiting for tmux.
	for size, cases := range bySize {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := server.attach(t, name, "exec sleep 1000", size[0], size[1])
			program := server.openPane(t, name)
			client.settle(t)
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) { testAgreement(t, client, program, c) })
			}
		})
	}
}

func testAgreement(t *testing.T, client *tmuxClient, program *pane, c oracleCase) {
	t.Helper()
	from := client.clear(t, program)
	program.print(t, c.data)
	want := client.state(t)
	known := redrawDiffers[c.name]

	screen := vt.New(c.cols, c.rows)
	fed := from
	if known == "" && liveDiffers[c.name] == "" {
		var d string
		if d, fed = client.agree(t, screen, fed, want); d != "" {
			t.Errorf("live: %s", d)
		}
	}
	printed, title := client.redraw(t)
	screen.Write(printed[fed:])
	switch d := differ(screen.Frame(), want); {
	case d != "" && known == "":
		t.Errorf("after a redraw: %s", d)
	case d == "" && known != "":
		t.Errorf("agrees with tmux now, although %s", known)
	}
	if got, want := screen.Frame().Title, title+";"+vt.Sanitize(want.title); got != want {
		t.Errorf("title %q, want %q", got, want)
	}
	testSplits(t, printed[from:], c.cols, c.rows, rounds.N(4, 16, 64))
}

// settle waits until the client has drawn for the first time.
func (c *tmuxClient) settle(t *testing.T) {
	t.Helper()
	// The client draws when it attaches, and again when its size is known. Either ends a synchronized update.
	c.until(t, "second drawing", func(got []byte) int {
		if bytes.Count(got, []byte("\x1bP=2s\x1b\\")) < 2 {
			return -1
		}
		return len(got)
	})
}

// clear makes the pane as a new one: main screen, nothing on it, nothing set, no title. It returns how much the client
// printed before it drew that.
func (c *tmuxClient) clear(t *testing.T, program *pane) (from int) {
	t.Helper()
	program.print(t, []byte("\x18\x1b[?1049l\x1bc\x1b]2;\x07\x1b]104\x07\x1b]110\x07\x1b]111\x07\x1b]112\x07"))
	from = len(c.mark(t))
	c.redraw(t)
	return from
}

// testSplits checks that a stream means the same however it is cut: in two at some offsets, and between all bytes.
func testSplits(t *testing.T, data []byte, cols, rows, offsets int) {
	t.Helper()
	whole := vt.New(cols, rows)
	whole.Write(data)
	want := whole.Frame()
	step := max(1, len(data)/offsets)
	for at := 1; at < len(data); at += step {
		s := vt.New(cols, rows)
		s.Write(data[:at])
		s.Frame()
		s.Write(data[at:])
		if d := differFrames(s.Frame(), want); d != "" {
			t.Fatalf("cut at byte %d: %s", at, d)
		}
	}
	bytewise := vt.New(cols, rows)
	for i := range data {
		bytewise.Write(data[i : i+1])
	}
	if d := differFrames(bytewise.Frame(), want); d != "" {
		t.Fatalf("byte by byte: %s", d)
	}
}

// differ says how a frame differs from what tmux says, "" if it does not.
func differ(f *vt.Frame, want tmuxState) string {
	captured := vt.ParseCapture(want.capture)
	for y := range f.Rows {
		var row []vt.Cell
		if y < len(captured) {
			row = captured[y]
		}
		if d := differRow(f.Row(y), row); d != "" {
			return fmt.Sprintf("row %d: %s\ngot  %q\nwant %q", y, d, textOf(f.Row(y)), textOf(row))
		}
	}
	// tmux keeps the column after the last for a pending wrap.
	if got, want := [2]int{f.Cursor.Col, f.Cursor.Row}, [2]int{min(want.col, f.Cols-1), want.row}; got != want {
		return fmt.Sprintf("cursor at %d, want %d", got, want)
	}
	if f.Cursor.Visible != want.visible {
		return fmt.Sprintf("cursor visible: %v, want %v", f.Cursor.Visible, want.visible)
	}
	return ""
}

// differRow compares a row with a captured one. A capture does not tell hyperlinks, nor the background behind the last
// cell that was written.
func differRow(got, want []vt.Cell) string {
	for x, c := range got {
		if x >= len(want) {
			if c.Text != " " {
				return fmt.Sprintf("column %d: %q, want nothing", x, c.Text)
			}
			continue
		}
		c.Style.Link = 0
		if c != want[x] {
			return fmt.Sprintf("column %d: %+v, want %+v", x, c, want[x])
		}
	}
	return ""
}

// differFrames compares two frames of one size.
func differFrames(got, want *vt.Frame) string {
	for y := range want.Rows {
		for x, c := range got.Row(y) {
			w := want.Row(y)[x]
			if got.Link(c.Style.Link) != want.Link(w.Style.Link) {
				return fmt.Sprintf("row %d, column %d: link %q, want %q", y, x, got.Link(c.Style.Link), want.Link(w.Style.Link))
			}
			c.Style.Link, w.Style.Link = 0, 0
			if c != w {
				return fmt.Sprintf("row %d, column %d: %+v, want %+v", y, x, c, w)
			}
		}
	}
	if got.Cursor != want.Cursor || got.Modes != want.Modes || got.Title != want.Title {
		return fmt.Sprintf("%+v %+v %q, want %+v %+v %q", got.Cursor, got.Modes, got.Title, want.Cursor, want.Modes, want.Title)
	}
	return ""
}

func textOf(cells []vt.Cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.Text)
	}
	return b.String()
}
