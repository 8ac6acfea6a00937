package logtail

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"corral/sessions"
)

// textMost bounds the text that is kept: more than the log of a role and its old ones hold.
const textMost = 32 << 20

// Text is a log and its old ones as text for people, to be read like the log of a task. It is made as the lines are read,
// and kept in memory; offsets count in it. It is safe for concurrent use, has no goroutines and needs no closing.
type Text struct {
	path   string
	spell  func(line []byte) (text string, at time.Time)
	most   int
	mu     sync.Mutex
	begun  bool               // guarded by mu
	log    follower           // guarded by mu
	text   []byte             // guarded by mu
	before int64              // guarded by mu; bytes of text that were dropped
	marks  []sessions.LogMark // guarded by mu
}

// NewText returns the log at path. Spell says how a line reads, and when it was written if that is known.
func NewText(path string, spell func(line []byte) (text string, at time.Time)) *Text {
	t := &Text{path: path, spell: spell, most: textMost}
	t.log = follower{path: path, line: t.add}
	return t
}

// ReadAt fills p from off on as far as the text reaches.
func (t *Text) ReadAt(_ context.Context, p []byte, off int64) (int, sessions.LogInfo, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.advance(); err != nil {
		return 0, sessions.LogInfo{}, err
	}
	n := 0
	if at := off - t.before; at >= 0 && at < int64(len(t.text)) {
		n = copy(p, t.text[at:])
	}
	return n, t.info(), nil
}

// Wait returns when the text is longer than size.
func (t *Text) Wait(ctx context.Context, size int64) (sessions.LogInfo, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return sessions.LogInfo{}, fmt.Errorf("watch the log: %w", err)
	}
	defer watcher.Close()
	if err := watcher.Add(filepath.Dir(t.path)); err != nil {
		return sessions.LogInfo{}, fmt.Errorf("watch the log: %w", err)
	}
	for {
		_, info, err := t.ReadAt(ctx, nil, 0)
		if err != nil || info.Size > size {
			return info, err
		}
		select {
		case <-ctx.Done():
			return info, ctx.Err()
		case <-watcher.Events:
		case err := <-watcher.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return info, fmt.Errorf("watch the log: %w", err)
			}
		}
	}
}

// Marks returns when the lines were written, of those that begin at or after from.
func (t *Text) Marks(_ context.Context, from int64) ([]sessions.LogMark, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].Offset >= from })
	return append([]sessions.LogMark(nil), t.marks[i:]...), nil
}

func (t *Text) info() sessions.LogInfo {
	return sessions.LogInfo{Size: t.before + int64(len(t.text)), CutTo: t.before}
}

// advance reads what is new; the first time all there is, the old logs first.
func (t *Text) advance() error {
	if t.begun {
		return t.log.advance()
	}
	t.begun = true
	ext := filepath.Ext(t.path)
	old, err := filepath.Glob(strings.TrimSuffix(t.path, ext) + "-*" + ext) // their names hold the time of their end
	if err != nil {
		return fmt.Errorf("look for old logs: %w", err)
	}
	sort.Strings(old)
	for _, path := range old {
		if err := Tail(path, math.MaxInt, t.add); err != nil {
			return err
		}
	}
	return t.log.advance()
}

// add takes a line.
func (t *Text) add(line []byte) error {
	text, at := t.spell(line)
	if !at.IsZero() {
		t.marks = append(t.marks, sessions.LogMark{Offset: t.before + int64(len(t.text)), At: at})
	}
	t.text = append(append(t.text, text...), '\n')
	if len(t.text) > t.most {
		t.drop()
	}
	return nil
}

// drop forgets the older half, in whole lines.
func (t *Text) drop() {
	n := len(t.text) / 2
	for n < len(t.text) && t.text[n-1] != '\n' {
		n++
	}
	t.text = append([]byte(nil), t.text[n:]...)
	t.before += int64(n)
	i := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].Offset >= t.before })
	t.marks = append([]sessions.LogMark(nil), t.marks[i:]...)
}
