// Package vt is Corral's terminal emulator.
package vt

import "time"

// Screen is an emulated terminal. One goroutine owns Write, Resize and Reset; every other method may be called from
// any.
type Screen struct {
	cols, rows int
	frame      *Frame
}

// Option configures a Screen.
type Option func(*Screen)

// OnEvent has f called for every event, from the goroutine that calls Write and after the write took effect.
func OnEvent(f func(Event)) Option { return func(*Screen) {} }

// WithWidths makes the screen measure characters as w does; without it DefaultWidths is used.
func WithWidths(w *Widths) Option { return func(*Screen) {} }

// WithClock replaces time.Now, by which synchronized output is bounded.
func WithClock(now func() time.Time) Option { return func(*Screen) {} }

// New returns a blank screen of cols x rows cells, each clamped to 1..1000.
func New(cols, rows int, opts ...Option) *Screen { return &Screen{cols: cols, rows: rows} }

// Write feeds bytes that a program (or tmux) printed. It takes all of p and never fails.
func (s *Screen) Write(p []byte) (int, error) { return len(p), nil }

// Resize changes the size, each dimension clamped to 1..1000.
func (s *Screen) Resize(cols, rows int) {}

// Reset makes the screen as New made it, keeping its size.
func (s *Screen) Reset() {}

// Frame returns the screen as it is now, the same pointer while nothing changed.
func (s *Screen) Frame() *Frame { return s.frame }

// Version returns Frame's version.
func (s *Screen) Version() uint64 { return 0 }

// Held returns for how long Frame goes on showing an older picture because the program is inside a synchronized
// update; 0 when it shows the present one.
func (s *Screen) Held() time.Duration { return 0 }

// Ground reports whether the stream may be cut here: no escape sequence and no character is half received.
func (s *Screen) Ground() bool { return true }
