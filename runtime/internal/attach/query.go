package attach

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// replies answers what tmux asks its terminal when it attaches (tty.c: tty_send_requests), in place of the viewer: the
// answers are needed at once, and an answer that comes late or from a terminal that tmux does not know is typed into
// the program. Other questions are removed without an answer.
type replies struct {
	cols, rows int
	fg, bg     string // "#rrggbb", "" when unknown
}

const (
	cellHeight = 16

	// Primary attributes: a VT220 with colour, none of the features that tmux would then use (28 rectangles, 21
	// margins, 4 sixel).
	primaryAttributes = "\x1b[?62;22c"
	// Secondary attributes: a plain xterm-like terminal. With the answer, tmux switches on focus events and extended
	// keys at once instead of after five seconds; a type of 41, 77, 84 or 85 would make it guess features.
	secondaryAttributes = "\x1b[>1;10;0c"
	versionReply        = "\x1bP>|corral\x1b\\"
)

// csi says whether a control sequence is a question, and how to answer it, if at all.
func (r *replies) csi(t []byte) (question bool, answer []byte) {
	params, final := string(t[2:len(t)-1]), t[len(t)-1]
	switch final {
	case 'c':
		switch params {
		case "", "0":
			return true, []byte(primaryAttributes)
		case ">", ">0":
			return true, []byte(secondaryAttributes)
		}
		return true, nil
	case 'q':
		if params == ">" || params == ">0" {
			return true, []byte(versionReply)
		}
		return strings.HasPrefix(params, ">"), nil // not DECSCUSR, which ends in SP q
	case 'n':
		if params == "?996" {
			return true, r.theme()
		}
		return true, nil
	case 't':
		return true, r.window(params) // questions and changes of the window: neither leaves the pane
	case 'p':
		if params == "?2026$" {
			return true, []byte("\x1b[?2026;2$y")
		}
		return strings.HasSuffix(params, "$"), nil
	case 'u':
		return params == "?", nil // keyboard protocol flags
	case 'h', 'l':
		return params == "?2031", nil // reports of theme changes, which would arrive as input
	}
	return false, nil
}

func (r *replies) window(params string) []byte {
	switch params {
	case "14":
		return fmt.Appendf(nil, "\x1b[4;%d;%dt", r.rows*cellHeight, r.cols*cellWidth(0))
	case "18":
		return fmt.Appendf(nil, "\x1b[8;%d;%dt", r.rows, r.cols)
	}
	return nil
}

// theme says whether the background is dark (1) or light (2).
func (r *replies) theme() []byte {
	red, green, blue, ok := parseColour(r.bg)
	if !ok {
		return nil
	}
	// The weights of luma in ITU-R BT.601.
	if 299*red+587*green+114*blue > 127*1000 {
		return []byte("\x1b[?997;2n")
	}
	return []byte("\x1b[?997;1n")
}

// osc says the same of an operating system command. Clipboard commands count as questions: nothing a program prints
// reaches the viewer's clipboard this way.
func (r *replies) osc(body []byte) (question bool, answer []byte) {
	number, text, _ := bytes.Cut(body, []byte{';'})
	switch string(number) {
	case "10":
		return string(text) == "?", colourReply("10", r.fg)
	case "11":
		return string(text) == "?", colourReply("11", r.bg)
	case "52":
		return true, nil
	case "0", "1", "2": // a title that is no marker: left over from another configuration
		return true, nil
	}
	return bytes.Equal(text, []byte("?")) || bytes.HasSuffix(text, []byte(";?")), nil
}

// dcs says the same of a device control string: XTGETTCAP and DECRQSS.
func (r *replies) dcs(introducer byte, body []byte) (question bool, answer []byte) {
	return introducer == 'P' && (bytes.HasPrefix(body, []byte("+q")) || bytes.HasPrefix(body, []byte("$q"))), nil
}

func colourReply(number, colour string) []byte {
	red, green, blue, ok := parseColour(colour)
	if !ok {
		return nil
	}
	return fmt.Appendf(nil, "\x1b]%s;rgb:%02x%02x/%02x%02x/%02x%02x\x1b\\", number, red, red, green, green, blue, blue)
}

// parseColour reads "#rrggbb".
func parseColour(s string) (red, green, blue int, ok bool) {
	if len(s) != 7 || s[0] != '#' {
		return 0, 0, 0, false
	}
	n, err := strconv.ParseUint(s[1:], 16, 32)
	if err != nil {
		return 0, 0, 0, false
	}
	return int(n >> 16), int(n >> 8 & 0xff), int(n & 0xff), true
}

// isReply reports whether a token that came from a viewer's terminal is an answer to a question rather than a key.
// tmux asked none of it; it would type the answer into the program. CPR is not among them: it looks like a modified F3.
func isReply(k kind, t []byte) bool {
	switch k {
	case csi:
		private := t[2] == '?' || t[2] == '>' || t[2] == '='
		switch t[len(t)-1] {
		case 'c', 'n', 'y', 'R', 'u', 'S':
			return private
		case 't':
			return true
		}
		return false
	case osc, otherStr:
		return true
	case plain, escape, broken, incomplete:
		return false
	}
	return false
}
