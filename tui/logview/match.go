package logview

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
)

// chunkSize is how much of the log is searched in one step. Steps are short, so that a key never waits for a search.
const chunkSize = 1 << 20

// overread is how far a chunk's reading goes on for the last line that begins in it; most lines are shorter.
const overread = 4 << 10

// keptChunks is for how many chunks the matching lines are remembered one by one.
const keptChunks = 4

// Pattern is what is searched for: the text itself, or a regular expression (RE2). It matches within one line, in the
// bytes as the program wrote them.
type Pattern struct {
	Text   string
	Regexp bool
}

// matcher finds the lines that match a pattern. Of each chunk it remembers how many matching lines begin in it, so that
// nothing is searched twice to count, to move and to filter.
type matcher struct {
	pattern Pattern
	plain   []byte
	re      *regexp.Regexp // nil for plain text
	prefix  []byte         // every match of re begins with it

	text   *text
	counts []int32 // by chunk; unknown when negative
	known  int     // chunks with a count
	total  int64   // of the known
	recent []chunkHits
	buf    []byte
	last   int64  // the chunk that was searched last
	finder Finder // nil: everything has to be read
	back   int64  // how many chunks it is asked of at once, backwards
}

// chunkHits are the starts of the matching lines of a chunk, counted from its begin.
type chunkHits struct {
	chunk int64
	hits  []uint32
}

const unknown = -1

func newMatcher(t *text, p Pattern) (*matcher, error) {
	m := &matcher{pattern: p, text: t, back: 1}
	m.finder, _ = t.src.(Finder)
	if p.Regexp {
		re, err := regexp.Compile("(?m)" + p.Text)
		if err != nil {
			return nil, fmt.Errorf("%q is no regular expression: %w", p.Text, err)
		}
		m.re = re
		prefix, _ := re.LiteralPrefix()
		m.prefix = []byte(prefix)
	} else {
		m.plain = []byte(p.Text)
	}
	m.grown(0)
	return m, nil
}

// grown takes note that the log is larger than it was.
func (m *matcher) grown(was int64) {
	first := max(was-2*blockSize, 0) / chunkSize // the last line may have been longer than it looked
	for i := first; i < int64(len(m.counts)); i++ {
		if n := m.counts[i]; n >= 0 {
			m.known--
			m.total -= int64(n)
			m.counts[i] = unknown
		}
	}
	m.recent = slices.DeleteFunc(m.recent, func(c chunkHits) bool { return c.chunk >= first })
	chunks := (m.text.size + chunkSize - 1) / chunkSize
	for int64(len(m.counts)) < chunks {
		m.counts = append(m.counts, unknown)
	}
}

// complete reports whether every line was searched.
func (m *matcher) complete() bool { return m.known == len(m.counts) }

// countOne searches one chunk that was not searched yet.
func (m *matcher) countOne(ctx context.Context) error {
	for k, n := range m.counts {
		if n == unknown {
			_, err := m.hits(ctx, int64(k))
			return err
		}
	}
	return nil
}

// ordinal returns the how manieth matching line begins at off, 0 while that is not known.
func (m *matcher) ordinal(ctx context.Context, off int64) int64 {
	k, sum := off/chunkSize, int64(0)
	if k >= int64(len(m.counts)) {
		return 0
	}
	for _, n := range m.counts[:k] {
		if n == unknown {
			return 0
		}
		sum += int64(n)
	}
	hits, err := m.hits(ctx, k)
	i, found := slices.BinarySearch(hits, uint32(off-k*chunkSize))
	if err != nil || !found {
		return 0
	}
	return sum + int64(i) + 1
}

// outcome says how far a search came.
type outcome int

const (
	found outcome = iota
	absent
	pending // the budget ran out; ask again
)

// after finds the first matching line that begins at or after off. The budget is how many chunks may be searched anew.
func (m *matcher) after(ctx context.Context, off int64, budget *int) (int64, outcome, error) {
	for k := max(off, 0) / chunkSize; k < int64(len(m.counts)); k++ {
		hits, state, err := m.within(ctx, k, budget)
		if err != nil || state == pending {
			return 0, pending, err
		}
		at := sort.Search(len(hits), func(i int) bool { return k*chunkSize+int64(hits[i]) >= off })
		if at < len(hits) {
			return k*chunkSize + int64(hits[at]), found, nil
		}
	}
	return 0, absent, nil
}

// before finds the last matching line that begins before off.
func (m *matcher) before(ctx context.Context, off int64, budget *int) (int64, outcome, error) {
	for k := min((off-1)/chunkSize, int64(len(m.counts))-1); k >= 0 && off > 0; k-- {
		hits, state, err := m.within(ctx, k, budget)
		if err != nil || state == pending {
			return 0, pending, err
		}
		at := sort.Search(len(hits), func(i int) bool { return k*chunkSize+int64(hits[i]) >= off })
		if at > 0 {
			return k*chunkSize + int64(hits[at-1]), found, nil
		}
	}
	return 0, absent, nil
}

func (m *matcher) within(ctx context.Context, k int64, budget *int) ([]uint32, outcome, error) {
	switch m.counts[k] {
	case 0:
		return nil, absent, nil
	case unknown:
		if *budget <= 0 {
			return nil, pending, nil
		}
		*budget--
	}
	hits, err := m.hits(ctx, k)
	return hits, found, err
}

// hits returns the matching lines that begin in chunk k.
func (m *matcher) hits(ctx context.Context, k int64) ([]uint32, error) {
	for _, c := range m.recent {
		if c.chunk == k {
			return c.hits, nil
		}
	}
	if m.counts[k] == unknown {
		if err := m.skip(ctx, k); err != nil {
			return nil, err
		}
	}
	if m.counts[k] == 0 {
		m.last = k
		return nil, nil
	}
	hits, err := m.search(ctx, k)
	if err != nil {
		return nil, err
	}
	m.note(k, len(hits))
	if len(hits) > 0 {
		if len(m.recent) == keptChunks {
			m.recent = slices.Delete(m.recent, 0, 1)
		}
		m.recent = append(m.recent, chunkHits{k, hits})
	}
	return hits, nil
}

// search reads chunk k and searches it.
func (m *matcher) search(ctx context.Context, k int64) ([]uint32, error) {
	begin, end := k*chunkSize, min((k+1)*chunkSize, m.text.size)
	if m.text.gap.contains(begin) && end <= m.text.gap.to {
		return nil, nil
	}
	m.readAhead(k)
	around := m.around(k)
	base := around.from
	var err error
	buf := m.text.takeAhead(around)
	if buf == nil {
		if buf, err = m.read(ctx, base, around.to); err != nil {
			return nil, err
		}
	}
	if last := end - base; int64(len(buf)) > last && bytes.IndexByte(buf[last-1:], '\n') < 0 {
		if buf, err = m.read(ctx, base, min(end+2*blockSize, m.text.size)); err != nil {
			return nil, err
		}
	}
	pos := begin - base
	if before := buf[:pos]; pos > 0 && before[pos-1] != '\n' &&
		(bytes.IndexByte(before, '\n') >= 0 || bytes.IndexByte(before, '\r') >= 0) {
		i := bytes.IndexByte(buf[pos:], '\n') // the line that reaches into the chunk belongs to the one before
		if i < 0 {
			return nil, nil
		}
		pos += int64(i) + 1
	}
	var hits []uint32
	for pos < end-base {
		at, ok := m.next(buf, int(pos))
		if !ok {
			break
		}
		l, err := m.lineAround(ctx, buf, base, pos, int64(at))
		if err != nil {
			return nil, err
		}
		if l.start >= end {
			break
		}
		if m.re == nil || m.re.Match(buf[l.start-base:min(l.end-base, int64(len(buf)))]) {
			hits = append(hits, uint32(l.start-begin))
		}
		pos = l.next - base
	}
	return hits, nil
}

// around is what is read to search chunk k: the block before says where its first line begins.
func (m *matcher) around(k int64) span {
	return span{max(k*chunkSize-blockSize, 0), min((k+1)*chunkSize+overread, m.text.size)}
}

// readAhead has chunk k read, and those that are searched after chunk k, if the search goes on as it came.
func (m *matcher) readAhead(k int64) {
	step := int64(1)
	if k < m.last {
		step = -1
	}
	m.last = k
	if m.text.ahead == nil {
		return
	}
	var want []span
	for next := k; next >= 0 && next < int64(len(m.counts)) && len(want) <= aheadMost; next += step {
		s := m.around(next)
		if next != k && m.counts[next] != unknown || s.to > m.text.gap.from && s.from < m.text.gap.to {
			break
		}
		want = append(want, s)
	}
	m.text.ahead.want(want)
}

// takeAhead returns a stretch that was read ahead, nil when it has to be read.
func (t *text) takeAhead(s span) []byte {
	if t.ahead == nil {
		return nil
	}
	return t.ahead.take(s)
}

func (m *matcher) read(ctx context.Context, from, to int64) ([]byte, error) {
	if m.buf == nil {
		m.buf = make([]byte, chunkSize+3*blockSize)
	}
	n, err := m.text.read(ctx, m.buf[:to-from], from)
	return m.buf[:n], err
}

// next returns where the next match may be in buf, from pos on. For a regular expression the line has yet to be asked: a
// class such as [^x] matches line feeds, too.
func (m *matcher) next(buf []byte, pos int) (int, bool) {
	if pos > len(buf) {
		return 0, false
	}
	i := -1
	switch {
	case m.re == nil:
		i = bytes.Index(buf[pos:], m.plain)
	case len(m.prefix) > 0:
		i = bytes.Index(buf[pos:], m.prefix)
	default:
		if at := m.re.FindIndex(buf[pos:]); at != nil {
			i = at[0]
		}
	}
	return pos + i, i >= 0
}

// lineAround returns the line that contains the byte at of buf, which begins at or after from.
func (m *matcher) lineAround(ctx context.Context, buf []byte, base, from, at int64) (line, error) {
	start := from + int64(bytes.LastIndexByte(buf[from:at], '\n')) + 1
	if i := bytes.IndexByte(buf[at:], '\n'); i >= 0 && at+int64(i)-start < blockSize {
		end := base + at + int64(i)
		return line{base + start, end, end + 1}, nil
	}
	// Long enough to have been cut.
	begin, err := m.text.startOf(ctx, min(base+at, m.text.size-1))
	if err != nil {
		return line{}, err
	}
	l, err := m.text.lineAt(ctx, max(begin, base+start))
	if l.next <= base+at { // an empty match at a cut
		l.next = base + at + 1
	}
	return l, err
}
