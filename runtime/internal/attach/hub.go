package attach

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"corral/internal/ws"
	"corral/runtime/internal/journal"
	"corral/runtime/internal/tmux"
	"corral/sessions"
	"corral/vt"
)

// Tmux is what the viewers need of the private tmux server; *tmux.Server satisfies it.
type Tmux interface {
	// Run executes a list of commands as one atomic line.
	Run(ctx context.Context, list ...tmux.Command) ([]tmux.Reply, error)
	// AttachCommand returns the command that attaches to target in the PTY it is started in.
	AttachCommand(ctx context.Context, target string) *exec.Cmd
	// Nonce is the random word that begins this tmux server's title markers.
	Nonce() string
}

// Config is what a Hub needs.
type Config struct {
	Tmux Tmux
	// Counts is told the viewers of a terminal whenever their number changes; calls for one terminal never overlap, and
	// the last one is the truth. It must not block for long nor call the Hub. May be nil.
	Counts func(id string, attached, watching int)
	// Dir is where a big paste lies for the moment that tmux needs to read it, in a file with mode 0600; /tmp when
	// empty.
	Dir string
	// Recorder is told what is typed and shown; may be nil.
	Recorder Recorder
	// Widths returns how wide tmux shows characters, and the same as text for viewers that take something else for
	// granted. May be nil.
	Widths func(ctx context.Context) (w *vt.Widths, text string)
	Log    *slog.Logger
}

// Recorder keeps what happens to terminals.
type Recorder interface {
	// Input is told what is about to be written to the terminal id, and returns when that can be.
	Input(id string, p []byte)
	// Resized is told the size of a terminal when it has changed.
	Resized(id string, cols, rows int)
	// ModifiedKeys reports whether the program of the terminal id has asked for keys with modifiers, false when that is not
	// known.
	ModifiedKeys(ctx context.Context, id string) bool
	// Pending returns what was typed into the terminal id and may not be echoed yet, with all that was printed so far
	// looked at; its sequence is 0 when that is not known.
	Pending(ctx context.Context, id string) journal.Typed
}

// unrecorded is a Recorder that keeps nothing.
type unrecorded struct{}

func (unrecorded) Input(string, []byte)                          {}
func (unrecorded) Resized(string, int, int)                      {}
func (unrecorded) ModifiedKeys(context.Context, string) bool     { return false }
func (unrecorded) Pending(context.Context, string) journal.Typed { return journal.Typed{} }

// Hub owns all viewers of a node.
type Hub struct {
	cfg        Config
	stallLimit time.Duration // stallLimit and maxQueued, but for tests
	maxQueued  int
	wait       sync.WaitGroup // streams being served

	mu        sync.Mutex // guards what follows
	terminals map[string]*terminal
	streams   map[*viewer]struct{}
	closed    bool
}

// New returns a Hub without viewers.
func New(cfg Config) *Hub {
	if cfg.Dir == "" {
		cfg.Dir = "/tmp"
	}
	if cfg.Recorder == nil {
		cfg.Recorder = unrecorded{}
	}
	if cfg.Widths == nil {
		cfg.Widths = func(context.Context) (*vt.Widths, string) { return vt.DefaultWidths(), "" }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Hub{
		cfg: cfg, stallLimit: stallLimit, maxQueued: maxQueued,
		terminals: make(map[string]*terminal), streams: make(map[*viewer]struct{}),
	}
}

// Serve is one viewer's stream of the terminal id, from attached to the close code. It owns conn and closes it. It ends
// with code 1001 when ctx does. The error says why a stream ended that should not have; a viewer that went away is none.
func (h *Hub) Serve(ctx context.Context, conn *ws.Conn, id string, q url.Values) error {
	conn.SetReadLimit(sessions.MaxUp)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v := newViewer(h, conn, q, cancel)
	switch {
	case !validID(id):
		v.end(sessions.CloseNotFound, "no such terminal")
	case !h.join(id, v):
		v.end(sessions.CloseGoingAway, "the runtime stops")
	default:
		defer h.leave(v)
		return v.serve(ctx)
	}
	v.close()
	return nil
}

// validID reports whether id can be part of a tmux target without changing its meaning.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

func (h *Hub) join(id string, v *viewer) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	t := h.terminals[id]
	if t == nil {
		t = newTerminal(id, h.cfg)
		h.terminals[id] = t
	}
	v.enter(t, h.cfg.Log)
	t.join(v)
	h.streams[v] = struct{}{}
	h.wait.Add(1)
	return true
}

func (h *Hub) leave(v *viewer) {
	defer h.wait.Done()
	v.terminal.leave(v)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, v)
	if v.terminal.empty() {
		delete(h.terminals, v.terminal.id)
	}
}

// Exited tells the viewers of a terminal that its program has ended; code or signal is set. Their streams bring the
// last picture and an exited frame, and end with close code 1000.
func (h *Hub) Exited(id string, code, signal *int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for v := range h.streams {
		if v.terminal.id == id {
			v.exited(exit{code: code, signal: signal})
		}
	}
}

// Shutdown ends every stream with close code 1001 and waits until they have ended; when ctx ends, without further
// courtesy. The Hub serves no stream afterwards.
func (h *Hub) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	streams := slices.Collect(maps.Keys(h.streams))
	h.mu.Unlock()
	for _, v := range streams {
		if !v.end(sessions.CloseGoingAway, "the runtime stops") {
			go v.abandon() // it lingers for a viewer that does not read
		}
	}
	defer context.AfterFunc(ctx, func() {
		for _, v := range streams {
			v.abandon()
		}
	})()
	h.wait.Wait()
	return ctx.Err()
}

// pasteBuffer pastes text into a terminal through a buffer of tmux: thousands of times cheaper than as keys. The text
// goes there by way of a file, because commands are too short for it.
func (h *Hub) pasteBuffer(ctx context.Context, t *terminal, text []byte) (err error) {
	f, err := os.CreateTemp(h.cfg.Dir, "corral-paste-*")
	if err != nil {
		return fmt.Errorf("paste into terminal %s: %w", t.id, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("paste into terminal %s: %w", t.id, err)
	}
	name := filepath.Base(f.Name())
	path := strings.ReplaceAll(f.Name(), "#", "##") // the path is a format
	h.cfg.Recorder.Input(t.id, text)
	// -d forgets the buffer, -r keeps line feeds, -p brackets if the program asked for it.
	replies, err := h.cfg.Tmux.Run(ctx,
		tmux.Command{"load-buffer", "-b", name, path},
		tmux.Command{"paste-buffer", "-d", "-r", "-p", "-b", name, "-t", t.pane()})
	if err := refusal(replies, err); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tmuxDeadline)
		defer cancel()
		// Refused when the buffer is not there, which is what is wanted.
		_, _ = h.cfg.Tmux.Run(ctx, tmux.Command{"delete-buffer", "-b", name})
		return fmt.Errorf("paste into terminal %s: %w", t.id, err)
	}
	return nil
}
