package daemon

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"corral/e2e/rounds"
	"corral/runtime/internal/journal"
	"corral/runtime/rtapi"
)

func (b *bed) printed(t *testing.T, id string) []byte {
	t.Helper()
	var all []byte
	for _, r := range b.records(t, id, journal.Output) {
		p, err := r.Data()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p...)
	}
	return all
}

// TestTheExitComesLast runs programs that are over before their output pipe has been handed over. Every one is there,
// and its end is the last word.
func TestTheExitComesLast(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for i := range rounds.N(4, 20, 100) {
		id := fmt.Sprint("quick", i)
		b.create(t, id, `printf 'one\ntwo\nthree \303\n'`)
		b.awaitRecord(t, id, journal.Exit, func(journal.Record) bool { return true })
		list := b.records(t, id, journal.Output, journal.Exit)
		if last := list[len(list)-1]; last.Kind != journal.Exit || *last.Code != 0 {
			t.Errorf("ends with %+v", last)
		}
		if got := string(b.printed(t, id)); got != "one\r\ntwo\r\nthree \xc3\r\n" {
			t.Errorf("printed %q", got)
		}
	}
}

// TestAnyBytesComeBack sends what is no text through a real pane.
func TestAnyBytesComeBack(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	rng := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rng.IntN(256))
	}
	line := bytes.Repeat([]byte("one long line ü "), rounds.N(1<<20, 10<<20, 10<<20)/17)
	// Sequences that tmux would answer the program with, or that end a string early, are as good as any other bytes.
	for id, data := range map[string][]byte{"noise": noise, "line": line, "nul": []byte("a\x00b\xff\xfe\xc0\x80\xed\xa0\x80z")} {
		path := filepath.Join(b.dir, id)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		b.create(t, id, "stty raw -echo; cat "+path)
		b.awaitRecord(t, id, journal.Exit, func(journal.Record) bool { return true })
		if got := b.printed(t, id); !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes of %d", id, len(got), len(data))
		}
	}
}

// TestManySmallWrites prints a byte at a time.
func TestManySmallWrites(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	n := rounds.N(20_000, 100_000, 1_000_000)
	began := time.Now()
	b.create(t, "small", fmt.Sprintf("stty raw; exec dd if=/dev/zero bs=1 count=%d 2>/dev/null", n))
	b.awaitRecord(t, "small", journal.Exit, func(journal.Record) bool { return true })
	t.Logf("%d writes in %v", n, time.Since(began))
	if got := b.printed(t, "small"); !bytes.Equal(got, make([]byte, n)) {
		t.Errorf("%d bytes of %d", len(got), n)
	}
}

// TestAnEchoFollowsItsKey types into cat, with a flood in another terminal.
func TestAnEchoFollowsItsKey(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "flood", `while :; do echo "flood flood flood flood flood flood"; done`)
	b.create(t, "cat", `stty raw -echo; printf 'ready'; exec cat`)
	b.awaitScreen(t, "cat", "ready")
	n := rounds.N(200, 2000, 10_000)
	keys := make([]string, 0, 16)
	for i := 0; i < n; i += len(keys) { // a few at once, as a fast typist does
		keys = keys[:0]
		for range min(1+rand.IntN(16), n-i) {
			keys = append(keys, string(rune('a'+rand.IntN(26))))
		}
		if err := b.Input(deadline(t), "cat", rtapi.InputRequest{Keys: keys}); err != nil {
			t.Fatal(err)
		}
	}
	var typed, echoed string
	for end := time.Now().Add(patience); len(echoed) < n && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		typed, echoed = "", ""
		for _, r := range b.records(t, "cat", journal.Input, journal.Output) {
			switch r.Kind {
			case journal.Input:
				typed += r.Payload
			default:
				echoed += strings.TrimPrefix(r.Payload, "ready")
				if !strings.HasPrefix(typed, echoed) {
					t.Fatalf("record %d echoes what was not typed", r.Sequence)
				}
			}
		}
	}
	if len(typed) != n || echoed != typed {
		t.Errorf("%d typed, %d echoed of %d", len(typed), len(echoed), n)
	}
}

// TestAGapIsFollowedByASnapshot kills the recorder, which holds the only end of a quiet terminal's pipe.
func TestAGapIsFollowedByASnapshot(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "quiet", "echo before; read x; echo after; sleep 1000")
	b.awaitScreen(t, "quiet", "before")
	b.settled(t, "quiet", "before")
	if err := syscall.Kill(b.awaitRecorder(t, 0), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gap := b.awaitRecord(t, "quiet", journal.Gap, func(journal.Record) bool { return true })
	b.awaitRecord(t, "quiet", journal.Snapshot, func(r journal.Record) bool { return r.Sequence > gap.Sequence })
	if err := b.Input(deadline(t), "quiet", rtapi.InputRequest{Enter: true}); err != nil {
		t.Fatal(err)
	}
	b.awaitRecord(t, "quiet", journal.Output, func(r journal.Record) bool { return strings.Contains(r.Payload, "after") })
}
