package rawattach

import (
	"fmt"

	"corral/tui/canvas"
	"corral/vt"
)

// crop draws a window on a terminal of another size: the part round the cursor of a larger one, blanks beyond a smaller
// one. It emulates the window and encodes what changes, as the dashboard does.
type crop struct {
	screen *vt.Screen
	canvas *canvas.Canvas
	enc    *canvas.Encoder
	window size
	panX   int
	panY   int
	buf    []byte
}

func newCrop(p vt.Profile, terminal, window size, widths *vt.Widths) *crop {
	return &crop{
		screen: vt.New(window.cols, window.rows, vt.WithWidths(widths), vt.OnFault(func(any, []byte) {})), // blank until the next redraw
		canvas: canvas.New(terminal.cols, terminal.rows),
		enc:    canvas.NewEncoder(canvas.Options{Profile: p, Links: true, Shapes: true}),
		window: window,
	}
}

func (c *crop) resize(window size) {
	if window != (size{}) && window != c.window {
		c.window = window
		c.screen.Resize(window.cols, window.rows)
	}
}

// feed returns the bytes that show the window after it took b. It is valid until the next call. An update that the stream
// holds back (synchronized output) shows with the bytes that end it; tmux, which the stream comes from, always ends it.
func (c *crop) feed(b []byte) []byte {
	_, _ = c.screen.Write(b) // a screen takes everything
	f := c.screen.Frame()
	cols, rows := c.canvas.Size()
	if f.Cursor.Visible {
		c.panX = max(min(c.panX, f.Cursor.Col), f.Cursor.Col-cols+1)
		c.panY = max(min(c.panY, f.Cursor.Row), f.Cursor.Row-rows+1)
	}
	c.panX = max(min(c.panX, f.Cols-cols), 0)
	c.panY = max(min(c.panY, f.Rows-rows), 0)
	c.canvas.Clear()
	c.canvas.DrawFrame(canvas.Rect{W: cols, H: rows}, f, c.panX, c.panY, canvas.FrameOptions{})
	if f.Cols > cols || f.Rows > rows {
		mark := fmt.Sprintf(" %dx%d of %dx%d ", min(cols, f.Cols), min(rows, f.Rows), f.Cols, f.Rows)
		c.canvas.DrawLine(max(cols-len(mark), 0), 0, len(mark), "\x1b[7m"+mark)
	}
	if f.Cursor.Visible {
		c.canvas.SetCursor(f.Cursor.Col-c.panX, f.Cursor.Row-c.panY, f.Cursor.Shape)
	}
	c.buf = c.enc.Append(c.buf[:0], c.canvas)
	c.canvas.Resize(cols, rows)
	return c.buf
}
