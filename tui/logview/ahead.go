package logview

import (
	"context"
	"sync"
)

// aheadMost is how many chunks are read while another one is searched. Through server and runtime a chunk takes longer to
// come than to be searched, and two that are on their way keep both of them busy.
const aheadMost = 2

// ahead reads chunks before they are asked for. It belongs to the engine; each fetch has a goroutine of its own, which
// wait waits for.
type ahead struct {
	ctx     context.Context //nolint:containedctx // the engine's, whose life it shares
	src     Source
	fetches map[span]*fetch
	taken   []byte   // handed out last
	free    [][]byte // buffers to be used again
	running sync.WaitGroup
}

// fetch is the reading of one stretch.
type fetch struct {
	buf    []byte
	whole  bool // buf is all of it; to be read when done is closed
	cancel context.CancelFunc
	done   chan struct{}
}

func newAhead(ctx context.Context, src Source) *ahead {
	return &ahead{ctx: ctx, src: src, fetches: make(map[span]*fetch)}
}

// want has these stretches read, and whatever else was wanted before forgotten.
func (a *ahead) want(all []span) {
	for s, f := range a.fetches {
		if !contains(all, s) {
			f.cancel()
			delete(a.fetches, s) // its buffer may still be written
		}
	}
	for _, s := range all {
		if a.fetches[s] == nil && s.to > s.from {
			a.fetches[s] = a.start(s)
		}
	}
}

func contains(all []span, s span) bool {
	for _, t := range all {
		if s == t {
			return true
		}
	}
	return false
}

func (a *ahead) start(s span) *fetch {
	ctx, cancel := context.WithCancel(a.ctx)
	f := &fetch{buf: a.buffer(int(s.to - s.from)), cancel: cancel, done: make(chan struct{})}
	a.running.Go(func() {
		defer close(f.done)
		defer cancel()
		for n := 0; n < len(f.buf); {
			got, _, err := a.src.ReadAt(ctx, f.buf[n:], s.from+int64(n))
			if got == 0 || err != nil { // whoever wants it reads it himself, and learns why
				return
			}
			n += got
		}
		f.whole = true
	})
	return f
}

// take returns a stretch that was wanted before, nil when it has to be read. It is good until the next take.
func (a *ahead) take(s span) []byte {
	f := a.fetches[s]
	if f == nil {
		return nil
	}
	<-f.done
	delete(a.fetches, s)
	if !f.whole {
		return nil
	}
	if a.taken != nil {
		a.free = append(a.free, a.taken)
	}
	a.taken = f.buf
	return f.buf
}

func (a *ahead) buffer(n int) []byte {
	if last := len(a.free) - 1; last >= 0 && cap(a.free[last]) >= n {
		b := a.free[last]
		a.free = a.free[:last]
		return b[:n]
	}
	return make([]byte, n, chunkSize+blockSize+overread)
}

// wait returns when nothing is read any more. The context must have ended.
func (a *ahead) wait() { a.running.Wait() }
