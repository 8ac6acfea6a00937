package daemon

import (
	"context"
	"fmt"
	"sync"
)

// locks has one lock per terminal, for as long as somebody wants it.
type locks struct {
	mu sync.Mutex
	by map[string]*lock // guarded by mu
}

type lock struct {
	held  chan struct{} // holds a token while nobody has the lock
	users int           // holder and waiters; guarded by locks.mu
}

func newLocks() *locks { return &locks{by: map[string]*lock{}} }

// acquire locks terminal id until release is called, or gives up when ctx ends.
func (l *locks) acquire(ctx context.Context, id string) (release func(), err error) {
	l.mu.Lock()
	k := l.by[id]
	if k == nil {
		k = &lock{held: make(chan struct{}, 1)}
		k.held <- struct{}{}
		l.by[id] = k
	}
	k.users++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.by, id)
		}
	}
	select {
	case <-k.held:
		return func() { k.held <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("wait for terminal %s: %w", id, context.Cause(ctx))
	}
}
