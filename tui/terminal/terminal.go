package terminal

import (
	"corral/tui/canvas"
	"corral/vt"
)

// Open takes the user's terminal: raw mode, alternate screen, hidden cursor. The caller must Close it on every way out.
func Open(c Config) (*Terminal, error) { panic("to come") }

// Terminal is the user's terminal. Its methods may be called from any goroutine and, but for Close, Suspend, Resume and
// StopProcess, never wait for the terminal.
type Terminal struct{}

// Size returns the size of the terminal in cells as last heard.
func (t *Terminal) Size() (cols, rows int) { return 0, 0 }

// Events brings what the terminal and the kernel say. It is closed by Close.
func (t *Terminal) Events() <-chan Event { return nil }

// Input is what tea.WithInput takes: the keys, pastes and mouse reports that are not diverted.
func (t *Terminal) Input() *Input { return nil }

// SetBarrier hands in a function that returns once everything that Input gave out before has been handled. With Bubble
// Tea that is `func() { program.Send(nil) }`. Set it before the program runs.
func (t *Terminal) SetBarrier(f func()) {}

// Divert gives the keyboard to a pane whose screen is shown in area.
func (t *Terminal) Divert(s Sink, area canvas.Rect) {}

// Undivert gives the keyboard back to the dashboard.
func (t *Terminal) Undivert() {}

// SetModes says which modes the program in the pane that has the keyboard has switched on.
func (t *Terminal) SetModes(m vt.Modes) {}

// Present shows c as soon as the terminal takes it. It takes c's content: c is left blank, with the size it had.
func (t *Terminal) Present(c *canvas.Canvas) {}

// Invalidate makes the next frame repaint everything.
func (t *Terminal) Invalidate() {}

// Suspend gives the terminal back as it was found, until Resume.
func (t *Terminal) Suspend() error { return nil }

// Resume takes the terminal again after Suspend and repaints it.
func (t *Terminal) Resume() error { return nil }

// StopProcess suspends, stops the process group as ctrl+z does, and resumes when it is continued.
func (t *Terminal) StopProcess() error { return nil }

// Close restores the terminal. It may be called twice, and takes at most 300 ms when the terminal is dead.
func (t *Terminal) Close() error { return nil }

// Input is the dashboard's share of what the user types: an io.Reader that gives out one key, mouse report or paste per
// Read.
type Input struct{}

func (in *Input) Read(p []byte) (int, error)  { return 0, nil }
func (in *Input) Write(p []byte) (int, error) { return 0, nil }
func (in *Input) Close() error                { return nil }
func (in *Input) Fd() uintptr                 { return 0 }
func (in *Input) Name() string                { return "" }
