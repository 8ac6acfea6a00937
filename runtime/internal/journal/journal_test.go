package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func open(t *testing.T, dir string, opts Options) *Writer {
	t.Helper()
	w, err := OpenWriter(dir, "s", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func output(p string) *Record {
	r := &Record{Kind: Output}
	r.SetData([]byte(p))
	return r
}

func write(t *testing.T, w *Writer, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if err := w.Append(output(s)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir string, q Query) (records []Record, torn int) {
	t.Helper()
	torn, err := Read(dir, q, func(r *Record) error {
		records = append(records, *r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records, torn
}

// ordered checks that sequences rise by one and times do not go back.
func ordered(t *testing.T, records []Record) {
	t.Helper()
	for i := 1; i < len(records); i++ {
		if records[i].Sequence != records[i-1].Sequence+1 || records[i].Time.Before(records[i-1].Time) {
			t.Fatalf("record %d at %v follows %d at %v", records[i].Sequence, records[i].Time, records[i-1].Sequence, records[i-1].Time)
		}
	}
}

func TestBytesComeBackExactly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, dir, Options{Segment: 10 << 10})
	rng := rand.New(rand.NewPCG(1, 2))
	var want []byte
	for i := range 400 {
		p := make([]byte, rng.IntN(200))
		for j := range p {
			p[j] = byte(rng.IntN(256))
		}
		if i%2 == 0 {
			p = []byte(strings.ToValidUTF8(string(p), "é\x00\"\\\u2028"))
		}
		want = append(want, p...)
		write(t, w, string(p))
	}
	records, torn := read(t, dir, Query{})
	ordered(t, records)
	var got []byte
	for _, r := range records {
		p, err := r.Data()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p...)
	}
	if torn != 0 || !bytes.Equal(got, want) {
		t.Errorf("%d torn, %d bytes of %d", torn, len(got), len(want))
	}
	if list, _ := segments(dir); len(list) < 5 {
		t.Errorf("only %d segments", len(list))
	}
}

func TestDetailsComeBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, dir, Options{})
	seven := 7
	for _, r := range []Record{
		{Kind: Start, Details: Details{Argv: []string{"a", "b c"}, Cols: 80, Rows: 24}},
		{Kind: Input, Details: Details{Redacted: true, Bytes: 9}},
		{Kind: Exit, Details: Details{Code: &seven}},
		{Kind: Snapshot, Details: Details{ANSI: "\x1b[1mx\x1b[m\ny", Cursor: &Cursor{1, 2}, Alternate: true}},
		{Kind: Gap, Details: Details{Why: "disk full", Bytes: 3}},
	} {
		if err := w.Append(&r); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := read(t, dir, Query{})
	if len(got) != 5 || got[0].Argv[1] != "b c" || got[1].Bytes != 9 || !got[1].Redacted || *got[2].Code != 7 ||
		got[3].ANSI != "\x1b[1mx\x1b[m\ny" || got[3].Cursor.Column != 2 || got[4].Why != "disk full" {
		t.Errorf("got %+v", got)
	}
	if r, err := Newest(dir, Exit, Start); err != nil || r == nil || r.Kind != Exit {
		t.Errorf("newest %+v, %v", r, err)
	}
}

// A writer that is killed, or a machine that stops, can leave any part of what was written.
func TestAJournalCutAnywhereGoesOn(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	w := open(t, source, Options{Segment: 500})
	write(t, w, "one", "zwei ü", "\xff\x00", "four", strings.Repeat("x", 300), "six", "seven")
	list, err := segments(source)
	if err != nil || len(list) < 2 {
		t.Fatal(list, err)
	}
	newest, err := os.ReadFile(list[len(list)-1].path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(newest) + 1 {
		dir := t.TempDir()
		for _, s := range list[:len(list)-1] {
			b, err := s.read()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(s.path)), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(list[len(list)-1].path)), newest[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		before, _ := read(t, dir, Query{})
		w := open(t, dir, Options{Segment: 500})
		write(t, w, "after")
		after, torn := read(t, dir, Query{})
		ordered(t, after)
		if len(after) != len(before)+1 && len(after) != len(before) || torn > 1 {
			t.Fatalf("cut at %d: %d records became %d, %d torn", cut, len(before), len(after), torn)
		}
		if last := after[len(after)-1]; last.Payload != "after" {
			t.Fatalf("cut at %d: ends with %+v", cut, last)
		}
	}
}

func TestTimesNeverGoBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	dir := t.TempDir()
	w := open(t, dir, Options{Now: func() time.Time { now = now.Add(-time.Hour); return now }})
	write(t, w, "a", "b")
	_ = w.Close()
	w = open(t, dir, Options{Now: func() time.Time { return now.Add(-24 * time.Hour) }})
	write(t, w, "c")
	records, _ := read(t, dir, Query{})
	ordered(t, records)
}

func TestCompressedSegmentsAreReadLikeOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var closed []string
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := open(t, dir, Options{
		Segment: 100 << 10,
		Closed:  func(path string) { closed = append(closed, path) },
		Now:     func() time.Time { clock = clock.Add(time.Second); return clock },
	})
	const count = 5000
	for i := range count {
		write(t, w, fmt.Sprintf("%d %s", i+1, strings.Repeat("y", 60)))
	}
	if len(closed) < 3 {
		t.Fatalf("%d closed", len(closed))
	}
	for _, path := range closed[:2] {
		if err := Compress(path); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stays: %v", path, err)
		}
	}
	if left, err := Unpacked(dir + "/.."); err != nil || len(left) != len(closed)-2 {
		t.Errorf("%d wait to be compressed, %v", len(left), err)
	}
	for _, after := range []int64{0, 1, 700, 1234, 2500, count - 1, count} {
		records, torn := read(t, dir, Query{After: after})
		ordered(t, records)
		if torn != 0 || len(records) != count-int(after) {
			t.Errorf("after %d: %d records, %d torn", after, len(records), torn)
		}
	}
	all, _ := read(t, dir, Query{})
	some, _ := read(t, dir, Query{Since: all[1000].Time, Until: all[3000].Time})
	if len(some) != 2001 || some[0].Sequence != 1001 {
		t.Errorf("%d records from %d on", len(some), some[0].Sequence)
	}
	if none, _ := read(t, dir, Query{Kinds: []Kind{Input}}); len(none) != 0 {
		t.Errorf("%d of another kind", len(none))
	}
	// The newest segment was compressed too: another one begins.
	_ = w.Close()
	list, _ := segments(dir)
	if err := Compress(list[len(list)-1].path); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, dir, Options{}), "next")
	records, _ := read(t, dir, Query{})
	ordered(t, records)
	if len(records) != count+1 {
		t.Errorf("%d records", len(records))
	}
}

func TestWhatIsOldGoesAndSequencesStay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	clock := time.Now().Add(-10 * 24 * time.Hour)
	w := open(t, filepath.Join(root, "s"), Options{Segment: 1000, Now: func() time.Time { return clock }})
	for range 50 {
		write(t, w, strings.Repeat("z", 100))
		clock = clock.Add(4 * time.Hour)
	}
	all, _ := read(t, filepath.Join(root, "s"), Query{})
	if _, err := Expire(root, Limits{Age: 7 * 24 * time.Hour}, time.Now(), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	kept, _ := read(t, filepath.Join(root, "s"), Query{})
	ordered(t, kept)
	if len(kept) == 0 || len(kept) == len(all) || time.Since(kept[len(kept)-1].Time) > 7*24*time.Hour || kept[len(kept)-1].Sequence != 50 {
		t.Fatalf("%d of %d kept", len(kept), len(all))
	}
	if _, err := Expire(root, Limits{Total: 2500}, time.Now(), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if u, err := Measure(root); err != nil || u.Bytes > 2500 || u.Bytes == 0 || u.Oldest.IsZero() {
		t.Errorf("usage %+v, %v", u, err)
	}
	_ = w.Close()
	if _, err := Expire(root, Limits{Age: time.Nanosecond}, time.Now().Add(time.Hour), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if u, err := Measure(root); err != nil || u.Bytes != 0 {
		t.Errorf("usage %+v, %v", u, err)
	}
	w = open(t, filepath.Join(root, "s"), Options{})
	write(t, w, "x")
	if w.Last() != 51 {
		t.Errorf("the sequence after all is gone is %d", w.Last())
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	long := "\x1b]52;c;" + strings.Repeat("A", maxTail+10)
	for in, want := range map[string]int{
		"": 0, "abc": 3, "ab\xc3": 2, "ab\xc3\xbc": 4, "\xe2\x82": 0, "a\xf0\x9f\x98": 1, "a\xff": 2, "\x80\x80\x80\x80\x80": 5,
		"a\x1b": 1, "a\x1b[": 1, "a\x1b[1;3": 1, "a\x1b[1;3m": 7, "a\x1b]0;ti": 1, "a\x1b]0;t\x07": 7, "a\x1b]0;t\x1b": 1,
		"a\x1b]0;t\x1b\\": 8, "a\x1b(": 1, "a\x1b(0": 4, "a\x1b7": 3, "\x1b[1m\xc3": 4, "a\x1b]x\x1b[1": 4, long: len(long),
	} {
		if got := Whole([]byte(in)); got != want {
			t.Errorf("Whole(%.20q) = %d, want %d", in, got, want)
		}
	}
}

func TestNoSplitBreaksText(t *testing.T) {
	t.Parallel()
	text := []byte("grün \x1b[38;5;196mrot\x1b[m €\x1b]0;Titel\x1b\\ 😀\x1b(0q\x1b(B")
	for cut := range text {
		n := Whole(text[:cut])
		if !utf8.Valid(text[:n]) || !utf8.Valid(text[n:]) || cut-n > 20 {
			t.Errorf("cut at %d leaves %q", cut, text[:n])
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"sessionId":"s","sequence":1,"kind":"output","timestampUtc":"2026-01-01T00:00:00Z","payload":"x"}`+"\n"), int64(0))
	f.Add([]byte("\n\n{}\n\x00"), int64(5))
	f.Fuzz(func(t *testing.T, b []byte, after int64) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, segmentName(1, time.UnixMilli(0))), b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = Read(dir, Query{After: after}, func(r *Record) error { _, _ = r.Data(); return nil })
		_, _ = Newest(dir, Snapshot)
		w, err := OpenWriter(dir, "s", Options{})
		if err != nil {
			t.Fatal(err)
		}
		before := w.Last()
		if before > 1<<62 {
			return // nobody wrote that
		}
		if err := w.Append(output("y")); err != nil || w.Last() != before+1 {
			t.Fatal(err, before, w.Last())
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzWhole(f *testing.F) {
	f.Add([]byte("a\x1b]0;t\x1b"))
	f.Fuzz(func(t *testing.T, p []byte) {
		if n := Whole(p); n < 0 || n > len(p) || len(p)-n > maxTail {
			t.Fatalf("Whole(%q) = %d", p, n)
		}
	})
}

func TestFullDiskLeavesNoHalfRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, dir, Options{})
	write(t, w, "before")
	file := w.file
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	w.file = full
	if err := w.Append(output("lost")); err == nil {
		t.Fatal("written to a full disk")
	}
	w.file = file
	write(t, w, "after")
	records, torn := read(t, dir, Query{})
	ordered(t, records)
	if torn != 0 || len(records) != 2 || records[1].Payload != "after" {
		t.Errorf("got %+v, %d torn", records, torn)
	}
}

func BenchmarkAppend(b *testing.B) {
	dir := b.TempDir()
	w, err := OpenWriter(dir, "s", Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	p := []byte(strings.Repeat("\x1b[32m0123456789 the quick brown fox\x1b[m\r\n", 800))
	b.SetBytes(int64(len(p)))
	for range b.N {
		r := &Record{Kind: Output}
		r.SetData(p)
		if err := w.Append(r); err != nil {
			b.Fatal(err)
		}
	}
}
