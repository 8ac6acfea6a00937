package logview

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"corral/sessions"
)

// Source is a log, as tui.TaskLog has it. None of its methods is called from the dashboard's loop.
type Source interface {
	// ReadAt fills p from off on as far as the log reaches, and says how the log was then.
	ReadAt(ctx context.Context, p []byte, off int64) (int, sessions.LogInfo, error)
	// Wait returns when the log is longer than size or will not grow any more.
	Wait(ctx context.Context, size int64) (sessions.LogInfo, error)
	// Marks returns when the bytes came, in rising order, of those marks that lie at or after from.
	Marks(ctx context.Context, from int64) ([]sessions.LogMark, error)
}

const (
	// blockSize is how much is read and kept at a time, and what bounds a line: see text.
	blockSize = 64 << 10
	// keptBlocks bounds the memory of what was read: 3 MiB.
	keptBlocks = 48
	// foldMost bounds a line that rewrites itself with carriage returns, of which only the end is shown.
	foldMost = 8 << 20
)

// text reads a log in blocks and finds its lines.
//
// A line ends at a line feed. A program may print gigabytes without one, so a line is also cut at the end of every aligned
// block in which it neither ends nor returns its carriage. The rule looks at one block only, so that lines are the same
// whether they are found forwards or backwards, and no line but one that rewrites itself is longer than two blocks.
//
// What a limit cut out of the log's middle is one line without text, and reads as zeros.
type text struct {
	src    Source
	ahead  *ahead // reads for searches; nil: nobody does
	size   int64
	gap    span // cut out
	blocks map[int64]*block
	clock  uint64
}

type block struct {
	data []byte
	used uint64
}

// span is a stretch of the log.
type span struct{ from, to int64 }

func (s span) contains(off int64) bool { return s.from <= off && off < s.to }

// line is a line of the log: the bytes from start to end, without the line feed; next is where the following begins.
type line struct{ start, end, next int64 }

func newText(src Source) *text { return &text{src: src, blocks: make(map[int64]*block)} }

// block returns block n as far as the log reaches. The caller must not change it nor keep it.
func (t *text) block(ctx context.Context, n int64) ([]byte, error) {
	from := n * blockSize
	want := int(min(t.size-from, blockSize))
	if want <= 0 {
		return nil, nil
	}
	t.clock++
	b := t.blocks[n]
	if b == nil {
		t.evict()
		b = &block{}
		t.blocks[n] = b
	}
	b.used = t.clock
	if have := len(b.data); have < want { // the last block grows
		if cap(b.data) < want {
			grown := make([]byte, have, blockSize)
			copy(grown, b.data)
			b.data = grown
		}
		got, err := t.read(ctx, b.data[have:want], from+int64(have))
		b.data = b.data[:have+got]
		if err != nil {
			return nil, err
		}
	}
	return b.data[:want], nil
}

// read fills p.
func (t *text) read(ctx context.Context, p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at, part := off+int64(n), p[n:]
		if t.gap.contains(at) {
			part = part[:min(t.gap.to-at, int64(len(part)))]
			clear(part)
			n += len(part)
			continue
		}
		if at < t.gap.from {
			part = part[:min(t.gap.from-at, int64(len(part)))]
		}
		got, info, err := t.src.ReadAt(ctx, part, at)
		n += got
		if got == 0 && err == nil {
			if cut := (span{info.CutFrom, info.CutTo}); cut != t.gap && cut.contains(at) { // cut out just now
				t.gap = cut
				continue
			}
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return n, fmt.Errorf("read the log at %d: %w", at, err)
		}
	}
	return n, nil
}

func (t *text) evict() {
	if len(t.blocks) < keptBlocks {
		return
	}
	oldest, at := t.clock, int64(-1)
	for n, b := range t.blocks {
		if b.used <= oldest {
			oldest, at = b.used, n
		}
	}
	delete(t.blocks, at)
}

// cutsAfter reports whether block n is one at whose end a line is cut although it does not end there.
func (t *text) cutsAfter(ctx context.Context, n int64) (bool, error) {
	b, err := t.block(ctx, n)
	return len(b) == blockSize && bytes.IndexByte(b, '\n') < 0 && bytes.IndexByte(b, '\r') < 0, err
}

// lineAt returns the line that begins at start.
func (t *text) lineAt(ctx context.Context, start int64) (line, error) {
	limit := t.size
	switch {
	case t.gap.contains(start):
		return line{start, t.gap.to, t.gap.to}, nil
	case start < t.gap.from:
		limit = t.gap.from
	}
	for off := start; off < limit; {
		n := off / blockSize
		b, err := t.block(ctx, n)
		if err != nil {
			return line{}, err
		}
		from := off - n*blockSize
		b = b[:min(limit-n*blockSize, int64(len(b)))]
		if i := bytes.IndexByte(b[from:], '\n'); i >= 0 {
			return line{start, off + int64(i), off + int64(i) + 1}, nil
		}
		off = (n + 1) * blockSize
		if off >= limit {
			break
		}
		if from == 0 && bytes.IndexByte(b, '\r') < 0 || off-start >= foldMost {
			return line{start, off, off}, nil
		}
	}
	return line{start, limit, limit}, nil
}

// startOf returns where the line begins that the byte at off belongs to.
func (t *text) startOf(ctx context.Context, off int64) (int64, error) {
	first := int64(0)
	switch {
	case t.gap.contains(off):
		return t.gap.from, nil
	case off >= t.gap.to:
		first = t.gap.to
	}
	for hi := off; hi > first; {
		if hi%blockSize == 0 {
			cut, err := t.cutsAfter(ctx, hi/blockSize-1)
			if err != nil {
				return 0, err
			}
			if cut && hi-blockSize >= first || off-hi >= foldMost {
				return hi, nil
			}
		}
		n := (hi - 1) / blockSize
		b, err := t.block(ctx, n)
		if err != nil {
			return 0, err
		}
		lo := n * blockSize
		if i := bytes.LastIndexByte(b[:min(hi-lo, int64(len(b)))], '\n'); i >= 0 {
			return max(lo+int64(i)+1, first), nil
		}
		hi = lo
	}
	return first, nil
}

// bytesOf returns the bytes of a line that are shown, a copy: all of them, or the end of one that rewrites itself.
func (t *text) bytesOf(ctx context.Context, l line) ([]byte, error) {
	if t.gap.contains(l.start) {
		return nil, nil
	}
	start := max(l.start, l.end-2*blockSize)
	out := make([]byte, 0, l.end-start)
	for off := start; off < l.end; {
		n := off / blockSize
		b, err := t.block(ctx, n)
		if err != nil {
			return nil, err
		}
		part := b[off-n*blockSize : min(l.end-n*blockSize, int64(len(b)))]
		out = append(out, part...)
		off += int64(len(part))
	}
	return out, nil
}
