package vt

// Text returns the frame's text, rows joined by LF, without trailing blanks.
func (f *Frame) Text() string { return "" }

// ANSI returns the frame's text with SGR sequences, rows joined by LF, without trailing blanks of the default style.
// Every row begins and ends in the default style.
func (f *Frame) ANSI(p Profile) string { return "" }

// Restore returns bytes which, written to a fresh Screen of the same size, make it show this frame: cells, cursor,
// modes and title.
func (f *Frame) Restore() []byte { return nil }

// Line returns row y with SGR sequences, measuring exactly Cols columns.
func (f *Frame) Line(y int, p Profile) string { return "" }

// Renderer renders rows of frames and remembers them.
type Renderer struct{}

// NewRenderer returns a renderer for terminals of profile p.
func NewRenderer(p Profile) *Renderer { return &Renderer{} }

// Line returns row y of f, measuring exactly f.Cols columns.
func (r *Renderer) Line(f *Frame, y int) string { return "" }
