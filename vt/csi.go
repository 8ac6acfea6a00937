package vt

// control executes a C0 control character.
func (t *terminal) control(b byte) {
	t.interrupt()
	switch b {
	case 0x07: // BEL
		t.emit(EventBell, "")
	case 0x08: // BS
		t.moveTo(t.y, t.x-1)
	case 0x09: // HT
		t.tab(1)
	case 0x0a, 0x0b, 0x0c: // LF, VT, FF
		t.lineFeed(t.back())
	case 0x0d: // CR
		t.moveTo(t.y, 0)
	case 0x0e: // SO
		t.gl = 1
	case 0x0f: // SI
		t.gl = 0
	}
}

// escape executes an escape sequence.
func (t *terminal) escape(inter, final byte) {
	t.interrupt()
	switch inter {
	case 0:
	case '(', ')', '*', '+':
		t.sets[inter-'('] = charset(final)
		return
	case '#':
		if final == '8' {
			t.align()
		}
		return
	default:
		return
	}
	switch final {
	case '7': // DECSC
		*t.savedCursor() = t.save()
	case '8': // DECRC
		t.restore(*t.savedCursor())
	case 'D': // IND
		t.lineFeed(t.back())
	case 'E': // NEL
		t.lineFeed(t.back())
		t.x = 0
	case 'H': // HTS
		t.tabs[t.x] = true
	case 'M': // RI
		t.reverseLineFeed()
	case 'N', 'O': // SS2, SS3
		t.shift = int(final-'N') + 2
	case 'n', 'o': // LS2, LS3
		t.gl = int(final-'n') + 2
	case 'c': // RIS
		t.reset()
		t.sync(false)
	}
}

// align is DECALN.
func (t *terminal) align() {
	t.setPen(Style{})
	t.origin = false
	t.top, t.bottom = 0, t.rows-1
	t.moveTo(0, 0)
	line := make([]byte, t.cols)
	for x := range line {
		line[x] = 'E'
	}
	for y := range t.rows {
		t.grid.text(y, 0, plainStyle, line)
	}
}

// csi executes a control sequence.
func (t *terminal) csi(s *sequence) {
	if s.final == 'm' && s.prefix == 0 && s.inter == 0 {
		t.joiner = false
		t.last.ok = false
		t.pen.applySGR(s)
		t.penKnown = false
		return
	}
	if s.final == 'b' && s.prefix == 0 && s.inter == 0 {
		t.repeat(s.count(0))
		return
	}
	t.interrupt()
	switch {
	case s.prefix == '?' && s.inter == 0 && (s.final == 'h' || s.final == 'l'):
		for i := range s.n {
			t.privateMode(s.param(i, 0), s.final == 'h')
		}
	case s.prefix == 0 && s.inter == ' ' && s.final == 'q':
		t.shape = CursorShape(s.param(0, 0))
		if s.param(0, 0) > 6 {
			t.shape = 0
		}
	case s.prefix == 0 && s.inter == '!' && s.final == 'p':
		t.softReset()
	case s.prefix == 0 && s.inter == 0:
		if !t.move(s) {
			t.edit(s)
		}
	}
}

// move executes the sequences that place the cursor, and reports whether s is one.
func (t *terminal) move(s *sequence) bool {
	n := s.count(0)
	switch s.final {
	case 'A':
		t.up(n)
	case 'B':
		t.down(n)
	case 'C', 'a':
		t.moveTo(t.y, t.x+n)
	case 'D':
		t.moveTo(t.y, t.x-n)
	case 'E':
		t.down(n)
		t.x = 0
	case 'F':
		t.up(n)
		t.x = 0
	case 'G', '`':
		t.moveTo(t.y, n-1)
	case 'H', 'f':
		t.address(n-1, s.count(1)-1)
	case 'I':
		t.tab(n)
	case 'Z':
		t.backTab(n)
	case 'd':
		t.address(n-1, t.x)
	case 'e': // VPR ignores the margins
		t.moveTo(t.y+n, t.x)
	case 's':
		if s.n == 0 { // with parameters it would be DECSLRM
			*t.savedCursor() = t.save()
		}
	case 'u':
		t.restore(*t.savedCursor())
	default:
		return false
	}
	return true
}

// edit executes the sequences that change cells, margins, tab stops and modes.
func (t *terminal) edit(s *sequence) {
	n := s.count(0)
	switch s.final {
	case '@':
		t.grid.insert(t.y, t.x, n, t.back())
		t.wrap = false
	case 'P':
		t.grid.remove(t.y, t.x, n, t.back())
		t.wrap = false
	case 'X':
		t.grid.erase(t.y, t.x, n, t.back())
		t.wrap = false
	case 'J':
		t.eraseDisplay(s.param(0, 0))
	case 'K':
		t.eraseLine(s.param(0, 0))
	case 'L':
		t.shiftLines(-n)
	case 'M':
		t.shiftLines(n)
	case 'S':
		t.grid.scroll(t.top, t.bottom, n, t.back())
	case 'T':
		if s.n <= 1 { // with more parameters it is highlight tracking
			t.grid.scroll(t.top, t.bottom, -n, t.back())
		}
	case 'r':
		t.setMargins(s)
	case 'g':
		t.clearTabs(s.param(0, 0))
	case 'h', 'l':
		for i := range s.n {
			if s.param(i, 0) == 4 { // IRM
				t.insertMode = s.final == 'h'
			}
		}
	}
}

// setMargins is DECSTBM: ignored unless it leaves two rows or more.
func (t *terminal) setMargins(s *sequence) {
	top := s.count(0) - 1
	bottom := s.param(1, 0)
	if bottom == 0 || bottom > t.rows {
		bottom = t.rows
	}
	if bottom--; top >= bottom {
		return
	}
	t.top, t.bottom = top, bottom
	t.address(0, 0)
}

// shiftLines is DL, and IL when n is negative. Outside the margins xterm ignores both. tmux does not, but shifts all
// lines below, and sends them on in the belief that its terminal does too; only an IL of all lines below does nothing.
func (t *terminal) shiftLines(n int) {
	bottom := t.bottom
	if t.y < t.top || t.y > t.bottom {
		bottom = t.rows - 1
		if -n >= t.rows-t.y {
			return
		}
	}
	t.grid.scroll(t.y, bottom, n, t.back())
	t.moveTo(t.y, 0)
}

// eraseDisplay is ED. ED 3 erases the history, of which there is none here.
func (t *terminal) eraseDisplay(how int) {
	from, to := 0, t.rows
	switch how {
	case 0:
		t.eraseLine(0)
		from = t.y + 1
	case 1:
		t.eraseLine(1)
		to = t.y
	case 2:
	default:
		return
	}
	for y := from; y < to; y++ {
		t.grid.erase(y, 0, t.cols, t.back())
	}
	t.wrap = false
}

// eraseLine is EL.
func (t *terminal) eraseLine(how int) {
	switch how {
	case 0:
		t.grid.erase(t.y, t.x, t.cols-t.x, t.back())
	case 1:
		t.grid.erase(t.y, 0, t.x+1, t.back())
	case 2:
		t.grid.erase(t.y, 0, t.cols, t.back())
	}
	t.wrap = false
}

// clearTabs is TBC.
func (t *terminal) clearTabs(how int) {
	switch how {
	case 0:
		t.tabs[t.x] = false
	case 3:
		clear(t.tabs)
	}
}
