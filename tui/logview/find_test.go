package logview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"corral/e2e/rounds"
)

// finder is a log that can be searched where it lies.
type finder struct {
	*fake
	asked  int
	broken bool
}

func (f *finder) Find(_ context.Context, text []byte, from, to int64) (int64, error) {
	f.asked++
	if f.broken {
		return 0, errors.New("no such request")
	}
	end := min(to+int64(len(text))-1, int64(len(f.data)))
	if i := bytes.Index(f.data[min(from, end):end], text); i >= 0 {
		return from + int64(i), nil
	}
	return -1, nil
}

// borderline returns a log of some MiB with the needle round the borders of chunks and in long lines.
func borderline(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	for b.Len() < 5*chunkSize {
		switch n := r.IntN(400); {
		case n == 0:
			b.WriteString(strings.Repeat("long ", r.IntN(3*blockSize/5)))
		case n == 1 && r.IntN(20) == 0, b.Len()%chunkSize > chunkSize-40:
			b.WriteString("needle")
		}
		fmt.Fprintf(&b, "line %d\n", r.IntN(1e6))
	}
	return b.String()
}

// matches walks over all matches, forwards and backwards, and returns where they are and how many each chunk has.
func matches(t *testing.T, s Source, size int64, p Pattern, down bool) (places []int64, counts []int32) {
	t.Helper()
	text := newText(s)
	text.size = size
	text.ahead = newAhead(t.Context(), s)
	defer text.ahead.wait()
	m, err := newMatcher(text, p)
	if err != nil {
		t.Fatal(err)
	}
	look, at := m.after, int64(0)
	if !down {
		look, at = m.before, size
		m.last = int64(len(m.counts))
	}
	for {
		budget := 1
		off, state, err := look(t.Context(), at, &budget)
		if err != nil {
			t.Fatal(err)
		}
		switch state {
		case pending:
			continue
		case absent:
			return places, m.counts
		}
		places = append(places, off)
		if at = off; down {
			at++
		}
	}
}

func TestFinderChangesNothingButTheCost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(rounds.N(1, 2, 8)) {
		log := newFake(borderline(seed))
		size := int64(len(log.data))
		for _, p := range []Pattern{{Text: "needle"}, {Text: "needle.*1", Regexp: true}, {Text: "^line 7", Regexp: true}, {Text: "nowhere to be seen"}} {
			for _, down := range []bool{true, false} {
				want, wantCounts := matches(t, log, size, p, down)
				for _, broken := range []bool{false, true} {
					f := &finder{fake: log, broken: broken}
					got, counts := matches(t, f, size, p, down)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("seed %d, %v, down %v, broken %v: %s", seed, p, down, broken, diff)
					}
					if diff := cmp.Diff(wantCounts, counts); diff != "" {
						t.Fatalf("seed %d, %v, down %v, broken %v: %s", seed, p, down, broken, diff)
					}
					if broken && f.asked > 1 {
						t.Errorf("a finder that does not work was asked %d times", f.asked)
					}
				}
			}
		}
	}
}

func TestFinderSparesTheReading(t *testing.T) {
	t.Parallel()
	f := &finder{fake: newFake(strings.Repeat("nothing of interest\n", 16*chunkSize/20) + "the needle\n")}
	places, _ := matches(t, f, int64(len(f.data)), Pattern{Text: "needle"}, true)
	if len(places) != 1 || f.read > 4*chunkSize || f.asked > 8 {
		t.Errorf("%d places, %d KiB read, %d times asked", len(places), f.read>>10, f.asked)
	}
	f.read, f.asked = 0, 0
	if places, _ = matches(t, f, int64(len(f.data)), Pattern{Text: "nowhere"}, false); len(places) != 0 || f.read > 0 || f.asked > 8 {
		t.Errorf("backwards: %d places, %d KiB read, %d times asked", len(places), f.read>>10, f.asked)
	}
}
