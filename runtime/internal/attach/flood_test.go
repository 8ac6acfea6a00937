package attach

import (
	"testing"
	"time"

	"corral/e2e/rounds"
	"corral/sessions"
)

// A program prints as fast as it can, one viewer watches and another takes nothing: ^C of the first acts at once, and the
// second is given up when its time has come, not before.
func TestInterruptInAFlood(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.stallLimit = time.Duration(rounds.N(2, 2, 30)) * time.Second
	b.start(t, "a", 120, 40, `trap 'echo; echo interrupted' INT; while read x; do (trap - INT; exec yes); done`)
	healthy := b.view(t, "a", "mode", "pane")
	healthy.live(1)
	stopped := b.view(t, "a", "mode", "preview")
	stopped.live(1)
	stopped.pause()
	begun := time.Now()
	for range rounds.N(2, 5, 20) {
		healthy.typeKeys("x\r")
		healthy.shows("y\ny\ny")
		typed := time.Now()
		healthy.typeKeys("\x03")
		healthy.shows("interrupted")
		if took := time.Since(typed); rounds.Timing() && took > 500*time.Millisecond {
			t.Errorf("^C acted after %v", took)
		}
	}
	healthy.typeKeys("x\r")
	until(t, "the stopped viewer is given up", func() bool { return b.counted("a") == [2]int{1, 0} })
	if after := time.Since(begun); after < b.stallLimit {
		t.Errorf("given up after %v", after)
	}
	stopped.resume()
	if code := stopped.closed(); code != sessions.CloseNotDraining {
		t.Errorf("closed with %d", code)
	}
	healthy.typeKeys("\x03")
	healthy.shows("interrupted")
}
