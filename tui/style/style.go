// Package style holds every colour and text style of the dashboard, as tokens with a meaning ("waiting", "border") and
// never as colours at the place of use. A Theme is immutable; a change of background makes another one.
//
// The styles render for a canvas, not for a terminal: they are always written as SGR text, and the canvas writes them
// in what the user's terminal understands. So a Theme asks nobody anything, and only chooses well-matched colours: by
// the background (dark, light) and by how many there are. Nothing is told by colour alone: selection is also reverse
// video, states also have a mark and a word.
package style

import (
	"io"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Colors says how many colours the terminal has.
type Colors int

// The palettes. With None (NO_COLOR, a monochrome terminal) only bold, faint, underline and reverse are used.
const (
	Full  Colors = iota // 256 or more; the canvas maps 24-bit colours down to 256
	Basic               // the 16 of the user's own palette
	None
)

// Tone is what a piece of text means.
type Tone int

// The tones.
const (
	Plain   Tone = iota
	Muted        // secondary text
	Strong       // titles
	Accent       // what the dashboard itself points at: the focused frame, keys in hints
	Good         // runs, somebody is attached
	Quiet        // runs, nobody is attached
	Waiting      // wants the user
	Lost         // recoverable
	Bad          // failed
	Over         // ended in peace
	Busy         // between two states
)

// Theme is one set of styles.
type Theme struct {
	Dark bool

	Border   lipgloss.Style // lines between panes
	Focus    lipgloss.Style // the same next to what has the keyboard
	Selected lipgloss.Style // the selected row while the list has the keyboard
	Marked   lipgloss.Style // the selected row while something else has it
	Banner   lipgloss.Style // a link in trouble
	Toast    lipgloss.Style
	Failure  lipgloss.Style // a toast about an error
	Dialog   lipgloss.Style // the frame round a dialog
	Danger   lipgloss.Style // the same round one that ends something

	tones [Busy + 1]lipgloss.Style
}

// Tone returns the style of t.
func (t *Theme) Tone(tone Tone) lipgloss.Style {
	if tone < 0 || int(tone) >= len(t.tones) {
		return t.tones[Plain]
	}
	return t.tones[tone]
}

// hue is one colour in the three ways it may be shown; the last is an index of the user's palette.
type hue struct{ dark, light, basic string }

// hues are the colours of the dashboard.
type hues struct{ muted, border, accent, good, quiet, waiting, lost, bad, row, rowDim hue }

// palette returns the hues. Text is chosen for at least 4.5:1 against black and white, the contrast that WCAG 2.1 asks for.
func palette() hues {
	return hues{
		muted:   hue{"#8b8fa3", "#5f6472", "8"},
		border:  hue{"#464a5c", "#b4b8c4", "8"},
		accent:  hue{"#7aa2f7", "#2456c6", "4"},
		good:    hue{"#8fce72", "#2f7d1f", "2"},
		quiet:   hue{"#6fb7c4", "#1f6f80", "6"},
		waiting: hue{"#f2c14e", "#8a5a00", "3"},
		lost:    hue{"#c795f0", "#7a34b5", "5"},
		bad:     hue{"#f2777a", "#b3261e", "1"},
		row:     hue{"#2d3350", "#d7def5", ""},
		rowDim:  hue{"#262937", "#e6e8ee", ""},
	}
}

// New returns the theme for a background and a number of colours.
func New(dark bool, colors Colors) *Theme {
	h := palette()
	p := painter{renderer: lipgloss.NewRenderer(io.Discard), dark: dark, colors: colors}
	// Not termenv.Ascii for None: with it lipgloss would drop bold and reverse, too. The painter sets no colour then.
	p.renderer.SetColorProfile(termenv.TrueColor)
	p.renderer.SetHasDarkBackground(dark)

	t := &Theme{
		Dark:     dark,
		Border:   p.fg(h.border),
		Focus:    p.fg(h.accent),
		Selected: p.row(h.row).Bold(true),
		Marked:   p.row(h.rowDim),
		Banner:   p.fg(h.waiting).Reverse(true).Bold(true),
		Toast:    p.fg(h.accent),
		Failure:  p.fg(h.bad).Bold(true),
	}
	frame := p.plain().Border(lipgloss.RoundedBorder()).Padding(0, 1)
	t.Dialog = p.borderFG(frame, h.accent)
	t.Danger = p.borderFG(frame, h.bad)

	t.tones = [...]lipgloss.Style{
		Plain:   p.plain(),
		Muted:   p.fg(h.muted),
		Strong:  p.plain().Bold(true),
		Accent:  p.fg(h.accent).Bold(true),
		Good:    p.fg(h.good),
		Quiet:   p.fg(h.quiet),
		Waiting: p.fg(h.waiting).Bold(true),
		Lost:    p.fg(h.lost).Bold(true),
		Bad:     p.fg(h.bad).Bold(true),
		Over:    p.fg(h.muted),
		Busy:    p.fg(h.accent),
	}
	return t
}

// painter turns hues into styles.
type painter struct {
	renderer *lipgloss.Renderer
	dark     bool
	colors   Colors
}

func (p painter) plain() lipgloss.Style { return p.renderer.NewStyle() }

func (p painter) color(h hue) lipgloss.TerminalColor {
	switch {
	case p.colors == None:
		return lipgloss.NoColor{}
	case p.colors == Basic && h.basic == "":
		return lipgloss.NoColor{}
	case p.colors == Basic:
		return lipgloss.Color(h.basic)
	case p.dark:
		return lipgloss.Color(h.dark)
	}
	return lipgloss.Color(h.light)
}

func (p painter) fg(h hue) lipgloss.Style { return p.plain().Foreground(p.color(h)) }

func (p painter) borderFG(s lipgloss.Style, h hue) lipgloss.Style {
	return s.BorderForeground(p.color(h))
}

// row is the ground of a selected row: a background where there are colours to spare, else reverse video.
func (p painter) row(h hue) lipgloss.Style {
	if p.colors == Full {
		return p.plain().Background(p.color(h))
	}
	return p.plain().Reverse(true)
}
