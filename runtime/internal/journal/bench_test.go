package journal

import (
	"fmt"
	"strings"
	"testing"

	"corral/e2e/rounds"
)

// BenchmarkSearch looks for a word in all of a journal whose closed segments are compressed.
func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	size := int64(rounds.N(32<<20, 128<<20, 1<<30))
	w, err := OpenWriter(dir, "s", Options{Closed: func(path string) {
		if err := Compress(path); err != nil {
			b.Fatal(err)
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	line := strings.Repeat("\x1b[32m0123456789 the quick brown fox\x1b[m\r\n", 400)
	for n, i := int64(0), 0; n < size; i++ {
		r := &Record{Kind: Output}
		r.SetData(fmt.Appendf(nil, "%d %s", i, line))
		if err := w.Append(r); err != nil {
			b.Fatal(err)
		}
		n += int64(len(r.Payload))
	}
	b.SetBytes(size)
	for b.Loop() {
		found := 0
		_, err := Read(dir, Query{Kinds: []Kind{Output}}, func(r *Record) error {
			if strings.Contains(r.Payload, "needle") {
				found++
			}
			return nil
		})
		if err != nil || found > 0 {
			b.Fatal(found, err)
		}
	}
}
