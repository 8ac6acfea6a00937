package vt

// Color is a colour of a cell: the default, one of the 256 of the palette, or 24-bit RGB.
type Color uint32

// DefaultColor is the terminal's own foreground or background.
const DefaultColor Color = 0

const (
	colorPalette Color = 1 << 24
	colorRGB     Color = 2 << 24
)

// Palette returns the colour with index n of the palette.
func Palette(n uint8) Color { return colorPalette | Color(n) }

// RGB returns a 24-bit colour.
func RGB(r, g, b uint8) Color { return colorRGB | Color(r)<<16 | Color(g)<<8 | Color(b) }

// Attr is a set of character attributes.
type Attr uint16

// The attributes, by their SGR numbers.
const (
	Bold     Attr = 1 << iota // 1
	Faint                     // 2
	Italic                    // 3
	Blink                     // 5
	Reverse                   // 7
	Hidden                    // 8
	Strike                    // 9
	Overline                  // 53
)

// Underline is the kind of underline, by its number in SGR 4:n.
type Underline uint8

// The kinds of underline.
const (
	UnderlineNone Underline = iota
	UnderlineSingle
	UnderlineDouble
	UnderlineCurly
	UnderlineDotted
	UnderlineDashed
)

// LinkID names a hyperlink of a Frame; 0 is none. Frame.Link resolves it.
type LinkID uint32

// Style is how a cell is drawn. It is comparable; the zero value is the default style.
type Style struct {
	FG, BG, UL Color // UL is the underline's own colour
	Attr       Attr
	Underline  Underline
	Link       LinkID
}

// Cell is one cell of a frame. A wide cluster has Width 2 and is followed by a cell with Width 0 and no text. A blank
// cell has the text " ".
type Cell struct {
	Text  string // one grapheme cluster, free of control characters
	Width uint8
	Style Style
}

// CursorShape is the shape of a cursor, by its number in DECSCUSR; 0 is the terminal's default.
type CursorShape uint8

// Cursor is the program's cursor. Row and Col are 0-based and inside the frame.
type Cursor struct {
	Row, Col int
	Visible  bool
	Shape    CursorShape
}

// Modes are the terminal modes that the program switched on and that matter outside the screen.
type Modes struct {
	ApplicationKeys bool // DECCKM
	BracketedPaste  bool // 2004
	MouseTracking   int  // 0, 9, 1000, 1002 or 1003
	MouseSGR        bool // 1006
	FocusEvents     bool // 1004
	AlternateScreen bool // 1049, 47, 1047
}

// Frame is an immutable picture of a screen. Rows that did not change are shared between frames, so two frames' rows
// may be compared by RowVersion.
type Frame struct {
	Cols, Rows int
	Cursor     Cursor
	Modes      Modes
	Title      string
	Version    uint64 // rises with every change

	lines    [][]Cell
	versions []uint64
	wrapped  []bool
	links    map[LinkID]string
}

// Row returns the cells of row y, exactly Cols of them. The caller must not change them.
func (f *Frame) Row(y int) []Cell { return f.lines[y] }

// RowVersion returns a number that changes whenever the content of row y does.
func (f *Frame) RowVersion(y int) uint64 { return f.versions[y] }

// Wrapped reports whether the text of row y goes on in the row below, because it did not fit.
func (f *Frame) Wrapped(y int) bool { return f.wrapped[y] }

// Link returns the address of a hyperlink, "" for none.
func (f *Frame) Link(id LinkID) string { return f.links[id] }
