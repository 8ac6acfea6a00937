package attach

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/tmux"
)

// tmuxDeadline bounds every exchange with tmux: a command, or an attach up to its first picture.
const tmuxDeadline = 10 * time.Second

// errGone says that tmux, which answers, does not know the terminal.
var errGone = errors.New("no such terminal")

// terminal is one tmux session and those who view it.
//
// Three locks: geometry is held over commands to tmux by whoever changes the window's size or takes a picture of it;
// counting over the announcement of counts; mu guards the fields and is never held over anything that waits. They are
// taken in this order.
type terminal struct {
	id     string
	tmux   Tmux
	record Recorder
	counts func(id string, attached, watching int)

	geometry chan struct{} // a lock that one can stop waiting for
	counting sync.Mutex    // keeps announcements of counts in order; guards counted
	counted  [2]int        // attached and watching as last announced

	mu         sync.Mutex // guards what follows
	viewers    map[*viewer]struct{}
	owner      *viewer // sets the size; nil when it left
	cols, rows int     // of the window as last announced, 0 before
	told       *viewer // the owner as last announced
}

func newTerminal(id string, cfg Config) *terminal {
	return &terminal{
		id: id, tmux: cfg.Tmux, record: cfg.Recorder, counts: cfg.Counts,
		geometry: make(chan struct{}, 1),
		viewers:  make(map[*viewer]struct{}),
	}
}

// session and pane are the targets of tmux commands: exactly this session, and its active pane.
func (t *terminal) session() string { return "=cr-" + t.id }
func (t *terminal) pane() string    { return t.session() + ":" }

// lockGeometry waits for the geometry lock.
func (t *terminal) lockGeometry(ctx context.Context) (unlock func(), err error) {
	select {
	case t.geometry <- struct{}{}:
		return sync.OnceFunc(func() { <-t.geometry }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// window is what tmux says of a terminal.
type window struct {
	cols, rows   int
	historyLimit int
	ended        *exit // the program has ended
	titles       string
}

// exit is how a program ended.
type exit struct{ code, signal *int }

// windowFormat: set-titles-string comes last because it may hold anything.
const windowFormat = "#{window_width};#{window_height};#{history_limit};#{pane_dead};#{pane_dead_status};#{pane_dead_signal};#{set-titles-string}"

// probe asks tmux about the terminal; errGone when it does not exist.
func (t *terminal) probe(ctx context.Context) (window, error) {
	replies, err := t.tmux.Run(ctx,
		tmux.Command{"has-session", "-t", t.session()}, // display-message does not fail without a target
		tmux.Command{"display-message", "-p", "-t", t.pane(), windowFormat})
	if err := refusal(replies, err); err != nil {
		return window{}, fmt.Errorf("look at terminal %s: %w", t.id, err)
	}
	if len(replies) != 2 || len(replies[1].Lines) == 0 {
		return window{}, fmt.Errorf("look at terminal %s: tmux answered nothing", t.id)
	}
	w, err := parseWindow(replies[1].Lines[0])
	if err != nil {
		return window{}, fmt.Errorf("look at terminal %s: %w", t.id, err)
	}
	return w, nil
}

// refusal turns tmux's words for a session that does not exist into errGone.
func refusal(replies []tmux.Reply, err error) error {
	for _, r := range replies {
		if err == nil {
			err = r.Err
		}
	}
	var refused *tmux.Error
	if errors.As(err, &refused) && strings.HasPrefix(refused.Message, "can't find") {
		return errGone
	}
	return err
}

func parseWindow(line string) (window, error) {
	f := strings.SplitN(line, ";", 7)
	if len(f) != 7 {
		return window{}, fmt.Errorf("tmux described a window as %q", line)
	}
	var w window
	ok := true
	w.cols, ok = number(f[0], ok)
	w.rows, ok = number(f[1], ok)
	w.historyLimit, ok = number(f[2], ok)
	if !ok {
		return window{}, fmt.Errorf("tmux described a window as %q", line)
	}
	// A pane that is dead without a reason is waiting for its exit status; the end is announced when that is known.
	if f[3] == "1" && f[4]+f[5] != "" {
		w.ended = &exit{}
		if code, err := strconv.Atoi(f[4]); err == nil {
			w.ended.code = &code
		}
		if sig := signalNumber(f[5]); sig != 0 {
			w.ended.signal = &sig
		}
	}
	w.titles = f[6]
	return w, nil
}

// signalNumber reads a signal as tmux writes it: a number, or a name where the C library knows names.
func signalNumber(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return int(unix.SignalNum("SIG" + s))
}

// settle brings the window to its owner's size, tells every viewer, and only then changes the PTYs: an emulator that is
// resized after the bytes for the new size have come keeps wrong cells. It is called with the geometry lock held.
func (t *terminal) settle(ctx context.Context) (window, error) {
	ctx, cancel := context.WithTimeout(ctx, tmuxDeadline)
	defer cancel()
	w, err := t.probe(ctx)
	if err != nil {
		return w, err
	}
	cols, rows := t.wanted(w)
	if cols != w.cols || rows != w.rows {
		replies, err := t.tmux.Run(ctx, tmux.Command{"resize-window", "-t", t.pane(), "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows)})
		if err := refusal(replies, err); err != nil {
			return w, fmt.Errorf("resize terminal %s: %w", t.id, err)
		}
		w.cols, w.rows = cols, rows
	}
	t.announceSize(w.cols, w.rows)
	return w, nil
}

// wanted is the size the window should have: the owner's, else what it is.
func (t *terminal) wanted(w window) (cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.owner; o != nil && w.ended == nil && o.cols > 0 && o.rows > 0 {
		return o.cols, o.rows
	}
	return w.cols, w.rows
}

// announceSize tells every viewer that has a picture the size and who owns it, if that has changed.
func (t *terminal) announceSize(cols, rows int) {
	t.mu.Lock()
	resized := cols != t.cols || rows != t.rows
	changed := resized || t.owner != t.told
	t.cols, t.rows, t.told = cols, rows, t.owner
	owner, viewers := t.owner, t.listLocked()
	t.mu.Unlock()
	if !changed {
		return
	}
	for _, v := range viewers {
		v.sizeChanged(cols, rows, v == owner)
	}
	if resized {
		t.record.Resized(t.id, cols, rows)
		for _, v := range viewers {
			v.resizePTY(cols, rows)
		}
	}
}

func (t *terminal) listLocked() []*viewer {
	list := make([]*viewer, 0, len(t.viewers))
	for v := range t.viewers {
		list = append(list, v)
	}
	return list
}

// join adds a viewer; it counts once it appears.
func (t *terminal) join(v *viewer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.viewers[v] = struct{}{}
}

// leave removes a viewer.
func (t *terminal) leave(v *viewer) {
	t.mu.Lock()
	delete(t.viewers, v)
	if t.owner == v {
		t.owner = nil
	}
	t.mu.Unlock()
	t.announceCounts()
}

// owns reports whether v owns the size.
func (t *terminal) owns(v *viewer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owner == v
}

// size is the window's size as last announced.
func (t *terminal) size() (cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cols, t.rows
}

// wantedRows is the height of v's own pane.
func (t *terminal) wantedRows(v *viewer) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return v.rows
}

// marked makes sure that every redraw begins with a marker and ends with the end of a synchronized update, and returns
// the word that begins the markers.
func (t *terminal) marked(ctx context.Context, w window) (nonce string, err error) {
	nonce = t.tmux.Nonce()
	format := markerFormat(nonce)
	if nonce == "" {
		return "", fmt.Errorf("mark the redraws of terminal %s: the tmux server was never reached", t.id)
	}
	if w.titles == format {
		return nonce, nil
	}
	replies, err := t.tmux.Run(ctx,
		// An entry of its own: an unknown name among others makes tmux 3.3 ignore the rest of them.
		tmux.Command{"set-option", "-s", "terminal-features[60]", "*:sync"},
		tmux.Command{"set-option", "-g", "set-titles", "on"},
		tmux.Command{"set-option", "-g", "set-titles-string", format})
	if err := refusal(replies, err); err != nil {
		return "", fmt.Errorf("mark the redraws of terminal %s: %w", t.id, err)
	}
	return nonce, nil
}

func (t *terminal) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.viewers) == 0
}
