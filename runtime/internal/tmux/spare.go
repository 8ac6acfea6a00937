package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// widerCells is the version from which tmux keeps 32 bytes per cell instead of 21 (UTF8_SIZE in tmux.h).
var widerCells = version{3, 6, 0}

// Spare is a terminal of the tmux server that nobody looks at and no program reads: the hub's.
type Spare struct {
	TTY       string // path
	Version   string // of the server
	CellBytes int    // what it keeps of a character with all that is combined with it, in bytes
}

// Spare returns the spare terminal. It waits for the server.
func (s *Server) Spare(ctx context.Context) (Spare, error) {
	replies, err := s.Run(ctx, Command{"display-message", "-p", "-t", "=" + hub + ":", "#{pane_tty} #{version}"})
	if err != nil {
		return Spare{}, fmt.Errorf("find the spare terminal: %w", err)
	}
	tty, number, ok := strings.Cut(strings.Join(replies[0].Lines, ""), " ")
	if !ok || tty == "" || number == "" {
		return Spare{}, errors.New("find the spare terminal: tmux names none")
	}
	spare := Spare{TTY: tty, Version: number, CellBytes: 32}
	if parseVersion(number).before(widerCells) {
		spare.CellBytes = 21
	}
	return spare, nil
}
