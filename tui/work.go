package tui

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// work runs commands so that they can be ended and waited for, which Bubble Tea's own cannot. Update makes commands with
// it; stop ends their contexts and waits for those that run.
type work struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	stopped bool           // guarded by mu
	running sync.WaitGroup // Add under mu while not stopped
}

func newWork(ctx context.Context) *work {
	w := &work{}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// do returns a command that runs f with a deadline; 0 is none. A panic in f becomes a panickedMsg.
func (w *work) do(deadline time.Duration, f func(context.Context) tea.Msg) tea.Cmd {
	return func() (msg tea.Msg) {
		if !w.begin() {
			return nil
		}
		defer w.running.Done()
		defer func() {
			if v := recover(); v != nil {
				msg = panickedMsg{value: v, stack: debug.Stack()}
			}
		}()
		ctx := w.ctx
		if deadline > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, deadline)
			defer cancel()
		}
		return f(ctx)
	}
}

// after returns a command that brings msg after d, or nothing when the dashboard closes before.
func (w *work) after(d time.Duration, msg tea.Msg) tea.Cmd {
	return w.do(0, func(ctx context.Context) tea.Msg {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return msg
		case <-ctx.Done():
			return nil
		}
	})
}

func (w *work) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	w.running.Add(1)
	return true
}

func (w *work) stop() {
	w.cancel()
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.running.Wait()
}
