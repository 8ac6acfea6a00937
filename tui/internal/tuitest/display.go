package tuitest

import (
	"fmt"
	"strings"
	"sync"

	"corral/tui/canvas"
	"corral/tui/terminal"
	"corral/vt"
)

// Display is a terminal that keeps what it was told.
type Display struct {
	mu          sync.Mutex
	shown       *canvas.Canvas // guarded by mu
	presents    int            // guarded by mu
	invalidated int            // guarded by mu
	stops       int            // guarded by mu
	lent        int            // guarded by mu
	copied      string         // guarded by mu
	notices     []terminal.Notice
	sink        terminal.Sink // guarded by mu; nil while the dashboard has the keyboard
	area        canvas.Rect   // guarded by mu
	modes       vt.Modes      // guarded by mu
}

// Divert takes note of who has the keyboard.
func (d *Display) Divert(s terminal.Sink, area canvas.Rect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sink, d.area = s, area
}

// Move takes note of another area.
func (d *Display) Move(area canvas.Rect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sink != nil {
		d.area = area
	}
}

// Undivert gives the keyboard back.
func (d *Display) Undivert() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sink = nil
}

// SetModes takes note of the modes.
func (d *Display) SetModes(m vt.Modes) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.modes = m
}

// Present keeps a copy of c and, as the terminal does, leaves c blank.
func (d *Display) Present(c *canvas.Canvas) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.presents++
	if d.shown == nil {
		d.shown = canvas.New(1, 1)
	}
	d.shown.CopyFrom(c)
	c.Clear()
}

// Invalidate counts.
func (d *Display) Invalidate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.invalidated++
}

// Copy keeps what was copied last.
func (d *Display) Copy(text []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.copied = string(text)
}

// Notify keeps the notice.
func (d *Display) Notify(n terminal.Notice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notices = append(d.notices, n)
}

// Notices returns every notice so far.
func (d *Display) Notices() []terminal.Notice {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]terminal.Notice(nil), d.notices...)
}

// Copied returns what was copied last.
func (d *Display) Copied() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.copied
}

// Lend counts, and calls f.
func (d *Display) Lend(f func() error) error {
	d.mu.Lock()
	d.lent++
	d.mu.Unlock()
	return f()
}

// Lent returns how often the terminal was lent.
func (d *Display) Lent() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lent
}

// StopProcess counts.
func (d *Display) StopProcess() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stops++
	return nil
}

// Sink returns who has the keyboard, nil when the dashboard has it, and the area of its screen.
func (d *Display) Sink() (terminal.Sink, canvas.Rect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sink, d.area
}

// Modes returns what SetModes was told last.
func (d *Display) Modes() vt.Modes {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.modes
}

// Counts returns how often Present, Invalidate and StopProcess were called.
func (d *Display) Counts() (presents, invalidated, stops int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presents, d.invalidated, d.stops
}

// Cursor returns the hardware cursor.
func (d *Display) Cursor() canvas.Cursor {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown == nil {
		return canvas.Cursor{}
	}
	return d.shown.Cursor()
}

// Cell returns what stands at x, y.
func (d *Display) Cell(x, y int) vt.Cell {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.Cell(x, y)
}

// Text returns what stands on the screen, rows joined by LF, trailing blanks cut.
func (d *Display) Text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown == nil {
		return ""
	}
	_, rows := d.shown.Size()
	lines := make([]string, rows)
	for y := range lines {
		var b strings.Builder
		for _, c := range d.shown.Row(y) {
			b.WriteString(c.Text)
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func sizeCall(name string, cols, rows int) string { return fmt.Sprintf("%s %dx%d", name, cols, rows) }
