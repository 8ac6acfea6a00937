package attach

import "corral/sessions"

// Who holds the keyboard of a terminal, who counts as attached, and who owns the size.
//
// A viewer holds the keyboard from its first own frame or key until release; it counts as attached from then on, before
// as watching. The owner of the size is the viewer that typed last, or that took the keyboard while nobody else held
// it. Read-only viewers never hold, and a preview does only after own.

// own gives v the keyboard because it asked for it.
func (t *terminal) own(v *viewer) {
	if v.readOnly {
		return
	}
	t.mu.Lock()
	owner := t.owner
	v.attached, v.holds = true, true
	if !t.heldByOthersLocked(v) {
		owner = v
	}
	changed := owner != t.owner
	t.owner = owner
	t.mu.Unlock()
	t.announceCounts()
	if changed {
		v.settleSoon()
	}
}

func (t *terminal) heldByOthersLocked(v *viewer) bool {
	for other := range t.viewers {
		if other != v && other.holds {
			return true
		}
	}
	return false
}

// typed notes that v is about to type, and reports whether it may.
func (t *terminal) typed(v *viewer) bool {
	t.mu.Lock()
	if v.readOnly || v.mode == sessions.ModePreview && !v.holds {
		t.mu.Unlock()
		return false
	}
	attached, owned := v.attached, t.owner == v
	v.attached, v.holds, t.owner = true, true, v
	t.mu.Unlock()
	if !attached {
		t.announceCounts()
	}
	if !owned {
		v.settleSoon()
	}
	return true
}

// release takes the keyboard from v. It goes on counting as attached, and owns the size until somebody else does.
func (t *terminal) release(v *viewer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v.holds = false
}

// resize notes the size that v would like, and follows it if v owns the size.
func (t *terminal) resize(v *viewer, cols, rows int) {
	t.mu.Lock()
	v.cols, v.rows = clampSize(cols), clampSize(rows)
	owned := t.owner == v
	t.mu.Unlock()
	if owned {
		v.settleSoon()
	}
}

// clampSize keeps a dimension to what tmux, vt and people can use; 0 stays 0 for unknown.
func clampSize(n int) int { return min(max(n, 0), 1000) }

// appear makes v count: as attached when it runs a whole terminal, else as watching. A whole terminal takes the
// keyboard by being there.
func (t *terminal) appear(v *viewer) {
	t.mu.Lock()
	v.present = true
	if v.mode == sessions.ModeRaw {
		v.attached = true
		if !v.readOnly {
			v.holds = true
			if !t.heldByOthersLocked(v) {
				t.owner = v
			}
		}
	}
	t.mu.Unlock()
	t.announceCounts()
}

// announceCounts tells the daemon and every viewer how many there are, if that has changed.
func (t *terminal) announceCounts() {
	t.counting.Lock()
	defer t.counting.Unlock()
	t.mu.Lock()
	var now [2]int
	viewers := t.listLocked()
	for _, v := range viewers {
		switch {
		case !v.present:
		case v.attached:
			now[0]++
		default:
			now[1]++
		}
	}
	t.mu.Unlock()
	if now == t.counted {
		return
	}
	t.counted = now
	for _, v := range viewers {
		v.queue.hurry(sessions.Frame{Type: sessions.FrameViewers, Attached: now[0], Watching: now[1]})
	}
	if t.counts != nil {
		t.counts(t.id, now[0], now[1])
	}
}
