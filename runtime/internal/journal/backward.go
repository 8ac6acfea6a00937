package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// backStep is how much of a segment is read at a time from its end.
const backStep = 256 << 10

// Backward calls yield with the records of a journal, newest first, until it returns false. What cannot be read is left
// out.
func Backward(dir string, yield func(*Record) bool) error {
	return backwardLines(dir, func(line []byte) bool {
		r, ok := parseLine(line)
		return !ok || yield(&r)
	})
}

// backwardLines yields the lines of a journal, newest first. A line is valid during the call.
func backwardLines(dir string, yield func(line []byte) bool) error {
	list, err := segments(dir)
	if err != nil {
		return err
	}
	for _, s := range slices.Backward(list) {
		if more, err := s.backward(yield); err == nil && !more {
			return nil
		} // what cannot be read is as if it were not there: an older one may be whole
	}
	return nil
}

// backward yields the lines of one segment, newest first. Of one that is not compressed only the end is read.
func (s segment) backward(yield func(line []byte) bool) (more bool, err error) {
	if s.packed {
		b, err := s.read()
		if err != nil {
			return true, err
		}
		_, more := linesBackward(b, true, yield)
		return more, nil
	}
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) { // compressed meanwhile, or gone
		s.packed = true
		return s.backward(yield)
	}
	if err != nil {
		return true, fmt.Errorf("read a segment: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return true, fmt.Errorf("read a segment: %w", err)
	}
	var rest []byte // the beginning of what was read: the end of a line whose beginning was not
	for at := info.Size(); at > 0; {
		n := min(at, backStep)
		at -= n
		b := make([]byte, n, int(n)+len(rest))
		if _, err := f.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return true, fmt.Errorf("read a segment: %w", err)
		}
		b = append(b, rest...)
		if len(b) > maxSegment {
			return true, fmt.Errorf("read a segment: a line of %s is too long", s.path)
		}
		if rest, more = linesBackward(b, at == 0, yield); !more {
			return false, nil
		}
	}
	return true, nil
}

// linesBackward yields the lines of b from the last one on. The first one may be the end of a longer one, unless whole
// says that b begins with a line: then it is returned.
func linesBackward(b []byte, whole bool, yield func(line []byte) bool) (rest []byte, more bool) {
	for len(b) > 0 {
		start := bytes.LastIndexByte(b[:len(b)-1], '\n') + 1
		if start == 0 && !whole {
			return b, true
		}
		if !yield(b[start:]) {
			return nil, false
		}
		b = b[:start]
	}
	return nil, true
}
