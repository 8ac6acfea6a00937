// Package vt is Corral's terminal emulator.
package vt

// Screen is an emulated terminal. One goroutine owns Write, Resize and Reset; Frame may be called from any.
type Screen struct {
	cols, rows int
}

// New returns a blank screen of cols x rows cells, each clamped to 1..1000.
func New(cols, rows int) *Screen { return &Screen{cols: cols, rows: rows} }
