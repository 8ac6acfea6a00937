package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"
)

// Query says which records are wanted. The zero value wants all.
type Query struct {
	After        int64     // sequence
	Since, Until time.Time // from and up to, both included; zero for no limit
	Kinds        []Kind
}

func (q Query) wants(r *Record) bool {
	return r.Sequence > q.After && !r.Time.Before(q.Since) && (q.Until.IsZero() || !r.Time.After(q.Until)) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.Kind))
}

// first returns the index of the first segment that can hold something wanted: the last one that begins before it.
func (q Query) first(list []segment) int {
	from := sort.Search(len(list), func(i int) bool {
		return list[i].first > q.After+1 && (q.Since.IsZero() || list[i].begun.After(q.Since))
	})
	// Times of segments may be a millisecond early, and are of the clock: one more costs nothing.
	return max(0, from-2)
}

// Read calls yield with every record that q wants, in order, until that returns an error, which Read returns. torn
// counts the lines that were no records; the last one may be one that is being written.
func Read(dir string, q Query, yield func(*Record) error) (torn int, err error) {
	list, err := segments(dir)
	if err != nil {
		return 0, err
	}
	for _, s := range list[q.first(list):] {
		if !q.Until.IsZero() && s.begun.After(q.Until.Add(time.Second)) {
			break
		}
		b, err := s.read()
		if err != nil {
			torn++ // all of it; what follows can be read
			continue
		}
		n, err := scan(b, q, yield)
		torn += n
		if err != nil {
			return torn, err
		}
	}
	return torn, nil
}

// scan yields the records of a segment.
func scan(b []byte, q Query, yield func(*Record) error) (torn int, err error) {
	b = b[seek(b, q):]
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		b = rest
		r, ok := parseLine(line)
		switch {
		case !ok && (len(line) > 0 || !whole):
			torn++
		case !ok:
		case !q.Until.IsZero() && r.Time.After(q.Until):
			return torn, nil
		case q.wants(&r):
			if err := yield(&r); err != nil {
				return torn, err
			}
		}
	}
	return torn, nil
}

// seek returns where reading must begin: the start of a line before which nothing is wanted. A segment is sorted, so it
// is halved until little is left.
func seek(b []byte, q Query) int {
	const little = 64 << 10
	low, high := 0, len(b)
	for high-low > little {
		middle := low + (high-low)/2
		r, start, end, ok := recordAt(b, middle, high)
		if !ok {
			high = middle
			continue
		}
		if r.Sequence <= q.After || r.Time.Before(q.Since) {
			low = end
		} else {
			high = max(low, min(start, middle))
		}
	}
	return low
}

// recordAt finds the first record that begins at or after at and before limit.
func recordAt(b []byte, at, limit int) (r Record, start, end int, ok bool) {
	if at > 0 {
		n := bytes.IndexByte(b[at-1:limit], '\n')
		if n < 0 {
			return Record{}, 0, 0, false
		}
		at += n
	}
	for at < limit {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			return Record{}, 0, 0, false
		}
		if r, ok := parseLine(b[at : at+n]); ok {
			return r, at, at + n + 1, true
		}
		at += n + 1
	}
	return Record{}, 0, 0, false
}

// Newest returns the newest record of one of kinds, nil if there is none.
func Newest(dir string, kinds ...Kind) (found *Record, err error) {
	err = backwardLines(dir, func(line []byte) bool {
		if ofKind(line, kinds) {
			if r, ok := parseLine(line); ok && slices.Contains(kinds, r.Kind) {
				found = &r
			}
		}
		return found == nil
	})
	return found, err
}

// ofKind reports whether a line may be of one of kinds, without reading all of it.
func ofKind(line []byte, kinds []Kind) bool {
	head := line[:min(len(line), 256)]
	return slices.ContainsFunc(kinds, func(k Kind) bool { return bytes.Contains(head, []byte(`"kind":"`+string(k)+`"`)) })
}

// Usage is how much the journals of all sessions take.
type Usage struct {
	Bytes  int64     `json:"bytes"`
	Oldest time.Time `json:"oldest,omitzero"` // begin of the oldest segment
}

// Measure adds up all journals below root.
func Measure(root string) (Usage, error) {
	all, err := everything(root)
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	for _, s := range all {
		u.Bytes += s.size
		if s.size > 0 && (u.Oldest.IsZero() || s.begun.Before(u.Oldest)) {
			u.Oldest = s.begun
		}
	}
	return u, nil
}

// everything lists the segments of all journals below root.
func everything(root string) ([]segment, error) {
	dirs, err := os.ReadDir(root)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the journals: %w", err)
	}
	var all []segment
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		list, err := segments(filepath.Join(root, d.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}
