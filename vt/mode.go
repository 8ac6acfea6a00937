package vt

// privateMode sets or resets a DEC private mode, by the numbers of xterm's control sequences
// (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html). What concerns the user's terminal is only recorded.
func (t *terminal) privateMode(mode int, set bool) {
	switch mode {
	case 1:
		t.modes.ApplicationKeys = set
	case 5:
		t.setReverseVideo(set)
	case 6:
		t.origin = set
		t.address(0, 0)
	case 7:
		t.autowrap = set
		t.wrap = t.wrap && set
	case 9, 1000, 1002, 1003:
		t.modes.MouseTracking = 0
		if set {
			t.modes.MouseTracking = mode
		}
	case 25:
		t.visible = set
	case 47:
		t.useAlternate(set)
	case 1004:
		t.modes.FocusEvents = set
	case 1006:
		t.modes.MouseSGR = set
	case 1047:
		if !set && t.modes.AlternateScreen {
			t.eraseAll()
		}
		t.useAlternate(set)
	case 1048:
		t.saveOrRestore(set)
	case 1049:
		t.alternate1049(set)
	case 2004:
		t.modes.BracketedPaste = set
	case 2026:
		t.sync(set)
	}
}

func (t *terminal) setReverseVideo(set bool) {
	if t.reverseVideo == set {
		return
	}
	t.reverseVideo = set
	t.touch()
}

// touch has every row resolved again.
func (t *terminal) touch() {
	for _, g := range [...]*grid{t.main, t.alt} {
		if g == nil {
			continue
		}
		for _, r := range g.lines {
			r.dirty = true
		}
	}
}

func (t *terminal) saveOrRestore(save bool) {
	if save {
		*t.savedCursor() = t.save()
		return
	}
	t.restore(*t.savedCursor())
}

// alternate1049 saves the cursor, goes to the alternate screen and clears it, or goes back. Doing either twice changes
// nothing.
func (t *terminal) alternate1049(set bool) {
	if set == t.modes.AlternateScreen {
		return
	}
	if set {
		t.savedMain = t.save()
		t.useAlternate(true)
		t.eraseAll()
		return
	}
	t.useAlternate(false)
	t.restore(t.savedMain)
}

// useAlternate shows the alternate screen or the main one.
func (t *terminal) useAlternate(set bool) {
	t.modes.AlternateScreen = set
	if !set {
		t.grid = t.main
		return
	}
	if t.alt == nil {
		t.alt = newGrid(t.cols, t.rows, t.codeWidth)
	}
	t.grid = t.alt
}

func (t *terminal) eraseAll() {
	for y := range t.rows {
		t.grid.erase(y, 0, t.cols, t.back())
	}
}
