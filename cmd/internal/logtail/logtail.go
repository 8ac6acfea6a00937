// Package logtail reads the end of a log file and follows it, across the rotations that put it aside under another name
// and begin it anew. It reads files, and changes nothing; it has no goroutines and no locks of its own.
package logtail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

const (
	// maxLine is where a line without an end is cut, so that no file can take all memory.
	maxLine = 1 << 20
	// block is how much is read at a time from the end backwards.
	block = 64 << 10
)

// Tail calls line for each of the last n lines of the file at path, oldest first, without their newlines. A last line
// that is not finished yet is left out. A file that does not exist has no lines.
func Tail(path string, n int, line func([]byte) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	defer f.Close()
	from, err := startOf(f, n)
	if err != nil {
		return fmt.Errorf("read the log %s: %w", path, err)
	}
	_, err = pass(f, from, line)
	return err
}

// Follow calls line for each line that is appended to the file at path from now on, until ctx ends; it begins with the
// last n lines that are there. It follows the name: a file that is rotated away is read to its end, then the new one
// from its beginning. The directory must exist.
func Follow(ctx context.Context, path string, n int, line func([]byte) error) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the log: %w", err)
	}
	defer watcher.Close()
	if err := watcher.Add(filepath.Dir(path)); err != nil { // the directory, since the file may be replaced
		return fmt.Errorf("watch the log: %w", err)
	}
	t := &follower{path: path, line: line}
	defer t.close()
	if err := t.begin(n); err != nil {
		return err
	}
	for {
		if err := t.advance(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
		case err := <-watcher.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) { // after an overflow there is something to read, no more
				return fmt.Errorf("watch the log: %w", err)
			}
		}
	}
}

// follower is the file that is being read, and how far.
type follower struct {
	path string
	line func([]byte) error
	file *os.File // nil while there is none
	at   int64
}

func (t *follower) begin(n int) error {
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	t.file = f
	if t.at, err = startOf(f, n); err != nil {
		return fmt.Errorf("read the log %s: %w", t.path, err)
	}
	return nil
}

// advance reads what is new, then goes on to the next file when the name stands for another one by now.
func (t *follower) advance() error {
	for {
		// Asked before reading: whoever rotates writes nothing more to the old file afterwards.
		moved := t.moved()
		if t.file != nil {
			end, err := pass(t.file, t.at, t.line)
			if err != nil {
				return err
			}
			t.at = end
		}
		if !moved {
			return nil
		}
		t.close()
		f, err := os.Open(t.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		t.file, t.at = f, 0
	}
}

// moved reports whether the name stands for another file than the one that is read.
func (t *follower) moved() bool {
	there, err := os.Stat(t.path)
	if t.file == nil || err != nil {
		return err == nil
	}
	ours, err := t.file.Stat()
	return err != nil || !os.SameFile(there, ours)
}

func (t *follower) close() {
	if t.file != nil {
		_ = t.file.Close() // it was only read
		t.file = nil
	}
}

// startOf returns where the last n finished lines of f begin.
func startOf(f *os.File, n int) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	buf := make([]byte, block)
	for end := info.Size(); end > 0; {
		from := max(0, end-block)
		part := buf[:end-from]
		if _, err := f.ReadAt(part, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] != '\n' {
				continue
			}
			if n == 0 {
				return from + int64(i) + 1, nil
			}
			n--
		}
		end = from
	}
	return 0, nil
}

// pass calls line for each finished line of f from the offset on, and returns where the first unfinished one begins.
func pass(f *os.File, from int64, line func([]byte) error) (int64, error) {
	if info, err := f.Stat(); err == nil && info.Size() < from {
		from = 0 // it was cut short
	}
	var pending []byte
	buf := make([]byte, block)
	for at := from; ; {
		n, err := f.ReadAt(buf, at)
		at += int64(n)
		pending = append(pending, buf[:n]...)
		for {
			i := bytes.IndexByte(pending, '\n')
			if i < 0 && len(pending) > maxLine {
				i = len(pending) - 1
			}
			if i < 0 {
				break
			}
			if err := line(bytes.TrimSuffix(pending[:i+1], []byte("\n"))); err != nil {
				return 0, err
			}
			from += int64(i) + 1
			pending = pending[i+1:]
		}
		if errors.Is(err, io.EOF) {
			return from, nil
		}
		if err != nil {
			return 0, fmt.Errorf("read the log: %w", err)
		}
	}
}
