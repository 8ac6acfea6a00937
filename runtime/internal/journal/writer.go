package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// DefaultSegment is the size at which a segment is closed.
const DefaultSegment = 8 << 20

// maxLine bounds the lines that are looked for at the end of a segment: a record of 64 KiB whose every byte is escaped
// has 400 KiB.
const maxLine = 1 << 20

// Options change how a Writer works.
type Options struct {
	Segment int64             // size at which a segment is closed; DefaultSegment when 0
	Closed  func(path string) // is told of every segment that will not change any more; may be nil
	Now     func() time.Time  // time.Now when nil
}

// Writer appends to one session's journal.
type Writer struct {
	dir, id string
	opts    Options
	file    *os.File
	size    int64
	last    int64 // sequence of the newest record
	time    time.Time
	line    []byte // borrowed by each Append
}

// OpenWriter opens the journal in dir, which it makes if it is not there, behind its newest record.
func OpenWriter(dir, id string, opts Options) (*Writer, error) {
	if opts.Segment == 0 {
		opts.Segment = DefaultSegment
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	w := &Writer{dir: dir, id: id, opts: opts}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the journal of %s: %w", id, err)
	}
	list, err := segments(dir)
	if err == nil {
		err = w.resume(list)
	}
	if err != nil {
		if w.file != nil {
			_ = w.file.Close() // nothing was written
		}
		return nil, fmt.Errorf("open the journal of %s: %w", id, err)
	}
	return w, nil
}

// resume finds the newest record and opens the newest segment.
func (w *Writer) resume(list []segment) error {
	for i := len(list) - 1; i >= 0; i-- {
		s := list[i]
		w.last, w.time = max(w.last, s.first-1), later(w.time, s.begun)
		b, err := s.read()
		if err != nil && i == len(list)-1 && !s.packed {
			return err
		}
		if r, ok := lastRecord(b); ok {
			w.last, w.time = max(w.last, r.Sequence), later(w.time, r.Time)
			break
		}
		if len(b) == 0 && i == len(list)-1 {
			break // begun when the one before was full: its name says what comes
		}
	}
	if len(list) == 0 || list[len(list)-1].packed {
		return w.begin()
	}
	f, err := os.OpenFile(list[len(list)-1].path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	w.file, w.size = f, list[len(list)-1].size
	if info, err := f.Stat(); err == nil {
		w.size = info.Size()
	}
	if w.size == 0 {
		return nil
	}
	var end [1]byte
	if _, err := f.ReadAt(end[:], w.size-1); err != nil {
		return err
	}
	if end[0] != '\n' { // a torn line
		return w.write([]byte{'\n'})
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// lastRecord finds the last line of b that is a record; it may lack its line feed.
func lastRecord(b []byte) (Record, bool) {
	for end := len(b); end > 0; {
		start := bytes.LastIndexByte(b[:end], '\n') + 1
		if r, ok := parseLine(b[start:end]); ok {
			return r, true
		}
		end = start - 1
	}
	return Record{}, false
}

// Last returns the sequence of the newest record, 0 when there is none.
func (w *Writer) Last() int64 { return w.last }

// Append gives r its session, sequence and time and writes it. When that fails nothing of it stays.
func (w *Writer) Append(r *Record) error {
	if w.file == nil || w.size >= w.opts.Segment {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	r.SessionID, r.Sequence, r.Time = w.id, w.last+1, later(w.time, w.opts.Now().UTC())
	line, err := appendLine(w.line[:0], r)
	if err != nil {
		return fmt.Errorf("journal of %s: %w", w.id, err)
	}
	if cap(line) <= maxLine/4 {
		w.line = line
	}
	if err := w.write(line); err != nil {
		return err
	}
	w.last, w.time = r.Sequence, r.Time
	return nil
}

func (w *Writer) write(p []byte) error {
	n, err := w.file.Write(p)
	if err == nil {
		w.size += int64(n)
		return nil
	}
	if n > 0 {
		err = errors.Join(err, w.file.Truncate(w.size)) // O_APPEND: the next write begins there
	}
	return fmt.Errorf("write the journal of %s: %w", w.id, err)
}

// rotate begins a new segment and closes the one before.
func (w *Writer) rotate() error {
	old := w.file
	if err := w.begin(); err != nil {
		return err
	}
	if old == nil {
		return nil
	}
	err := errors.Join(old.Sync(), old.Close())
	if w.opts.Closed != nil {
		w.opts.Closed(old.Name())
	}
	if err != nil {
		return fmt.Errorf("close a segment of %s: %w", w.id, err)
	}
	return nil
}

// begin makes the next segment.
func (w *Writer) begin() error {
	path := filepath.Join(w.dir, segmentName(w.last+1, later(w.time, w.opts.Now())))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("begin a segment of %s: %w", w.id, err)
	}
	w.file, w.size = f, 0
	return nil
}

// Close closes the newest segment, to which a later Writer appends.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.file.Sync(), w.file.Close())
	w.file = nil
	if err != nil {
		return fmt.Errorf("close the journal of %s: %w", w.id, err)
	}
	return nil
}
