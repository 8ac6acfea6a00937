package logview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"corral/e2e/rounds"
	"corral/sessions"
)

// file is a log on disk.
type file struct{ *os.File }

func (f file) info() sessions.LogInfo {
	st, err := f.Stat()
	if err != nil {
		return sessions.LogInfo{}
	}
	return sessions.LogInfo{Size: st.Size()}
}

func (f file) ReadAt(_ context.Context, p []byte, off int64) (int, sessions.LogInfo, error) {
	n, err := f.File.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, f.info(), err
}

func (f file) Wait(ctx context.Context, _ int64) (sessions.LogInfo, error) {
	<-ctx.Done()
	return sessions.LogInfo{}, ctx.Err()
}

func (f file) Marks(context.Context, int64) ([]sessions.LogMark, error) { return nil, nil }

// TestFigures measures what issue 9 asks for on one file, against grep, less and tail in the same run: 1 GB at the full
// level, less before. Limits are asserted at the full level only.
func TestFigures(t *testing.T) {
	size := int64(rounds.N(16<<20, 64<<20, 1<<30))
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var piece bytes.Buffer
	for i := 0; piece.Len() < 1<<20; i++ {
		fmt.Fprintf(&piece, "\x1b[2m2026-11-30 12:00:%02d\x1b[m \x1b[32mINFO\x1b[m request %d of the service was answered in %d ms\n", i%60, i, i%977)
	}
	const needle = "there is just one such line"
	for written := int64(0); written < size; written += int64(piece.Len()) {
		if written >= size*9/10 && written-int64(piece.Len()) < size*9/10 {
			fmt.Fprintln(f, needle)
		}
		if _, err := f.Write(piece.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintln(f, "the end of the log")
	timed := func(what string, do func()) time.Duration {
		start := time.Now()
		do()
		d := time.Since(start)
		t.Logf("%-45s %v", what, d.Round(10*time.Microsecond))
		return d
	}
	peer := func(name string, args ...string) time.Duration {
		return timed(name+" "+strings.Join(args[:len(args)-1], " "), func() {
			if out, err := exec.Command(name, args...).Output(); err != nil || len(out) == 0 {
				t.Fatalf("%s: %v (Debian has it as grep, coreutils or less)", name, err)
			}
		})
	}
	peer("grep", "-cF", needle, f.Name()) // the page cache is warm from here on
	grep := peer("grep", "-cF", needle, f.Name())
	peer("tail", "-n", "100", f.Name())

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var v *viewer
	opened := timed("open at the end", func() {
		v = view(t, file{f}, 200, 50)
		v.shows("the end of the log")
	})
	key := timed("a key to its picture", func() {
		v.press("k")
		v.until("scrolled", func(rows []string) bool { return !strings.Contains(rows[49], "following") })
	})
	found := timed("search, hit at 90 %, counted to the end", func() {
		v.press("/"+needle, "enter")
		v.shows("1 of 1")
	})
	timed("go to the last line's number", func() {
		v.press(":999999999", "enter")
		v.shows("fewer lines")
	})
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%-45s %d KiB", "memory", grown>>10)
	if grown > 32<<20 {
		t.Errorf("the viewer keeps %d MiB", grown>>20)
	}
	if !rounds.Timing() {
		return
	}
	if opened > 50*time.Millisecond {
		t.Errorf("opening took %v, at most 50 ms were promised", opened)
	}
	if key > 50*time.Millisecond {
		t.Errorf("a key took %v", key)
	}
	if found > 2*grep {
		t.Errorf("the search took %v, grep -F %v: at most twice that was promised", found, grep)
	}
}
