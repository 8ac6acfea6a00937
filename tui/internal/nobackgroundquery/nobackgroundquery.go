// Package nobackgroundquery keeps Bubble Tea from talking to the terminal before main.
//
// Bubble Tea v1 calls lipgloss.HasDarkBackground in an init function (tea_init.go), which writes OSC 11 and a cursor
// position query to standard output when that is a terminal, and waits for the answers: for `corral ls` as well as for the
// dashboard, and once more inside every pane that runs corral. Lip Gloss asks nothing when it has been told the answer.
//
// Go initialises a package as soon as its imports are initialised, and among those that are ready the one whose import
// path sorts first (https://go.dev/ref/spec#Program_initialization). This package imports Lip Gloss only, and "corral/"
// sorts before "github.com/", so it runs after Lip Gloss and before Bubble Tea. That order is why it is the one package
// of Corral with an init function, and why it must import nothing else. Import it, for its effect, wherever Bubble Tea is
// imported.
//
// The terminal's real background arrives later as an event of tui/terminal, and the theme follows that.
package nobackgroundquery

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
