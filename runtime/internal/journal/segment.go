package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	plainSuffix  = ".jsonl"
	packedSuffix = plainSuffix + ".zst"
)

// maxSegment is the most that is read of a segment: a packed one of a few bytes can claim to hold anything.
const maxSegment = 1 << 30

// segment is a file of a journal.
type segment struct {
	path    string // of the plain file
	first   int64  // its first sequence; an empty one will begin with it
	begun   time.Time
	packed  bool // only the compressed file is there
	size    int64
	changed time.Time // the file was last written then
}

func segmentName(first int64, begun time.Time) string {
	return fmt.Sprintf("%020d-%d%s", first, begun.UnixMilli(), plainSuffix)
}

// parseSegment reads a file's name.
func parseSegment(name string) (s segment, ok bool) {
	base, packed := strings.CutSuffix(name, packedSuffix)
	if !packed {
		if base, ok = strings.CutSuffix(name, plainSuffix); !ok {
			return segment{}, false
		}
	}
	seq, ms, ok := strings.Cut(base, "-")
	first, err := strconv.ParseInt(seq, 10, 64)
	millis, merr := strconv.ParseInt(ms, 10, 64)
	if !ok || err != nil || merr != nil || first < 1 {
		return segment{}, false
	}
	return segment{path: base + plainSuffix, first: first, begun: time.UnixMilli(millis).UTC(), packed: packed}, true
}

// segments lists a journal, oldest first. A journal that is not there has none.
func segments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the journal %s: %w", dir, err)
	}
	var list []segment
	for _, e := range entries {
		s, ok := parseSegment(e.Name())
		if !ok {
			continue
		}
		s.path = filepath.Join(dir, s.path)
		if info, err := e.Info(); err == nil {
			s.size, s.changed = info.Size(), info.ModTime()
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b segment) int {
		if c := cmp.Compare(a.first, b.first); c != 0 {
			return c
		}
		if a.packed != b.packed { // the plain one first: it is whole
			if b.packed {
				return -1
			}
			return 1
		}
		return strings.Compare(a.path, b.path)
	})
	return slices.CompactFunc(list, func(a, b segment) bool { return a.path == b.path }), nil
}

// read returns all of a segment. One that is being compressed is found in either form.
func (s segment) read() ([]byte, error) {
	for range 2 {
		b, err := readPlain(s.path)
		if !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
		b, err = readPacked(s.path + strings.TrimPrefix(packedSuffix, plainSuffix))
		if !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	return nil, nil // retention took it
}

// readFrom returns what a segment has from offset on.
func (s segment) readFrom(offset int64) ([]byte, error) {
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) { // it was compressed
		b, err := s.read()
		return b[min(offset, int64(len(b))):], err
	}
	if err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	b, err := io.ReadAll(io.NewSectionReader(f, offset, maxSegment))
	if err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	return b, nil
}

func readPlain(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	if info.Size() > maxSegment {
		return nil, fmt.Errorf("read a segment: %s is too large", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	return b, nil
}

func readPacked(path string) ([]byte, error) {
	packed, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxSegment), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	defer d.Close()
	b, err := d.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("read the segment %s: %w", path, err)
	}
	return b, nil
}

// Compress replaces a closed segment by its compressed form. It is what runs as `corral compress FILE`: compressing
// takes memory that the recorder, which lives for months, should not have had. Killed at any moment it leaves the
// segment readable.
func Compress(path string) error {
	if _, ok := parseSegment(filepath.Base(path)); !ok || strings.HasSuffix(path, packedSuffix) {
		return fmt.Errorf("compress %s: it is no segment of a journal", path)
	}
	plain, err := readPlain(path)
	if err != nil {
		return err
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compress %s: %w", path, err)
	}
	packed := e.EncodeAll(plain, make([]byte, 0, len(plain)/8))
	if err := e.Close(); err != nil {
		return fmt.Errorf("compress %s: %w", path, err)
	}
	final := path + strings.TrimPrefix(packedSuffix, plainSuffix)
	half := final + ".half"
	if err := writeSynced(half, packed); err != nil {
		_ = os.Remove(half) // the first error counts
		return fmt.Errorf("compress %s: %w", path, err)
	}
	if err := os.Rename(half, final); err != nil {
		return fmt.Errorf("compress %s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil {
		_ = os.Chtimes(final, info.ModTime(), info.ModTime()) // its age counts for retention; the name has another
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("compress %s: %w", path, err)
	}
	return nil
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}
