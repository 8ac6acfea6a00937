package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
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
	f := follower{dir: dir, q: q}
	pause := time.NewTimer(followEvery)
	defer pause.Stop()
	for {
		if err := f.catchUp(yield); err != nil {
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

// follower reads a journal that is being written, everything once.
type follower struct {
	dir    string
	q      Query // After moves on
	path   string
	offset int64 // how much of the segment at path has been read; in the compressed one it would be the same place
}

// catchUp yields what has come since it was called last.
func (f *follower) catchUp(yield func(*Record) error) error {
	list, err := segments(f.dir)
	if err != nil {
		return err
	}
	from := slices.IndexFunc(list, func(s segment) bool { return s.path == f.path })
	if from < 0 { // the first time, or retention took it
		from = f.q.first(list)
	}
	for _, s := range list[from:] {
		if s.path != f.path {
			f.path, f.offset = s.path, 0
		}
		b, err := s.readFrom(f.offset)
		if err != nil {
			continue // it cannot be read; what follows can
		}
		b = b[:bytes.LastIndexByte(b, '\n')+1] // the rest is being written
		_, err = scan(b, Query{After: f.q.After, Since: f.q.Since}, func(r *Record) error {
			f.q.After = r.Sequence
			if !f.q.Until.IsZero() && r.Time.After(f.q.Until) || len(f.q.Kinds) > 0 && !slices.Contains(f.q.Kinds, r.Kind) {
				return nil
			}
			return yield(r)
		})
		if err != nil {
			return err
		}
		f.offset += int64(len(b))
	}
	return nil
}
