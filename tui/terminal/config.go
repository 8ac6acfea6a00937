package terminal

import (
	"log/slog"
	"os"
)

// Env is the part of the environment that describes the terminal.
type Env struct {
	Term      string // TERM
	ColorTerm string // COLORTERM
	NoColor   string // NO_COLOR; any value but "" switches colours off (https://no-color.org)
	Locale    string // the first of LC_ALL, LC_CTYPE, LANG that is set
}

// Config is what Open needs.
type Config struct {
	In, Out *os.File
	Env     Env
	// StatePath is a file in the data directory; the terminal's device number is appended. It exists while the terminal
	// is held, so that the next start after a kill -9 knows that it has to clean up. "" keeps no such file.
	StatePath string
	Mouse     bool // the dashboard wants the mouse
	Prefix    Key  // the key that gives the keyboard back; the zero Key is DefaultPrefix
	// Bare leaves the screen to the caller, who writes to it by Terminal.Write: no alternate screen, no frames.
	Bare bool
	// Alternate is for a bare terminal: the caller writes to the alternate screen.
	Alternate bool
	Log       *slog.Logger
}

func (c Config) use() use {
	switch {
	case !c.Bare:
		return frames
	case c.Alternate:
		return otherScreen
	}
	return plainScreen
}
