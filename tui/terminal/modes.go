package terminal

import (
	"strconv"

	"corral/vt"
)

// The bytes that take a terminal and give it back. The names and numbers are those of xterm's control sequences
// (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html), the keyboard modes also of
// https://sw.kovidgoyal.net/kitty/keyboard-protocol/, mode 2026 of
// https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036.
const (
	altScreenOn  = "\x1b[?1049h"
	altScreenOff = "\x1b[?1049l"
	pasteFocusOn = "\x1b[?2004h\x1b[?1004h"
	queries      = "\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b[?2026$p\x1b[c" // colours, synchronized output; DA1 ends the list
	endString    = "\x1b\\"                                           // ST: ends a sequence that was cut short
	clearScreen  = "\x1b[H\x1b[2J"
	belowScreen  = "\x1b[9999;1H\r\n" // to a new line under what a bare terminal's user drew
)

// use is what a terminal is taken for.
type use uint8

const (
	frames      use = iota // the painter draws, on the alternate screen
	plainScreen            // the caller writes, to the screen as it is
	otherScreen            // the caller writes, to the alternate screen
)

// enter returns what takes the terminal. The encoder clears the screen with its first frame, and with it whatever a
// terminal printed of the questions.
func enter(c capabilities, u use, mouse int) []byte {
	var b []byte
	if u != plainScreen && c.altScreen {
		b = append(b, altScreenOn...)
	}
	switch u {
	case frames:
		b = append(b, "\x1b[?25l"...)
	case otherScreen:
		b = append(b, clearScreen...)
	case plainScreen:
	}
	b = append(b, pasteFocusOn...)
	return appendMouse(b, 0, mouse)
}

// leave returns what gives the terminal back: it ends what may be half done, leaves the alternate screen, and then resets
// every mode that we or the stream of a pane may have set. That order matters: terminals that keep modes per screen must
// be told on the screen that remains.
func leave(c capabilities, u use) []byte {
	b := []byte("\x1b[m")
	if !c.plain {
		b = append(b, "\x1b]8;;\x1b\\\x1b[?2026l"...)
	}
	switch {
	case u == plainScreen:
	case c.altScreen:
		b = append(b, altScreenOff...)
	default:
		b = append(b, clearScreen...)
	}
	b = append(b, "\x1b7\x1b[r\x1b8"...) // no scroll margins; setting them moves the cursor, so it is put back
	b = append(b, "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l"...)
	if !c.plain {
		b = append(b, "\x1b[>4m\x1b[<u\x1b[0 q"...) // modifyOtherKeys, kitty's keyboard flags, the cursor's shape
	}
	return append(b, "\x1b[?1l\x1b>\x1b[?7h\x1b[?25h\x1b[m"...) // cursor keys, keypad, margins, cursor
}

// mouseLevel returns the mouse tracking that the terminal needs: the dashboard wants drags (1002), a program perhaps
// every motion (1003). tmux filters what a program did not ask for.
func mouseLevel(dashboard bool, m vt.Modes) int {
	level := 0
	if dashboard {
		level = 1002
	}
	switch m.MouseTracking {
	case 9, 1000:
		return max(level, 1000)
	case 1002, 1003:
		return max(level, m.MouseTracking)
	}
	return level
}

// appendMouse appends the change from one level of mouse tracking to another.
func appendMouse(b []byte, from, to int) []byte {
	if from == to {
		return b
	}
	if from != 0 {
		b = appendMode(b, from, 'l')
	}
	if to == 0 {
		return appendMode(b, 1006, 'l')
	}
	b = appendMode(b, to, 'h')
	return appendMode(b, 1006, 'h')
}

func appendMode(b []byte, mode int, set byte) []byte {
	b = append(b, "\x1b[?"...)
	b = strconv.AppendInt(b, int64(mode), 10)
	return append(b, set)
}
