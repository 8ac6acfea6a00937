package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// Input is the dashboard's share of what the user types, an io.Reader for tea.WithInput that gives out one key, mouse
// report or paste per Read, so that keys typed in one burst stay single keys.
//
// It has Fd and Name because Bubble Tea's reader can be cancelled only when it may wait on a descriptor itself. The
// descriptor is that of a pipe which holds one byte while something waits; a Read takes that byte first.
type Input struct {
	router  *router
	r, w    *os.File
	barrier func()

	mu     sync.Mutex
	marked bool // the pipe holds its byte
	closed bool

	current []byte // of a piece, what Read has not given out yet; of the reading goroutine only
}

func newInput(rt *router) (*Input, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe of the input: %w", err)
	}
	in := &Input{router: rt, r: r, w: w}
	in.r.Fd() // switches the pipe to blocking reads, once and for all
	return in, nil
}

// mark makes the descriptor readable, or not.
func (in *Input) mark(waiting bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if waiting && !in.marked {
		in.marked = true
		_, _ = in.w.Write([]byte{0}) // the pipe is empty: neither blocks nor fails
	}
}

// Read gives out the next piece, or a part of it when p is too small. It may return 0 bytes when what waited has gone to
// a pane meanwhile, and io.EOF after Close.
func (in *Input) Read(p []byte) (int, error) {
	var one [1]byte
	if _, err := in.r.Read(one[:]); err != nil {
		return 0, io.EOF
	}
	in.mu.Lock()
	in.marked = false
	closed := in.closed
	in.mu.Unlock()
	if closed {
		in.mark(true) // for the next Read
		return 0, io.EOF
	}
	if len(in.current) == 0 && in.router.waiting() {
		// What was given out before must have been handled by now: it may have given the keyboard to a pane, and with it
		// what waits.
		if in.barrier != nil {
			in.barrier()
		}
		in.current, _ = in.router.pop()
	}
	n := copy(p, in.current)
	in.current = in.current[n:]
	if len(in.current) > 0 || in.router.waiting() {
		in.mark(true)
	}
	return n, nil
}

// close makes Read return io.EOF for good.
func (in *Input) close() {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.mark(true)
}

// Write refuses: only the Terminal writes to the terminal. It is there because Bubble Tea asks for it.
func (in *Input) Write([]byte) (int, error) { return 0, os.ErrPermission }

// Close does nothing; the Terminal closes its input.
func (in *Input) Close() error { return nil }

// Fd returns a descriptor that is readable while something waits to be read.
func (in *Input) Fd() uintptr { return in.r.Fd() }

// Name names the descriptor.
func (in *Input) Name() string { return "terminal input" }
