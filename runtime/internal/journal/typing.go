package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"unicode/utf8"
)

// maxTyping is how much of the end of a journal is looked at for a line that is being typed.
const maxTyping = 256 << 10

// Typing is the line that a session's user is in the middle of.
type Typing struct {
	Typed   []byte // since the last Enter, ^C or ^U; nil when nothing is, or nobody can say
	Printed []byte // by the program, since Typed was begun
}

// ReadTyping returns the line that is being typed into the session whose journal lies in dir, from the end of its newest
// segment. What was typed at a password prompt is not in it. A line whose beginning is not found there, or that was
// edited by keys other than backspace, is no line: nobody but the program knows what it has become.
func ReadTyping(dir string) (Typing, error) {
	list, err := segments(dir)
	if err != nil || len(list) == 0 || list[len(list)-1].packed {
		return Typing{}, err
	}
	last := list[len(list)-1]
	b, whole, err := tail(last.path, maxTyping)
	if err != nil {
		return Typing{}, err
	}
	records, found := sinceLineEnd(b)
	if !found && (!whole || last.first > 1) {
		return Typing{}, nil
	}
	var t typist
	for _, r := range slices.Backward(records) {
		t.record(&r)
	}
	return t.Typing, nil
}

// tail returns the last n bytes of a file, or all of it.
func tail(path string, n int64) (b []byte, whole bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil // it is being compressed
	}
	if err != nil {
		return nil, false, fmt.Errorf("read a segment: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, false, fmt.Errorf("read a segment: %w", err)
	}
	from := max(0, size-n)
	b = make([]byte, size-from)
	if _, err := f.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("read a segment: %w", err)
	}
	return b, from == 0, nil
}

// sinceLineEnd returns the records of b, newest first, back to one that ended a line, with which it ends; found is false
// when there is none.
func sinceLineEnd(b []byte) (records []Record, found bool) {
	for end := len(b); end > 0; {
		start := bytes.LastIndexByte(b[:end-1], '\n') + 1
		r, ok := parseLine(b[start:end])
		end = start
		if !ok {
			continue
		}
		records = append(records, r)
		switch r.Kind {
		case Start, Exit, Gap:
			return records, true
		case Input:
			if data, err := r.Data(); r.Redacted || err != nil || bytes.ContainsFunc(data, endsLine) {
				return records, true
			}
		case Output, Resize, Attach, Detach, Hook, Snapshot:
		}
	}
	return records, false
}

// endsLine: Enter in its two forms, ^C and ^U begin a new line.
func endsLine(r rune) bool { return r == '\r' || r == '\n' || r == 3 || r == 21 }

// typist follows what is typed and printed.
type typist struct {
	Typing
	unsure bool // the line was edited
}

func (t *typist) record(r *Record) {
	switch r.Kind {
	case Start, Exit, Gap:
		*t = typist{}
	case Output:
		if data, err := r.Data(); err == nil && len(t.Typed) > 0 {
			t.Printed = append(t.Printed, data...)
		}
	case Input:
		data, err := r.Data()
		if r.Redacted || err != nil {
			*t = typist{}
			return
		}
		t.keys(data)
	case Resize, Attach, Detach, Hook, Snapshot:
	}
}

func (t *typist) keys(p []byte) {
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		switch {
		case endsLine(r):
			*t = typist{}
		case t.unsure:
		case r == '\b' || r == 0x7f:
			_, last := utf8.DecodeLastRune(t.Typed)
			t.Typed = t.Typed[:len(t.Typed)-last]
			t.unsure = last == 0
		case r < ' ' || r == utf8.RuneError && n <= 1:
			*t = typist{unsure: true}
		default:
			t.Typed = append(t.Typed, p[:n]...)
		}
		p = p[n:]
	}
}
