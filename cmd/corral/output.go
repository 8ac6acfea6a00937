package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"corral/sessions"
)

// printJSON prints one JSON value, indented for people who look at it.
func (p *program) printJSON(v any) error {
	e := json.NewEncoder(p.stdout)
	e.SetEscapeHTML(false)
	if term.IsTerminal(p.stdout.Fd()) {
		e.SetIndent("", "  ")
	}
	return e.Encode(v)
}

// printLine prints one JSON value on a line of its own; for streams.
func (p *program) printLine(v any) error {
	e := json.NewEncoder(p.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// say prints a line for people, or v for programs.
func (p *program) say(v any, format string, args ...any) error {
	if p.json {
		return p.printJSON(v)
	}
	_, err := fmt.Fprintf(p.stdout, format+"\n", args...)
	return err
}

// width is how many columns the output has; 0 when it is no terminal.
func (p *program) width() int {
	cols, _, err := term.GetSize(p.stdout.Fd())
	if err != nil {
		return 0
	}
	return cols
}

// column is one column of a table. The columns that may shrink give way, the widest first, when the table is too wide.
type column struct {
	title string
	least int  // the width to which it may shrink; 0: it keeps its width
	tail  bool // what does not fit is cut at the front, as of a path
}

const gap = 2 // blanks between two columns

// printTable prints rows under their titles, at most width columns wide; 0 means as wide as need be.
func printTable(w io.Writer, columns []column, rows [][]string, width int) error {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = ansi.StringWidth(c.title)
		for _, r := range rows {
			widths[i] = max(widths[i], ansi.StringWidth(r[i]))
		}
	}
	if width > 0 {
		shrink(columns, widths, width)
	}
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.title
	}
	for _, r := range append([][]string{titles}, rows...) {
		var b strings.Builder
		for i, cell := range r {
			cell = fit(cell, widths[i], columns[i].tail)
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+gap))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func shrink(columns []column, widths []int, width int) {
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > width; total-- {
		widest := -1
		for i, c := range columns {
			if c.least > 0 && widths[i] > c.least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func fit(s string, width int, tail bool) string {
	if ansi.StringWidth(s) <= width {
		return s
	}
	if tail {
		return ansi.TruncateLeft(s, ansi.StringWidth(s)-width+1, "…")
	}
	return ansi.Truncate(s, width, "…")
}

// age says how long ago t was, in the largest unit that fits.
func age(now, t time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// stateWord is the state with the code that explains it, as FAILED 7.
func stateWord(s sessions.Session) string {
	if s.State == sessions.Failed && s.ExitCode != nil {
		return fmt.Sprintf("%s %d", s.State, *s.ExitCode)
	}
	return string(s.State)
}

// printable keeps of a line its text and, where colours are wanted, its colours. Whatever else a program managed to get
// into its screen must not reach the terminal of whoever looks at it.
func printable(line string, colours bool) string {
	line = strings.ToValidUTF8(line, "\ufffd") // a broken character must not take a control character along
	var b strings.Builder
	var state byte
	parser := ansi.NewParser()
	for len(line) > 0 {
		seq, width, n, next := ansi.DecodeSequence(line, state, parser)
		sgr := strings.HasPrefix(seq, "\x1b[") && len(seq) > 2 && parser.Command() == 'm' // no private or intermediate bytes
		if width > 0 || seq == "\t" || colours && sgr {
			b.WriteString(seq)
		}
		state, line = next, line[n:]
	}
	return b.String()
}
