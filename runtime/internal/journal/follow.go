package journal

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fsnotify/fsnotify"
)

// followEvery is how often a journal that is being written is read at most.
const followEvery = 50 * time.Millisecond

// Follow yields what Read does and then whatever is appended, until ctx ends or yield returns an error. It makes the
// directory of a journal that is not there yet.
func Follow(ctx context.Context, dir string, q Query, yield func(*Record) error) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("follow a journal: %w", err)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("follow a journal: %w", err)
	}
	defer watcher.Close()
	if err := watcher.Add(dir); err != nil {
		return fmt.Errorf("follow a journal: %w", err)
	}
	pause := time.NewTimer(followEvery)
	defer pause.Stop()
	kinds := q.Kinds
	q.Kinds = nil // to know what was read, whatever is wanted
	for {
		_, err := Read(dir, q, func(r *Record) error {
			q.After = r.Sequence
			if !(Query{Kinds: kinds}).wants(r) {
				return nil
			}
			return yield(r)
		})
		if err != nil {
			return err
		}
		select {
		case _, ok := <-watcher.Events:
			if !ok {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		pause.Reset(followEvery)
		for gathering := true; gathering; {
			select {
			case <-watcher.Events:
			case <-pause.C:
				gathering = false
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}
