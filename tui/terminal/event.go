package terminal

// Event is what the terminal or the kernel says about the terminal.
type Event interface{ event() }

// Background is the terminal's background colour.
type Background struct {
	Color string // "#rrggbb"
	Dark  bool
}

// Foreground is the terminal's text colour.
type Foreground struct {
	Color string // "#rrggbb"
}

// SyncSupported says that the terminal shows a frame at once (DEC mode 2026).
type SyncSupported struct{}

// Resized is the terminal's new size. The first one comes right after Open. Bubble Tea sends no tea.WindowSizeMsg without
// its renderer; the dashboard makes one of this.
type Resized struct{ Cols, Rows int }

// Focus says that the terminal's window got or lost the focus.
type Focus struct{ In bool }

// Resumed says that the terminal was taken again after a suspension or a stop of the process.
type Resumed struct{}

// PasteTooLarge says that a paste was dropped because it was larger than MaxPaste.
type PasteTooLarge struct{}

// Gone says that the terminal hung up; nothing more comes from it.
type Gone struct{ Err error }

func (Background) event()    {}
func (Foreground) event()    {}
func (SyncSupported) event() {}
func (Resized) event()       {}
func (Focus) event()         {}
func (Resumed) event()       {}
func (PasteTooLarge) event() {}
func (Gone) event()          {}
