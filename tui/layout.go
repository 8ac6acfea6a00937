package tui

import "corral/tui/canvas"

// The least room in which the dashboard is of use: a list wide enough for titles beside a pane wide enough for a prompt.
const (
	minCols = 40
	minRows = 12
)

// The list takes three tenths of the width, within bounds: 24 cells at 80 columns, 32 at most.
const (
	listTenths = 3
	listMin    = 12
	listMax    = 32
)

// layout says where everything is. It is a pure function of the terminal's size and of whether the pane is zoomed.
type layout struct {
	tooSmall bool
	zoomed   bool
	list     canvas.Rect
	divider  canvas.Rect
	header   canvas.Rect
	pane     canvas.Rect
	status   canvas.Rect
}

func layoutFor(cols, rows int, zoomed bool) layout {
	if cols < minCols || rows < minRows {
		return layout{tooSmall: true}
	}
	bottom := canvas.Rect{Y: rows - 1, W: cols, H: 1}
	if zoomed {
		// The status line lies over the pane's last row, and is drawn only while it has something to say.
		return layout{zoomed: true, pane: canvas.Rect{W: cols, H: rows}, status: bottom}
	}
	w := min(max(cols*listTenths/10, listMin), listMax)
	right := w + 1
	return layout{
		list:    canvas.Rect{W: w, H: rows - 1},
		divider: canvas.Rect{X: w, W: 1, H: rows - 1},
		header:  canvas.Rect{X: right, W: cols - right, H: 1},
		pane:    canvas.Rect{X: right, Y: 1, W: cols - right, H: rows - 2},
		status:  bottom,
	}
}

// center returns a rectangle of w x h in the middle of an area, clipped to it.
func center(area canvas.Rect, w, h int) canvas.Rect {
	w, h = min(w, area.W), min(h, area.H)
	return canvas.Rect{X: area.X + (area.W-w)/2, Y: area.Y + (area.H-h)/2, W: w, H: h}
}
