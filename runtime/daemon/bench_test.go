package daemon

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"corral/e2e/rounds"
	"corral/runtime/internal/journal"
)

// BenchmarkLastScreen rebuilds the last screen from the end of a large journal: with a snapshot near, as there always is
// while a runtime lives, and without any.
func BenchmarkLastScreen(b *testing.B) {
	for _, snapshots := range []bool{true, false} {
		b.Run(fmt.Sprint("snapshots=", snapshots), func(b *testing.B) {
			dir := b.TempDir()
			fillJournal(b, dir, rounds.N(32<<20, 100<<20, 500<<20), snapshots)
			j := newJournaling("", filepath.Dir(dir), true, slog.New(slog.DiscardHandler))
			for b.Loop() {
				if _, err := j.LastScreen(filepath.Base(dir)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func fillJournal(b *testing.B, dir string, size int, snapshots bool) {
	b.Helper()
	w, err := journal.OpenWriter(dir, "s", journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	text := strings.Repeat("\x1b[32m0123456789 the quick brown fox\x1b[m\r\n", 400)
	for n, since := 0, 0; n < size; {
		r := journal.Record{Kind: journal.Output, Payload: text}
		if since > 1<<20 && snapshots {
			r = journal.Record{Kind: journal.Snapshot, Details: journal.Details{ANSI: text[:1500], Cols: 80, Rows: 24, Through: w.Last()}}
			since = 0
		}
		if err := w.Append(&r); err != nil {
			b.Fatal(err)
		}
		n, since = n+len(text), since+len(text)
	}
}
