package attach

import (
	"strconv"

	"corral/sessions"
)

// modes are the DEC private modes that tmux has set in the viewer's terminal, of those that matter to its input.
type modes sessions.ScreenModes

// csi follows one control sequence. tmux sets one mode with each.
func (m *modes) csi(t []byte) {
	if len(t) < 5 || t[2] != '?' {
		return
	}
	final := t[len(t)-1]
	if final != 'h' && final != 'l' {
		return
	}
	on := final == 'h'
	switch string(t[3 : len(t)-1]) {
	case "1":
		m.ApplicationKeys = on
	case "25":
		m.CursorHidden = !on
	case "1004":
		m.FocusEvents = on
	case "1006":
		m.MouseSGR = on
	case "2004":
		m.BracketedPaste = on
	case "1000", "1002", "1003": // one at a time; switching any off switches tracking off
		m.MouseTracking = 0
		if on {
			m.MouseTracking, _ = strconv.Atoi(string(t[3 : len(t)-1]))
		}
	}
}

// sequences set a freshly reset terminal to m. The cursor is left to the redraw.
func (m *modes) sequences() []byte {
	var out []byte
	set := func(on bool, number int) {
		if on {
			out = append(out, "\x1b[?"...)
			out = strconv.AppendInt(out, int64(number), 10)
			out = append(out, 'h')
		}
	}
	set(m.ApplicationKeys, 1)
	set(m.MouseTracking != 0, m.MouseTracking)
	set(m.MouseSGR, 1006)
	set(m.FocusEvents, 1004)
	set(m.BracketedPaste, 2004)
	return out
}
