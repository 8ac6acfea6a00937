package terminal

import (
	"bytes"
	"strconv"
	"time"
	"unicode/utf8"
)

// kind is what a piece of the terminal's input is.
type kind uint8

const (
	kindKey        kind = iota // a character or a key's sequence
	kindPrefix                 // the prefix key, however it was sent
	kindMouse                  // a mouse report: SGR, or X10
	kindPasteBegin             // CSI 200~
	kindPasteEnd               // CSI 201~
	kindFocusIn                // CSI I
	kindFocusOut               // CSI O
	kindReply                  // the terminal's answer to a question, ours or not
	kindPaste                  // a whole paste without markers; made by the reader
)

const (
	// holdKey is how long the beginning of a sequence waits for its rest: a lone escape is told from the start of a
	// sequence by time only.
	holdKey = 30 * time.Millisecond
	// holdReply is the same for what cannot be the beginning of a key: mouse reports and answers, which a slow line may
	// deliver in pieces, and which would be typed into a program if they were given up too early.
	holdReply = time.Second

	maxSequence = 256     // bytes of a CSI sequence
	maxString   = 1 << 16 // bytes of an OSC or DCS answer
)

const esc = 0x1b

// lexer cuts the terminal's input into pieces. It has no state: the reader keeps what is incomplete.
type lexer struct{ prefix Key }

// next returns the kind and length of the first piece of b, which is not empty. Length 0 means that the piece goes on
// beyond b; then hold says how long to wait for the rest.
func (l lexer) next(b []byte) (k kind, n int, hold time.Duration) {
	switch c := b[0]; {
	case c == l.prefix.code:
		return kindPrefix, 1, 0
	case c == esc:
		return l.escape(b)
	case c < utf8.RuneSelf:
		return kindKey, 1, 0
	}
	if !utf8.FullRune(b) {
		return kindKey, 0, holdKey
	}
	_, n = utf8.DecodeRune(b)
	return kindKey, n, 0
}

// escape reads a piece that begins with ESC.
func (l lexer) escape(b []byte) (kind, int, time.Duration) {
	if len(b) == 1 {
		return kindKey, 0, holdKey
	}
	switch c := b[1]; {
	case c == '[':
		return l.csi(b)
	case c == 'O':
		return ss3(b)
	case c == ']' || c == 'P' || c == '_':
		return stringReply(b)
	case c == esc || c == l.prefix.code:
		return kindKey, 1, 0 // the escape key; what follows is looked at by itself
	case c < utf8.RuneSelf:
		return kindKey, 2, 0
	}
	if !utf8.FullRune(b[1:]) {
		return kindKey, 0, holdKey
	}
	_, n := utf8.DecodeRune(b[1:])
	return kindKey, 1 + n, 0
}

// ss3 reads ESC O and one character, as the arrows in application mode and F1 to F4 have it, some with a modifier digit
// before it.
func ss3(b []byte) (kind, int, time.Duration) {
	for i := 2; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9' && i < 4:
			continue
		case c > ' ' && c < 0x7f:
			return kindKey, i + 1, 0
		}
		return kindKey, 2, 0 // alt+O
	}
	return kindKey, 0, holdKey
}

// csi reads a control sequence: ESC [, parameters and intermediates (0x20-0x3f), and a final byte (0x40-0x7e).
func (l lexer) csi(b []byte) (kind, int, time.Duration) {
	if len(b) == 2 {
		return kindKey, 0, holdKey
	}
	switch b[2] {
	case 'M': // X10: three bytes follow, whatever they are
		if len(b) < 6 {
			return kindMouse, 0, holdReply
		}
		return kindMouse, 6, 0
	case '[': // F1 to F5 of the Linux console
		if len(b) < 4 {
			return kindKey, 0, holdKey
		}
		return kindKey, 4, 0
	}
	i := 2
	for i < len(b) && b[i] >= 0x20 && b[i] <= 0x3f {
		i++
	}
	noKey := b[2] >= '<' && b[2] <= '?' // a private marker: a mouse report or an answer
	switch {
	case i > maxSequence:
		return kindReply, i, 0
	case i == len(b) && noKey:
		return kindReply, 0, holdReply
	case i == len(b):
		return kindKey, 0, holdKey
	case b[i] < 0x40 || b[i] > 0x7e: // broken off by a control character
		if noKey {
			return kindReply, i, 0
		}
		return kindKey, i, 0
	}
	return l.classify(b[2:i], b[i]), i + 1, 0
}

// classify tells what a whole control sequence is.
func (l lexer) classify(params []byte, final byte) kind {
	if len(params) > 0 && params[0] >= '<' && params[0] <= '?' {
		if params[0] == '<' && (final == 'M' || final == 'm') {
			return kindMouse
		}
		return kindReply
	}
	switch final {
	case 'I':
		if len(params) == 0 {
			return kindFocusIn
		}
	case 'O':
		if len(params) == 0 {
			return kindFocusOut
		}
	case '~':
		switch string(params) {
		case "200":
			return kindPasteBegin
		case "201":
			return kindPasteEnd
		}
		// modifyOtherKeys: 27 ; modifiers ; code
		if p := numbers(params); len(p) == 3 && p[0] == 27 && l.isPrefix(p[2], p[1]) {
			return kindPrefix
		}
	case 'u': // kitty and xterm's formatOtherKeys: code ; modifiers
		if p := numbers(params); len(p) >= 2 && l.isPrefix(p[0], p[1]) {
			return kindPrefix
		}
	case 'R': // a cursor position, or F3 with a modifier (1;2 to 1;16)
		if p := numbers(params); len(p) == 2 && (p[0] != 1 || p[1] < 2 || p[1] > 16) {
			return kindReply
		}
	case 'c', 'n', 't', 'y':
		return kindReply
	}
	return kindKey
}

// isPrefix reports whether a code point with modifiers is the prefix key. Modifiers are 1 + a bit set, of which 4 is
// control; 64 and 128 are caps lock and num lock, which change nothing.
func (l lexer) isPrefix(code, modifiers int) bool {
	return code == int(l.prefix.letter()) && (modifiers-1)&^(64|128) == 4
}

// numbers reads parameters separated by semicolons; of each only what precedes a colon. nil if one is no number.
func numbers(params []byte) []int {
	fields := bytes.Split(params, []byte{';'})
	out := make([]int, 0, len(fields))
	for _, f := range fields {
		f, _, _ = bytes.Cut(f, []byte{':'})
		n, err := strconv.Atoi(string(f))
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// stringReply reads an answer that is a string: OSC (colours), DCS (names, settings), APC (kitty graphics). The same first
// bytes are alt+], alt+P and alt+_, so it counts as an answer only when it goes on as one.
func stringReply(b []byte) (kind, int, time.Duration) {
	switch begun, could := replyBegins(b); {
	case !begun && could:
		return kindKey, 0, holdKey
	case !begun:
		return kindKey, 2, 0
	}
	for i := 2; i < len(b); i++ {
		switch b[i] {
		case 0x07: // BEL, which ends OSC
			return kindReply, i + 1, 0
		case esc:
			if i+1 == len(b) {
				return kindReply, 0, holdReply
			}
			if b[i+1] == '\\' {
				return kindReply, i + 2, 0
			}
			return kindReply, i, 0 // broken off
		}
	}
	if len(b) > maxString {
		return kindReply, len(b), 0
	}
	return kindReply, 0, holdReply
}

// replyBegins reports whether b, which begins ESC ], ESC P or ESC _, is the beginning of an answer, and if not, whether
// it could become one.
func replyBegins(b []byte) (begun, could bool) {
	rest := b[2:]
	switch b[1] {
	case ']': // OSC number ;
		for i, c := range rest {
			if c == ';' {
				return i > 0, false
			}
			if c < '0' || c > '9' || i > 4 {
				return false, false
			}
		}
		return false, true
	case 'P': // XTVERSION, DA3, XTGETTCAP, DECRQSS
		for _, s := range []string{">|", "!|", "0+r", "1+r", "0$r", "1$r"} {
			if bytes.HasPrefix(rest, []byte(s)) {
				return true, false
			}
			could = could || bytes.HasPrefix([]byte(s), rest)
		}
		return false, could
	case '_':
		return len(rest) > 0 && rest[0] == 'G', len(rest) == 0
	}
	return false, false
}
