package journal

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A journal is followed over the change of segments, their compression and a torn line, each record once.
func TestFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var closed []string
	w := open(t, dir, Options{Segment: 2000, Closed: func(path string) { closed = append(closed, path) }})
	write(t, w, "0", "1", "2")
	got := make(chan *Record, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Follow(ctx, dir, Query{After: 1, Kinds: []Kind{Output}}, func(r *Record) error {
			got <- r
			return nil
		})
	}()
	next := 1
	expect := func(until int) {
		t.Helper()
		for ; next <= until; next++ {
			select {
			case r := <-got:
				if want := strconv.Itoa(next); strings.TrimRight(r.Payload, "x") != want {
					t.Fatalf("record %d is %.20q instead of %s", r.Sequence, r.Payload, want)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%d does not come", next)
			}
		}
	}
	expect(2)
	for i := 3; i < 100; i++ {
		if i == 50 { // another writer, after one that was killed while it wrote
			if _, err := w.file.WriteString(`{"sessionId":"s","sequ`); err != nil {
				t.Fatal(err)
			}
			w = open(t, dir, Options{Segment: 2000})
		}
		write(t, w, strconv.Itoa(i)+strings.Repeat("x", 100))
		if i == 20 || i == 70 {
			for _, path := range closed {
				if err := Compress(path); err != nil {
					t.Fatal(err)
				}
			}
			closed = nil
		}
	}
	expect(99)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
