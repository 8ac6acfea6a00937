package logview

import "context"

// Finder is a Source that can look for text where the log lies: what a search has to read comes over two sockets, and most
// of it for nothing.
type Finder interface {
	// Find returns where text begins first among the bytes from one offset up to another, negative for nowhere.
	Find(ctx context.Context, text []byte, from, to int64) (int64, error)
}

// foundPerStep is how many chunks a finder looks through at a time. It bounds how long a key waits: 32 MiB take about as
// long as two frames, and the way there and back does not count against them.
const foundPerStep = 32

// skip asks the source whether chunk k and those that come after it, as the search goes, may have matching lines at all,
// and notes of those that have none that they have none.
func (m *matcher) skip(ctx context.Context, k int64) error {
	needle := m.plain
	if m.re != nil {
		needle = m.prefix
	}
	if m.finder == nil || len(needle) == 0 {
		return nil
	}
	if k >= m.last {
		return m.skipFrom(ctx, needle, k, m.unknownAfter(k, foundPerStep))
	}
	// Backwards the first place says nothing of the chunks behind it, so only a growing number is asked for at once.
	for n := m.back; ; n = 1 {
		first := k
		for first > 0 && k-first+1 < n && m.counts[first-1] == unknown {
			first--
		}
		if err := m.skipFrom(ctx, needle, first, k+1); err != nil {
			return err
		}
		if m.counts[k] == 0 {
			m.back = min(2*n, foundPerStep)
			return nil
		}
		m.back = 1
		if first == k {
			return nil
		}
	}
}

// unknownAfter returns the end of the run of unknown chunks that begins with k, at most n of them.
func (m *matcher) unknownAfter(k, n int64) int64 {
	end := k + 1
	for end < int64(len(m.counts)) && end-k < n && m.counts[end] == unknown {
		end++
	}
	return end
}

// reach is how far behind its chunk a line's match is looked for: as far as search reads.
const reach = 2 * blockSize

// skipFrom looks through the chunks from one up to another, and notes of those before the first place that no line which
// begins in them matches. A finder that cannot be asked is not asked again: then everything is read.
func (m *matcher) skipFrom(ctx context.Context, needle []byte, first, end int64) error {
	to := min(end*chunkSize+reach, m.text.size)
	at, err := m.finder.Find(ctx, needle, first*chunkSize, to)
	if err != nil {
		m.finder = nil
		return ctx.Err()
	}
	for k := first; k < end; k++ {
		if at >= 0 && (k+1)*chunkSize+reach > at {
			return nil
		}
		m.note(k, 0)
	}
	return nil
}

// note keeps how many matching lines begin in a chunk.
func (m *matcher) note(k int64, n int) {
	if m.counts[k] == unknown {
		m.counts[k] = int32(n) //nolint:gosec // a chunk has a million lines at most
		m.known++
		m.total += int64(n)
	}
}
