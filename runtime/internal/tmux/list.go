package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/rtapi"
)

// MetaOption is the option of every terminal's session that holds its rtapi.Meta as JSON.
const MetaOption = "@corral"

// Pane is the pane of one session as tmux lists it. A program may split its window; the pane that is listed is the
// first, the one that Corral made.
type Pane struct {
	Session   string
	ID        string // %N, unique in one life of the server
	PID       int
	Cols      int // of the window
	Rows      int
	CreatedAt time.Time
	Dead      bool // tmux says so; the end is explained only when Status or Signal is set too
	Status    *int // exit code
	Signal    *int
	DeadAt    time.Time
	Piped     bool   // its output goes to a pipe
	TTY       string // path of its terminal
	Meta      string // value of MetaOption
}

// Explained reports whether the end of a dead pane is known. On tmux up to 3.5a it may be lost until Reap.
func (p Pane) Explained() bool { return p.Status != nil || p.Signal != nil }

// Listing is everything one life of the server knew at one moment.
type Listing struct {
	Server rtapi.Incarnation
	Panes  []Pane // one per session, without the hub's
}

// listFields are the fields of the listing; few, because tmux does nothing else while it makes the list. MetaOption
// comes last: it is text of ours, but nothing that follows it could be trusted if it were not.
func listFields() []string {
	return []string{
		"pid", "session_name", "pane_id", "pane_pid", "window_width", "window_height", "session_created", "pane_dead",
		"pane_dead_status", "pane_dead_signal", "pane_dead_time", "pane_pipe", "pane_tty", MetaOption,
	}
}

// List asks the server for all panes. The hub's pane is always among them, so a listing that lacks it is no listing.
func (s *Server) List(ctx context.Context) (Listing, error) {
	l, err := s.current(ctx)
	if err != nil {
		return Listing{}, err
	}
	format := "#{" + strings.Join(listFields(), "}\t#{") + "}"
	replies, err := l.run(ctx, []Command{{"list-panes", "-a", "-F", format}})
	if err != nil {
		return Listing{}, fmt.Errorf("list the terminals: %w", err)
	}
	panes, err := parseListing(replies[0].Lines, l.server.PID)
	if err != nil {
		return Listing{}, fmt.Errorf("list the terminals: %w", err)
	}
	return Listing{Server: l.server, Panes: panes}, nil
}

func parseListing(lines []string, serverPID int) ([]Pane, error) {
	var panes []Pane
	at := map[string]int{}
	complete := false
	for _, text := range lines {
		p, pid, err := parsePane(text)
		if err != nil {
			return nil, err
		}
		if pid != serverPID {
			return nil, fmt.Errorf("the answer is from another server, pid %d", pid)
		}
		if p.Session == hub {
			complete = true
			continue
		}
		i, seen := at[p.Session]
		switch {
		case !seen:
			at[p.Session] = len(panes)
			panes = append(panes, p)
		case paneNumber(p.ID) < paneNumber(panes[i].ID):
			panes[i] = p
		}
	}
	if !complete {
		return nil, fmt.Errorf("the answer is incomplete: it lacks the session %s", hub)
	}
	return panes, nil
}

func parsePane(text string) (p Pane, serverPID int, err error) {
	f := strings.SplitN(text, "\t", len(listFields()))
	if len(f) != len(listFields()) {
		return Pane{}, 0, fmt.Errorf("a line of %d fields", len(f))
	}
	number := func(s string) int {
		n, aerr := strconv.Atoi(s)
		if aerr != nil && err == nil {
			err = fmt.Errorf("%q is no number", s)
		}
		return n
	}
	optional := func(s string) *int {
		if s == "" {
			return nil
		}
		n := number(s)
		return &n
	}
	serverPID = number(f[0])
	p = Pane{
		Session: f[1], ID: f[2], PID: number(f[3]), Cols: number(f[4]), Rows: number(f[5]),
		CreatedAt: time.Unix(int64(number(f[6])), 0).UTC(),
		Dead:      f[7] == "1",
		Status:    optional(f[8]),
		Signal:    signalNumber(f[9]),
		Piped:     f[11] == "1",
		TTY:       f[12],
		Meta:      f[13],
	}
	if at := optional(f[10]); at != nil && *at > 0 {
		p.DeadAt = time.Unix(int64(*at), 0).UTC()
	}
	return p, serverPID, err
}

// signalNumber reads a signal as tmux prints it: a number, or a name where the C library has a table of names.
func signalNumber(s string) *int {
	if s == "" {
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		n = int(unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(s), "SIG")))
		if n == 0 {
			n = int(syscall.SIGKILL) // unknown: it was some signal
		}
	}
	return &n
}

func paneNumber(id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "%"))
	if err != nil {
		return 1 << 30
	}
	return n
}
