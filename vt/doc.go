// Package vt is Corral's terminal emulator: it turns the bytes that a tmux client prints into pictures of a screen.
//
// A Screen takes bytes and gives Frames, which are immutable. Its parts, in the order the bytes pass them:
//
//	parser    cuts the stream into text, controls and sequences; total, bounded, indifferent to how writes are split
//	terminal  what the sequences mean: cursor, margins, modes, pen, character sets, clusters of characters
//	grid      where the cells live: one hinshun/vt10x terminal per screen
//	Screen    resolves the rows that changed into a Frame
//
// vt10x is the store of cells and nothing else. By itself it knows no wide or combining characters, keeps only part of a
// style, and panics or hangs on some input, so it is only ever sent what is known to be safe: printable characters,
// absolute addresses, and erase, insert and delete with counts that fit. A cell's rune is a character, or a private
// code that names a longer cluster; a cell's foreground colour is a number that names a whole style (see intern). What
// scrolls away or is overwritten before anybody looks never reaches it (see row), because each rune costs it two
// allocations.
//
// The terminal behaves as xterm does where tmux expects its outer terminal to, and measures characters as tmux does
// (see Widths). It never answers queries, and nothing but text, styles and sanitised events leaves the package.
//
// The same parser reads styled text outside a screen: ParseCapture for tmux's history, ParseLine for lines that lipgloss
// made.
//
// Goroutines: the package starts none. One goroutine owns Write, Resize and Reset of a Screen; a mutex lets any other
// take Frames meanwhile, and is given up between pieces of a long write.
package vt
