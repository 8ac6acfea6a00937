// Package widths finds out how many columns this node's tmux gives to the characters about which programs disagree. tmux
// decides that by a table of its own or by the C library's, and whoever shows its screens must agree with it, or rows
// shift. It is measured once per version of tmux, in a terminal that nobody sees, and kept in the data directory.
package widths

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"

	"corral/runtime/internal/tmux"
	"corral/vt"
)

const (
	// measureTime bounds the measurement, which takes some 20 ms.
	measureTime = 10 * time.Second
	// patience is how long a viewer waits for it.
	patience = 500 * time.Millisecond
)

// Tmux is the part of the tmux server that is needed; *tmux.Server satisfies it.
type Tmux interface {
	Spare(ctx context.Context) (tmux.Spare, error)
}

// Table says how wide characters are.
type Table struct {
	Widths *vt.Widths
	Text   string // what vt.LoadWidths reads; "" where it would say what vt.DefaultWidths does
}

// Keeper holds the table of a node.
type Keeper struct {
	tmux  Tmux
	dir   string
	log   *slog.Logger
	known chan struct{} // closed when table is set for good
	table atomic.Pointer[Table]
}

// New returns a Keeper that has its files in dir. Until Run knows better it holds what vt takes for granted.
func New(t Tmux, dir string, log *slog.Logger) *Keeper {
	k := &Keeper{tmux: t, dir: dir, log: log, known: make(chan struct{})}
	k.table.Store(&Table{Widths: vt.DefaultWidths()})
	return k
}

// Run learns the widths and returns. That they cannot be learned is no reason to stop: what is taken for granted is
// right for most versions, and wrong for some rare characters in the others.
func (k *Keeper) Run(ctx context.Context) {
	defer close(k.known)
	t, err := k.learn(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.log.Warn("character widths unknown", "err", err)
		}
		return
	}
	k.table.Store(&t)
}

// Table returns the widths; it waits a little for a measurement under way.
func (k *Keeper) Table(ctx context.Context) Table {
	select {
	case <-k.known:
	case <-ctx.Done():
	case <-time.After(patience):
	}
	return *k.table.Load()
}

// learn reads the table of this version of tmux, or makes it. It waits for tmux.
func (k *Keeper) learn(ctx context.Context) (Table, error) {
	spare, err := k.tmux.Spare(ctx)
	if err != nil {
		return Table{}, err
	}
	path := filepath.Join(k.dir, "tmux-"+fileName(spare.Version))
	if text, err := os.ReadFile(path); err == nil {
		t, err := tableOf(string(text))
		if err == nil {
			return t, nil
		}
		k.log.Warn("character widths measured anew", "file", path, "err", err)
	}
	ctx, cancel := context.WithTimeout(ctx, measureTime)
	defer cancel()
	doubtful := vt.DoubtfulRunes()
	w, err := measure(ctx, spare, doubtful)
	if err != nil {
		return Table{}, err
	}
	if w.Agrees(vt.DefaultWidths(), doubtful) {
		w = vt.DefaultWidths() // said in its own words, so that it is known again
	}
	text := textOf(w)
	if err := k.write(path, text); err != nil {
		k.log.Warn("character widths not kept", "err", err)
	}
	return tableOf(text)
}

// fileName keeps what a version may not do to a path.
func fileName(version string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, version)
}

// measure asks tmux in its spare terminal how wide characters are.
func measure(ctx context.Context, spare tmux.Spare, runes []rune) (*vt.Widths, error) {
	open := func() (*os.File, error) {
		f, err := os.OpenFile(spare.TTY, os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return nil, fmt.Errorf("open the spare terminal: %w", err)
		}
		return f, nil
	}
	// Raw, so that neither the answers are echoed nor lines waited for. A file of its own is used, since asking for its
	// descriptor makes its reads block.
	f, err := open()
	if err != nil {
		return nil, err
	}
	_, err = term.MakeRaw(f.Fd())
	_ = f.Close()
	if err != nil {
		return nil, fmt.Errorf("switch the spare terminal to raw mode: %w", err)
	}
	if f, err = open(); err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing is lost with it
	defer context.AfterFunc(ctx, func() { _ = f.SetDeadline(time.Unix(1, 0)) })()
	return vt.ProbeWidths(f, runes, spare.CellBytes)
}

func textOf(w *vt.Widths) string {
	var b strings.Builder
	_, _ = w.WriteTo(&b) // a builder takes everything
	return b.String()
}

func tableOf(text string) (Table, error) {
	w, err := vt.LoadWidths(strings.NewReader(text))
	if err != nil {
		return Table{}, err
	}
	if text == textOf(vt.DefaultWidths()) {
		text = ""
	}
	return Table{Widths: w, Text: text}, nil
}

// write keeps a table. A file that is there is whole: it gets its name when it has its content.
func (k *Keeper) write(path, text string) error {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return fmt.Errorf("keep the character widths: %w", err)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("keep the character widths: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("keep the character widths: %w", err)
	}
	return nil
}
