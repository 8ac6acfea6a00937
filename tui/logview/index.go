package logview

import (
	"bytes"
	"context"
)

// lineIndex holds how many line feeds are in each chunk, from the log's begin on as far as somebody wanted to know.
type lineIndex struct{ feeds []int32 }

// grown forgets the chunk that was not full.
func (x *lineIndex) grown(was int64) {
	if full := int(was / chunkSize); full < len(x.feeds) {
		x.feeds = x.feeds[:full]
	}
}

// feeds counts the line feeds from one offset to another, a chunk at most, and returns how far it came.
func (t *text) feeds(ctx context.Context, from, to int64) (n, reached int64, err error) {
	to = min(to, from+chunkSize)
	for off := from; off < to; {
		b, err := t.block(ctx, off/blockSize)
		if err != nil {
			return n, off, err
		}
		at := off % blockSize
		b = b[at:min(at+to-off, int64(len(b)))]
		n += int64(bytes.Count(b, []byte{'\n'}))
		off += int64(len(b))
	}
	return n, to, nil
}

// gotoLine is the search for a line by its number, the first is 1.
type gotoLine struct{ number int64 }

func (g gotoLine) doing() string { return "counting lines" }

func (g gotoLine) step(e *engine) (bool, error) {
	left := g.number - 1
	for i, n := range e.index.feeds {
		if left <= int64(n) {
			return true, e.showFeed(int64(i)*chunkSize, left)
		}
		left -= int64(n)
	}
	from := int64(len(e.index.feeds)) * chunkSize
	if from >= e.text.size {
		e.notice = "the log has fewer lines"
		e.showEnd()
		return true, nil
	}
	n, _, err := e.text.feeds(e.ctx, from, e.text.size)
	if err != nil {
		return true, err
	}
	e.index.feeds = append(e.index.feeds, int32(n))
	return false, nil
}

// showFeed puts the line behind the nth line feed after off at the top.
func (e *engine) showFeed(off, n int64) error {
	if n == 0 && off > 0 { // the line that reaches into this chunk
		start, err := e.text.startOf(e.ctx, off)
		if err != nil {
			return err
		}
		off = start
	}
	for ; n > 0; n-- {
		for { // a cut is no line feed
			l, err := e.text.lineAt(e.ctx, off)
			if err != nil {
				return err
			}
			off = l.next
			if l.next > l.end {
				break
			}
			if l.next >= e.text.size {
				e.showEnd()
				return nil
			}
		}
	}
	if off >= e.text.size {
		e.showEnd()
		return nil
	}
	e.stopFollowing()
	e.top = place{line: off}
	return nil
}
