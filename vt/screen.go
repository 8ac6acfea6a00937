package vt

import (
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	maxSize = 1000 // columns and rows
	// pieceSize is how much of a write is done before Frame gets a chance.
	pieceSize = 4 << 10
	// maxHold is how long a synchronized update may hold back frames. Terminals that have the mode use 100 ms to 1 s.
	maxHold = 150 * time.Millisecond
)

// Screen is an emulated terminal. One goroutine owns Write, Resize and Reset; every other method may be called from
// any.
type Screen struct {
	onEvent func(Event)
	onFault func(fault any, stack []byte)
	now     func() time.Time
	widths  *Widths

	mu       sync.Mutex
	parser   parser    // guarded by mu, as all below
	term     *terminal //
	modes    Modes     // as last told by an event
	frame    *Frame    // as last built
	stale    bool      // the screen may differ from frame
	resolver resolver

	holding   bool // inside a synchronized update
	holdSince time.Time
	wanted    bool // somebody asked for a frame and got an old one
}

// Option configures a Screen.
type Option func(*Screen)

// OnEvent has f called for every event, from the goroutine that calls Write and after the write took effect.
func OnEvent(f func(Event)) Option { return func(s *Screen) { s.onEvent = f } }

// WithWidths makes the screen measure characters as w does; without it DefaultWidths is used.
func WithWidths(w *Widths) Option { return func(s *Screen) { s.widths = w } }

// WithClock replaces time.Now, by which synchronized updates are bounded.
func WithClock(now func() time.Time) Option { return func(s *Screen) { s.now = now } }

// New returns a blank screen of cols x rows cells, each clamped to 1..1000.
func New(cols, rows int, opts ...Option) *Screen {
	s := &Screen{now: time.Now}
	for _, o := range opts {
		o(s)
	}
	if s.widths == nil {
		s.widths = DefaultWidths()
	}
	s.start(clampSize(cols), clampSize(rows))
	return s
}

func clampSize(n int) int { return min(max(n, 1), maxSize) }

// start makes everything new.
func (s *Screen) start(cols, rows int) {
	s.parser = parser{}
	s.term = newTerminal(cols, rows, s.widths)
	s.term.sync = s.synchronize
	s.modes = Modes{}
	s.holding = false
	s.build()
}

// Write feeds bytes that a program, or tmux, printed. It takes all of p and never fails.
func (s *Screen) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		piece := p[:min(len(p), pieceSize)]
		p = p[len(piece):]
		s.writePiece(piece)
	}
	return n, nil
}

func (s *Screen) writePiece(p []byte) {
	events := s.take(p)
	if s.onEvent != nil {
		for _, e := range events {
			s.onEvent(e)
		}
	}
}

// take lets p take effect and returns what it led to.
func (s *Screen) take(p []byte) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.rescue()
	s.term.swept = false
	s.parser.feed(p, s.term)
	s.stale = true
	if s.term.modes != s.modes {
		s.modes = s.term.modes
		s.term.emit(EventModes, "")
	}
	events := s.term.events
	s.term.events = nil
	return events
}

// synchronize is called by the terminal, under mu, when a synchronized update begins or ends.
func (s *Screen) synchronize(begin bool) {
	if !begin {
		s.holding = false
		s.stale = true
		return
	}
	// Whoever asked during the last update gets what it led to, also when the next one follows at once.
	if s.wanted && !s.holding {
		s.build()
	}
	if !s.holding {
		s.holding = true
		s.holdSince = s.now()
	}
}

// Resize changes the size, each dimension clamped to 1..1000. It ends a synchronized update: what comes after it is
// drawn for the new size. Where the output of a tmux client is shown, resize before the client's terminal is resized;
// the other order leaves garbage until the next full redraw.
func (s *Screen) Resize(cols, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.rescue()
	s.term.resize(clampSize(cols), clampSize(rows))
	s.holding = false
	s.stale = true
}

// Reset makes the screen as New made it, keeping its size.
func (s *Screen) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start(s.term.cols, s.term.rows)
}

// Frame returns the screen as it is now, the same pointer while nothing changed. Inside a synchronized update it is the
// frame from before, for at most 150 ms.
func (s *Screen) Frame() *Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heldLocked() > 0 {
		s.wanted = true
		return s.frame
	}
	if s.stale {
		s.rebuild()
	}
	return s.frame
}

func (s *Screen) rebuild() {
	defer s.rescue()
	s.build()
}

// Version returns Frame's version.
func (s *Screen) Version() uint64 { return s.Frame().Version }

// Held returns for how long at most Frame will go on showing the frame from before a synchronized update; 0 when there
// is none. Nothing wakes a reader when that time is over.
func (s *Screen) Held() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heldLocked()
}

func (s *Screen) heldLocked() time.Duration {
	if !s.holding {
		return 0
	}
	return max(0, maxHold-s.now().Sub(s.holdSince))
}

// Ground reports whether the stream may be cut here: no escape sequence and no character is half received.
func (s *Screen) Ground() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parser.ground()
}

// build makes the frame of the present screen, unless it would equal the last one. The caller holds mu.
func (s *Screen) build() {
	s.stale, s.wanted = false, false
	t := s.term
	last := s.frame
	same := last != nil && last.Cols == t.cols && last.Rows == t.rows
	for y, r := range t.grid.lines {
		if r.dirty {
			s.resolver.resolve(t, r)
		}
		same = same && r.version == last.versions[y] && r.wrapped == last.wrapped[y]
	}
	f := Frame{
		Cols:   t.cols,
		Rows:   t.rows,
		Cursor: Cursor{Row: t.y, Col: t.x, Visible: t.visible, Shape: t.shape},
		Modes:  t.modes,
		Title:  t.title,
	}
	if same && last.Cursor == f.Cursor && last.Modes == f.Modes && last.Title == f.Title {
		return
	}
	f.lines = make([][]Cell, t.rows)
	f.versions = make([]uint64, t.rows)
	f.wrapped = make([]bool, t.rows)
	for y, r := range t.grid.lines {
		f.lines[y], f.versions[y], f.wrapped[y] = r.cells, r.version, r.wrapped
	}
	if last != nil {
		f.Version = last.Version + 1
	}
	f.links = s.resolver.links(t.table)
	s.frame = &f
}

// resolver turns the cells of vt10x into those of frames.
type resolver struct {
	version uint64 // the last one given to a row
	scratch []Cell

	linkCopy map[LinkID]string
	linkSeen *intern
	linkNext LinkID
}

// resolve brings r.cells up to date.
func (v *resolver) resolve(t *terminal, r *row) {
	r.dirty = false
	t.grid.flush(r)
	cells := v.scratch[:0]
	for x := 0; x < t.cols; x++ {
		g := t.grid.term.Cell(x, r.at)
		c := Cell{Text: " ", Width: 1}
		if g.Char < 0x7f {
			c.Text, c.Style = asciiText(byte(g.Char)), t.table.styles[styleID(g)]
		} else if g.Char != filler {
			// A wide cluster counts only with its filler behind it; a half that lost the other is a plain blank, as in
			// tmux.
			text, width := t.textOf(g)
			if width == 1 || x+1 < t.cols && t.grid.term.Cell(x+1, r.at).Char == filler {
				c = Cell{Text: text, Width: uint8(width), Style: t.table.styles[styleID(g)]}
			}
		}
		if t.reverseVideo {
			c.Style.Attr ^= Reverse
		}
		cells = append(cells, c)
		if c.Width == 2 {
			cells = append(cells, Cell{Style: c.Style})
			x++
		}
	}
	v.scratch = cells
	if slices.Equal(cells, r.cells) {
		return
	}
	r.cells = slices.Clone(cells)
	v.version++
	r.version = v.version
}

// links returns the addresses of a table's links, which later changes of the table leave alone.
func (v *resolver) links(t *intern) map[LinkID]string {
	if v.linkSeen != t || v.linkNext != t.nextLink {
		v.linkSeen, v.linkNext = t, t.nextLink
		v.linkCopy = maps.Clone(t.links)
	}
	return v.linkCopy
}
