package vt

// cursor is a position on the screen. wrap is set after the last column was written: the next character goes to the
// next line.
type cursor struct {
	x, y int
	wrap bool
}

// saved is what DECSC saves.
type saved struct {
	cursor
	pen    Style
	sets   [4]charset
	gl     int
	origin bool
}

// printed is the cluster that was printed last, as long as nothing but printing followed.
type printed struct {
	ok    bool
	x, y  int
	text  string
	width int
	style uint32
}

// terminal is what the bytes mean. It is the handler of a Screen's parser, and everything but the content of the cells
// is kept here.
type terminal struct {
	widths     *Widths
	chars      charCache
	table      *intern
	swept      bool // a sweep was made in this piece of input
	cols, rows int

	main, alt *grid // alt is nil until it is used
	grid      *grid // one of the two

	cursor
	pen          Style
	penID        uint32 // of pen, if penKnown
	backID       uint32 // of the style that only has pen's background, if penKnown
	penKnown     bool
	last         printed
	joiner       bool // a ZWJ came last
	sets         [4]charset
	gl           int // which of sets is in use
	shift        int // SS2, SS3: the set of the next character, 0 for none
	savedMain    saved
	savedAlt     saved
	top, bottom  int // margins, inclusive
	tabs         []bool
	origin       bool
	autowrap     bool
	insertMode   bool
	reverseVideo bool

	visible   bool
	shape     CursorShape
	modes     Modes
	title     string
	directory string

	events []Event
	sync   func(begin bool) // synchronized output begins or ends
}

func newTerminal(cols, rows int, w *Widths) *terminal {
	t := &terminal{widths: w, chars: charCache{widths: w}, cols: cols, rows: rows, sync: func(bool) {}}
	t.reset()
	return t
}

// reset is RIS.
func (t *terminal) reset() {
	t.table = newIntern()
	t.main, t.alt = newGrid(t.cols, t.rows, t.codeWidth), nil
	t.grid = t.main
	t.title, t.directory = "", ""
	t.shape = 0
	t.modes = Modes{}
	t.reverseVideo = false
	t.cursor = cursor{}
	t.tabs = make([]bool, t.cols)
	t.setDefaultTabs(0)
	t.softReset()
	t.savedMain = t.save()
	t.savedAlt = t.save()
}

// softReset is DECSTR.
func (t *terminal) softReset() {
	t.setPen(Style{})
	t.sets = [4]charset{charsetASCII, charsetASCII, charsetASCII, charsetASCII}
	t.gl, t.shift = 0, 0
	t.top, t.bottom = 0, t.rows-1
	t.origin, t.insertMode = false, false
	t.autowrap, t.visible = true, true
	t.modes.ApplicationKeys = false
	t.interrupt()
}

func (t *terminal) setDefaultTabs(from int) {
	for x := from; x < t.cols; x++ {
		t.tabs[x] = x%8 == 0
	}
}

// resize changes the size. When the screen gets lower than the cursor, the rows above it go.
func (t *terminal) resize(cols, rows int) {
	if cols == t.cols && rows == t.rows {
		return
	}
	t.interrupt()
	mainY, altY := &t.y, &t.savedAlt.y
	if t.grid == t.alt {
		mainY, altY = &t.savedMain.y, &t.y
	}
	t.main = resizeGrid(t.main, cols, rows, mainY)
	if t.alt != nil {
		alt := resizeGrid(t.alt, cols, rows, altY)
		if t.grid == t.alt {
			t.grid = alt
		}
		t.alt = alt
	}
	if t.grid != t.alt {
		t.grid = t.main
	}
	old := t.cols
	t.cols, t.rows = cols, rows
	t.top, t.bottom = 0, rows-1
	t.tabs = append(make([]bool, 0, cols), t.tabs[:min(old, cols)]...)[:cols]
	t.setDefaultTabs(min(old, cols))
	t.moveTo(t.y, t.x)
	for _, s := range [...]*saved{&t.savedMain, &t.savedAlt} {
		s.y, s.x, s.wrap = min(s.y, rows-1), min(s.x, cols-1), false
	}
}

// resizeGrid returns g at another size, and moves the cursor row y with its text.
func resizeGrid(g *grid, cols, rows int, y *int) *grid {
	first := max(0, *y-rows+1)
	*y -= first
	return g.resized(cols, rows, first)
}

// save returns what DECSC saves.
func (t *terminal) save() saved {
	return saved{cursor: t.cursor, pen: t.pen, sets: t.sets, gl: t.gl, origin: t.origin}
}

// restore is DECRC.
func (t *terminal) restore(s saved) {
	t.setPen(s.pen)
	t.sets, t.gl, t.origin = s.sets, s.gl, s.origin
	t.moveTo(s.y, s.x)
	t.wrap = s.wrap && t.x == t.cols-1
}

// savedCursor returns where the screen in use saves its cursor.
func (t *terminal) savedCursor() *saved {
	if t.grid == t.alt {
		return &t.savedAlt
	}
	return &t.savedMain
}

// interrupt is called by everything that is not printing: nothing joins the last cluster over it.
func (t *terminal) interrupt() {
	t.last.ok = false
	t.joiner = false
}

func (t *terminal) setPen(s Style) {
	t.pen = s
	t.penKnown = false
}

// styles returns the numbers of the pen and of what it erases with.
func (t *terminal) styles() (pen, back uint32) {
	if !t.penKnown {
		t.room()
		t.penID = t.table.style(t.pen)
		t.backID = t.table.style(Style{BG: t.pen.BG})
		t.penKnown = true
	}
	return t.penID, t.backID
}

// back returns the style that erased cells get: only the background, as xterm and tmux have it.
func (t *terminal) back() uint32 {
	_, back := t.styles()
	return back
}

// room makes room in the tables if they are full, once per piece of input: a screenful of different clusters would
// otherwise be searched again for each of them.
func (t *terminal) room() {
	if t.swept || !t.table.full() {
		return
	}
	t.swept = true
	m := t.table.newMarks()
	t.main.mark(m)
	if t.alt != nil {
		t.alt.mark(m)
	}
	for _, s := range [...]Style{t.pen, t.savedMain.pen, t.savedAlt.pen} {
		m.links[s.Link] = true
	}
	t.table.sweep(m)
	t.penKnown = false
}

// codeWidth returns the width of what a rune in a cell stands for.
func (t *terminal) codeWidth(r rune) int {
	if c, ok := t.table.cluster(r); ok {
		return int(c.width)
	}
	if r == filler {
		return 0
	}
	return t.chars.info(r).width
}

// moveTo places the cursor, clamped to the screen.
func (t *terminal) moveTo(y, x int) {
	t.y = min(max(y, 0), t.rows-1)
	t.x = min(max(x, 0), t.cols-1)
	t.wrap = false
}

// address places the cursor as CUP does: relative to the margins in origin mode.
func (t *terminal) address(y, x int) {
	if t.origin {
		t.moveTo(min(max(y, 0)+t.top, t.bottom), x)
		return
	}
	t.moveTo(y, x)
}

// up and down move the cursor by rows, and stop at the margin when they begin inside it.
func (t *terminal) up(n int) {
	stop := 0
	if t.y >= t.top {
		stop = t.top
	}
	t.moveTo(max(t.y-n, stop), t.x)
}

func (t *terminal) down(n int) {
	stop := t.rows - 1
	if t.y <= t.bottom {
		stop = t.bottom
	}
	t.moveTo(min(t.y+n, stop), t.x)
}

// lineFeed goes one line down and scrolls at the bottom margin; what scrolls in gets a style.
func (t *terminal) lineFeed(style uint32) {
	switch {
	case t.y == t.bottom:
		t.grid.scroll(t.top, t.bottom, 1, style)
	case t.y < t.rows-1:
		t.y++
	}
	t.wrap = false
}

// reverseLineFeed goes one line up and scrolls at the top margin.
func (t *terminal) reverseLineFeed() {
	switch {
	case t.y == t.top:
		t.grid.scroll(t.top, t.bottom, -1, t.back())
	case t.y > 0:
		t.y--
	}
	t.wrap = false
}

// tab goes to the next tab stop, or the last column.
func (t *terminal) tab(n int) {
	x := t.x
	for ; n > 0 && x < t.cols-1; n-- {
		for x++; x < t.cols-1 && !t.tabs[x]; x++ {
		}
	}
	t.moveTo(t.y, x)
}

// backTab goes back to a tab stop, or the first column.
func (t *terminal) backTab(n int) {
	x := t.x
	for ; n > 0 && x > 0; n-- {
		for x--; x > 0 && !t.tabs[x]; x-- {
		}
	}
	t.moveTo(t.y, x)
}

// emit queues an event.
func (t *terminal) emit(k EventKind, text string) {
	const maxEvents = 64 // of one piece of input: a flood of bells is no news
	if len(t.events) < maxEvents {
		t.events = append(t.events, Event{Kind: k, Text: text, Modes: t.modes})
	}
}
