package terminal

import (
	"bytes"
	"strconv"
)

// mouse is a mouse report. The button codes are xterm's: 0-2 buttons, 3 none, 32 added for motion, 64 and up for the wheel,
// 4, 8, 16 for shift, meta, control.
type mouse struct {
	code    int
	x, y    int // 0-based
	release bool
}

const (
	mouseMotion = 32
	mouseWheel  = 64 // also the extra buttons, 128
)

// parseMouse reads a report that the lexer called one.
func parseMouse(b []byte) (mouse, bool) {
	if len(b) == 6 && b[2] == 'M' { // X10: three bytes, each 32 more than its value, positions 1-based
		m := mouse{code: int(b[3]) - 32, x: int(b[4]) - 33, y: int(b[5]) - 33}
		m.release = m.code&(mouseWheel|3) == 3 && m.code&mouseMotion == 0
		return m, m.code >= 0 && m.x >= 0 && m.y >= 0
	}
	if len(b) < 4 || b[2] != '<' {
		return mouse{}, false
	}
	p := numbers(b[3 : len(b)-1])
	if len(p) != 3 {
		return mouse{}, false
	}
	m := mouse{code: p[0], x: p[1] - 1, y: p[2] - 1, release: b[len(b)-1] == 'm'}
	return m, m.code >= 0 && m.x >= 0 && m.y >= 0
}

// append appends the report in SGR form (1006).
func (m mouse) append(b []byte) []byte {
	b = append(b, "\x1b[<"...)
	b = strconv.AppendInt(b, int64(m.code), 10)
	b = append(b, ';')
	b = strconv.AppendInt(b, int64(m.x+1), 10)
	b = append(b, ';')
	b = strconv.AppendInt(b, int64(m.y+1), 10)
	if m.release {
		return append(b, 'm')
	}
	return append(b, 'M')
}

// isPress and isMotion tell what a report is; wheel turns are neither.
func (m mouse) isPress() bool {
	return !m.release && m.code&(mouseMotion|mouseWheel) == 0
}

func (m mouse) isMotion() bool { return m.code&mouseMotion != 0 && m.code&mouseWheel == 0 }

// sameMotion reports whether two pieces are motions with the same buttons, of which the later tells all.
func sameMotion(a, b []byte) bool {
	m, ok := parseMouse(a)
	n, also := parseMouse(b)
	return ok && also && m.isMotion() && m.code == n.code && bytes.HasPrefix(a, b[:3])
}
