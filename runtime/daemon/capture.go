package daemon

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"corral/runtime/internal/tmux"
	"corral/runtime/rtapi"
)

// smallCapture is how many rows are captured over the control client; more cost a process of their own, so that a long
// answer does not hold up everybody's commands.
const smallCapture = 500

// Screen reads the visible screen.
func (t *terminals) Screen(ctx context.Context, id string) (rtapi.Screen, error) {
	_, _, server, err := t.inventory.find(ctx, id)
	if err != nil {
		return rtapi.Screen{}, err
	}
	// The title comes last: it is the program's, and may hold anything.
	format := "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{alternate_on} " + modesFormat() + " #{pane_title}"
	replies, err := t.tmux.RunOn(ctx, server,
		tmux.Command{"display-message", "-p", "-t", target(id), format},
		tmux.Command{"capture-pane", "-p", "-t", target(id)},
		tmux.Command{"capture-pane", "-p", "-e", "-t", target(id)},
	)
	if err != nil {
		return rtapi.Screen{}, internal(ctx, fmt.Errorf("read the screen of terminal %s: %w", id, err))
	}
	s := rtapi.Screen{
		Text: strings.Join(replies[1].Lines, "\n"),
		ANSI: graphics(strings.Join(replies[2].Lines, "\n")),
	}
	f := strings.SplitN(strings.Join(replies[0].Lines, " "), " ", 7)
	if len(f) != 7 {
		return rtapi.Screen{}, fmt.Errorf("read the screen of terminal %s: tmux described it as %q", id, f)
	}
	numbers := make([]int, 4)
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(f[i]); err != nil {
			return rtapi.Screen{}, fmt.Errorf("read the screen of terminal %s: %w", id, err)
		}
	}
	s.Cols, s.Rows, s.CursorColumn, s.CursorRow = numbers[0], numbers[1], numbers[2], numbers[3]
	s.Alternate, s.Title = f[4] == "1", f[6]
	if s.Modes, err = modesOf(f[5]); err != nil {
		return rtapi.Screen{}, fmt.Errorf("read the screen of terminal %s: %w", id, err)
	}
	return s, nil
}

// graphics makes a capture show its line drawing: tmux writes SO and SI around it, which counts on G1 being the DEC
// set. G1 is given back at the end.
func graphics(text string) string {
	if !strings.Contains(text, "\x0e") {
		return text
	}
	return "\x1b)0" + text + "\x0f\x1b)B"
}

// History reads the lines rows of history that precede the before newest ones, all of them when lines is 0. Rows that
// were wrapped softly are joined, so there may be fewer lines than rows; Total counts rows.
func (t *terminals) History(ctx context.Context, id string, lines, before int, ansi bool) (rtapi.History, error) {
	_, _, server, err := t.inventory.find(ctx, id)
	if err != nil {
		return rtapi.History{}, err
	}
	size := tmux.Command{"display-message", "-p", "-t", target(id), "#{history_size}"}
	replies, err := t.tmux.RunOn(ctx, server, size)
	if err != nil {
		return rtapi.History{}, internal(ctx, fmt.Errorf("read the history of terminal %s: %w", id, err))
	}
	total, err := strconv.Atoi(strings.Join(replies[0].Lines, ""))
	if err != nil {
		return rtapi.History{}, fmt.Errorf("read the history of terminal %s: %w", id, err)
	}
	h := rtapi.History{Lines: []string{}, Total: total}
	if before >= total {
		return h, nil // tmux would answer with a row of the screen
	}
	if lines == 0 || lines > total-before {
		lines = total - before
	}
	capture := tmux.Command{"capture-pane", "-p", "-J", "-t", target(id), "-E", strconv.Itoa(-before - 1), "-S", strconv.Itoa(-before - lines)}
	if ansi {
		capture = append(capture, "-e")
	}
	rows, err := t.capture(ctx, server, capture, lines)
	if err != nil {
		return rtapi.History{}, internal(ctx, fmt.Errorf("read the history of terminal %s: %w", id, err))
	}
	for _, r := range rows {
		if !ansi {
			r = strings.TrimRight(r, " ") // -J keeps the blanks at the end of a row
		}
		h.Lines = append(h.Lines, r)
	}
	return h, nil
}

func (t *terminals) capture(ctx context.Context, server rtapi.Incarnation, command tmux.Command, rows int) ([]string, error) {
	if rows <= smallCapture {
		replies, err := t.tmux.RunOn(ctx, server, command)
		if err != nil {
			return nil, err
		}
		return replies[0].Lines, nil
	}
	out, err := t.tmux.Output(ctx, command)
	if err != nil {
		if t.tmux.Status().Server != server {
			return nil, errors.Join(tmux.ErrDown, err)
		}
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), nil
}
