package ws

import (
	"sync"
	"time"
)

// looks is how often a write that blocks is looked at within the time that it may block.
const looks = 6

// watch looks after one write.
type watch struct {
	progress func() int64
	moved    func()
	stalled  func()
	every    time.Duration

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	last  int64
	still int // looks at which nothing had moved
	over  bool
}

// Watch looks after a write that begins now. While it lasts, moved is called whenever progress has another value than
// before, and stalled, once, when progress has not changed for limit. moved may be nil. Neither is called after stop has
// returned, nor may they call stop.
func Watch(limit time.Duration, progress func() int64, moved, stalled func()) (stop func()) {
	w := &watch{progress: progress, moved: moved, stalled: stalled, every: limit / looks}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.every, w.look)
	return w.stop
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	now := w.progress()
	switch {
	case w.still == 0: // the first look has nothing to compare with
		w.still = 1
	case now != w.last:
		w.still = 1
		if w.moved != nil {
			w.moved()
		}
	default:
		w.still++
	}
	w.last = now
	if w.still >= looks {
		w.over = true
		w.stalled()
		return
	}
	w.timer.Reset(w.every)
}
