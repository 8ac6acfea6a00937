package vt

import "unicode/utf8"

// Bounds on what one sequence may hold. A terminal's own sequences stay far below them; what exceeds them is dropped
// whole, as tmux does.
const (
	maxParams = 64
	maxParam  = 65535
	maxInter  = 4
	maxString = 1 << 20
	// keepString is how much of a string buffer is kept for the next string.
	keepString = 64 << 10
)

// handler receives what the parser finds. Arguments are valid during the call only.
type handler interface {
	text(p []byte)              // printable ASCII
	char(r rune)                // any other character that is no control
	control(b byte)             // C0
	escape(inter, final byte)   // ESC, with one intermediate byte or 0
	csi(s *sequence)            // CSI
	str(kind byte, data []byte) // a control string: kind is ] (OSC), P (DCS), _ (APC), ^ (PM), X (SOS) or k (title)
}

// sequence is a control sequence.
type sequence struct {
	prefix byte // one of < = > ? or 0
	inter  byte // the intermediate byte or 0
	final  byte
	n      int             // number of parameters
	params [maxParams]int  // -1 where none was given
	sub    [maxParams]bool // the parameter was joined to the one before by a colon
}

// param returns parameter i, or def when it is missing.
func (s *sequence) param(i, def int) int {
	if i >= s.n || s.params[i] < 0 {
		return def
	}
	return s.params[i]
}

// count returns parameter i as a count, for which missing and 0 mean 1.
func (s *sequence) count(i int) int { return max(s.param(i, 1), 1) }

type parserState uint8

// The states are those of the DEC parser of Paul Williams (https://vt100.net/emu/dec_ansi_parser), with all strings in
// one state, because their ends are all that matters here.
const (
	stateGround parserState = iota
	stateEscape
	stateEscapeInter
	stateCSI       // before the first byte: a prefix is allowed
	stateCSIParam  // parameters
	stateCSIInter  // intermediates
	stateCSIIgnore // broken, up to its final byte
	stateString
	stateStringEscape // ESC inside a string: its end, or the start of something else
)

// parser cuts a stream of bytes into text, controls, sequences and strings. It accepts any input: whatever is broken is
// dropped up to where it ends, and a control character is never swallowed by a broken character. The result does not
// depend on how the stream is split.
type parser struct {
	state  parserState
	inters int // intermediates seen; more than one makes a sequence unknown
	seq    sequence
	kind   byte
	str    []byte
	long   bool // the string is over-long and dropped

	partial  [utf8.UTFMax]byte // a character of which the end has not come
	npartial int
}

// ground reports whether the parser is between sequences and characters.
func (p *parser) ground() bool { return p.state == stateGround && p.npartial == 0 }

// feed parses b.
func (p *parser) feed(b []byte, h handler) {
	for len(b) > 0 {
		if p.state == stateGround {
			b = p.plain(b, h)
			continue
		}
		if p.state == stateString {
			b = p.collect(b, h)
			continue
		}
		p.step(b[0], h)
		b = b[1:]
	}
}

// plain consumes text up to the first control character, which it executes.
func (p *parser) plain(b []byte, h handler) []byte {
	if p.npartial > 0 {
		return p.resume(b, h)
	}
	n := 0
	for n < len(b) && b[n] >= 0x20 && b[n] < 0x7f {
		n++
	}
	if n > 0 {
		h.text(b[:n])
		return b[n:]
	}
	c := b[0]
	switch {
	case c == 0x1b:
		p.enterEscape()
	case c < 0x20:
		h.control(c)
	case c == 0x7f: // DEL is padding
	default:
		return p.decode(b, h)
	}
	return b[1:]
}

// decode consumes one character that is not ASCII, or the start of one at the end of b.
func (p *parser) decode(b []byte, h handler) []byte {
	r, size := utf8.DecodeRune(b)
	if r != utf8.RuneError || size > 1 {
		p.emit(r, h)
		return b[size:]
	}
	n := prefixLen(b)
	if n == len(b) && !utf8.FullRune(b) {
		p.npartial = copy(p.partial[:], b)
		return nil
	}
	p.bad(b[0], h)
	return b[n:]
}

// resume goes on with a character whose first bytes came in an earlier write.
func (p *parser) resume(b []byte, h handler) []byte {
	var joined [2 * utf8.UTFMax]byte
	had := copy(joined[:], p.partial[:p.npartial])
	n := had + copy(joined[had:had+utf8.UTFMax], b)
	p.npartial = 0
	rest := p.decode(joined[:n], h)
	if rest == nil { // still incomplete, so all of b is in it
		return nil
	}
	return b[n-len(rest)-had:]
}

// emit hands on one character, unless it is a C1 control: nothing that tmux prints uses them, and as controls they are
// only a risk.
func (p *parser) emit(r rune, h handler) {
	if r >= 0x80 && r < 0xa0 {
		return
	}
	h.char(r)
}

// bad reports one maximal broken prefix of a character, which began with c. A byte that is a C1 control by itself is
// dropped as such.
func (p *parser) bad(c byte, h handler) {
	if c >= 0x80 && c < 0xa0 {
		return
	}
	h.char(utf8.RuneError)
}

// prefixLen returns the length of the longest prefix of b that could begin a character, at least 1, as Unicode (section
// 3.9, "maximal subparts") recommends for broken input.
func prefixLen(b []byte) int {
	c := b[0]
	lo, hi, need := byte(0x80), byte(0xbf), 0
	switch {
	case c >= 0xc2 && c <= 0xdf:
		need = 1
	case c >= 0xe0 && c <= 0xef:
		need = 2
		if c == 0xe0 {
			lo = 0xa0
		} else if c == 0xed {
			hi = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		need = 3
		if c == 0xf0 {
			lo = 0x90
		} else if c == 0xf4 {
			hi = 0x8f
		}
	}
	n := 1
	for n < len(b) && n <= need && b[n] >= lo && b[n] <= hi {
		n++
		lo, hi = 0x80, 0xbf
	}
	return n
}

func (p *parser) enterEscape() {
	p.state = stateEscape
	p.inters = 0
	p.seq.inter = 0
}

func (p *parser) enterCSI() {
	p.state = stateCSI
	p.inters = 0
	p.seq.prefix, p.seq.inter, p.seq.n = 0, 0, 0
}

func (p *parser) enterString(kind byte) {
	p.state = stateString
	p.kind = kind
	p.long = false
	if cap(p.str) > keepString {
		p.str = nil
	}
	p.str = p.str[:0]
}

// step handles one byte outside text and strings.
func (p *parser) step(c byte, h handler) {
	switch {
	case c == 0x18 || c == 0x1a: // CAN, SUB abort
		p.state = stateGround
		return
	case p.state == stateStringEscape:
		p.endString(c, h)
		return
	case c == 0x1b:
		p.enterEscape()
		return
	case c < 0x20:
		h.control(c)
		return
	case c == 0x7f:
		return
	case c >= 0x80: // no sequence holds such a byte: it ends here, and the byte is text
		p.state = stateGround
		p.plain([]byte{c}, h)
		return
	}
	switch p.state {
	case stateEscape, stateEscapeInter:
		p.stepEscape(c, h)
	case stateCSI, stateCSIParam:
		p.stepCSI(c, h)
	case stateCSIInter:
		p.stepCSIInter(c, h)
	case stateCSIIgnore:
		if c >= 0x40 {
			p.state = stateGround
		}
	case stateGround, stateString, stateStringEscape: // handled by the callers
	}
}

func (p *parser) stepEscape(c byte, h handler) {
	if c < 0x30 {
		p.inters++
		p.seq.inter = c
		p.state = stateEscapeInter
		return
	}
	if p.state == stateEscape {
		switch c {
		case '[':
			p.enterCSI()
			return
		case ']', 'P', '_', '^', 'X', 'k':
			p.enterString(c)
			return
		}
	}
	p.state = stateGround
	if p.inters <= 1 {
		h.escape(p.seq.inter, c)
	}
}

func (p *parser) stepCSI(c byte, h handler) {
	s := &p.seq
	switch {
	case c >= 0x40:
		p.dispatchCSI(c, h)
	case c < 0x30:
		p.state = stateCSIInter
		p.stepCSIInter(c, h)
	case c >= 0x3c: // a prefix, in the first place only
		if p.state != stateCSI {
			p.state = stateCSIIgnore
			return
		}
		s.prefix = c
		p.state = stateCSIParam
	case c <= '9':
		p.state = stateCSIParam
		p.openParam()
		v := max(s.params[s.n-1], 0)
		s.params[s.n-1] = min(v*10+int(c-'0'), maxParam)
	default: // ; or :
		p.state = stateCSIParam
		p.openParam()
		if s.n == maxParams {
			p.state = stateCSIIgnore
			return
		}
		s.params[s.n] = -1
		s.sub[s.n] = c == ':'
		s.n++
	}
}

// openParam begins the first parameter when none is there yet.
func (p *parser) openParam() {
	if p.seq.n == 0 {
		p.seq.params[0] = -1
		p.seq.sub[0] = false
		p.seq.n = 1
	}
}

func (p *parser) stepCSIInter(c byte, h handler) {
	switch {
	case c >= 0x40:
		p.dispatchCSI(c, h)
	case c >= 0x30: // a parameter after an intermediate
		p.state = stateCSIIgnore
	default:
		p.inters = min(p.inters+1, maxInter)
		p.seq.inter = c
	}
}

func (p *parser) dispatchCSI(c byte, h handler) {
	p.state = stateGround
	if p.inters > 1 {
		return
	}
	p.seq.final = c
	h.csi(&p.seq)
}

// collect consumes the bytes of a string up to its end.
func (p *parser) collect(b []byte, h handler) []byte {
	n := 0
	for n < len(b) && b[n] != 0x1b && b[n] != 0x18 && b[n] != 0x1a && b[n] != 0x07 {
		n++
	}
	if p.long = p.long || len(p.str)+n > maxString; !p.long {
		p.str = append(p.str, b[:n]...)
	}
	if n == len(b) {
		return nil
	}
	switch c := b[n]; c {
	case 0x1b:
		p.state = stateStringEscape
	case 0x07: // BEL ends what xterm lets it end; elsewhere it is dropped
		if p.kind == ']' || p.kind == 'k' {
			p.state = stateGround
			p.deliver(h)
		}
	default:
		p.state = stateGround
	}
	return b[n+1:]
}

// endString handles the byte after an ESC inside a string: a backslash makes it the terminator, anything else a new
// escape sequence in place of the string.
func (p *parser) endString(c byte, h handler) {
	if c == '\\' {
		p.state = stateGround
		p.deliver(h)
		return
	}
	p.enterEscape()
	p.step(c, h)
}

func (p *parser) deliver(h handler) {
	if !p.long {
		h.str(p.kind, p.str)
	}
}
