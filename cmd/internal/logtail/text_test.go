package logtail

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"corral/sessions"
)

// spelled spells a line as `at <n>: text`, written n seconds after the epoch.
func spelled(line []byte) (string, time.Time) {
	var n int64
	if _, err := fmt.Sscanf(string(line), "%d", &n); err != nil {
		return "odd: " + string(line), time.Time{}
	}
	return fmt.Sprintf("at %d", n), time.Unix(n, 0)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// all reads the whole text.
func all(t *testing.T, x *Text) (string, sessions.LogInfo) {
	t.Helper()
	if _, _, err := x.ReadAt(t.Context(), nil, 0); err != nil { // reads what is new
		t.Fatal(err)
	}
	buf := make([]byte, 1<<20)
	n, info, err := x.ReadAt(t.Context(), buf, x.before)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n]), info
}

func TestTextOverRotations(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.log")
	rotated := func(at string) string { return strings.TrimSuffix(path, ".log") + "-" + at + ".log" }
	write(t, rotated("2026-01-02T00-00-00.000"), "3\n4\n")
	write(t, rotated("2026-01-01T00-00-00.000"), "1\n2\n")
	write(t, path, "5\n{no json\n6 is unfinished")
	x := NewText(path, spelled)
	want := "at 1\nat 2\nat 3\nat 4\nat 5\nodd: {no json\n"
	if got, info := all(t, x); got != want || info.Size != int64(len(want)) {
		t.Fatalf("got %q, %+v", got, info)
	}

	grown := make(chan error, 1)
	go func() {
		info, err := x.Wait(context.Background(), int64(len(want)))
		if err == nil && info.Size <= int64(len(want)) {
			err = fmt.Errorf("it says %+v", info)
		}
		grown <- err
	}()
	write(t, path, "\n")
	if err := <-grown; err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, rotated("2026-01-03T00-00-00.000")); err != nil {
		t.Fatal(err)
	}
	write(t, path, "7\n")
	if got, _ := all(t, x); got != want+"at 6\nat 7\n" {
		t.Fatalf("after a rotation: %q", got)
	}
	marks, err := x.Marks(t.Context(), 6)
	if err != nil || len(marks) != 5 || marks[0].Offset != 10 || marks[0].At.Unix() != 3 || marks[4].At.Unix() != 7 {
		t.Errorf("%v, %v", marks, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Wait(ctx, 1<<20); err == nil {
		t.Error("a wait that is over goes on")
	}
}

func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.log")
	x := NewText(path, spelled)
	x.most = 1000
	if got, info := all(t, x); got != "" || info.Size != 0 {
		t.Errorf("a log that is not there: %q, %+v", got, info)
	}
	var written strings.Builder
	for i := range 500 {
		fmt.Fprintf(&written, "%d\n", i+1000)
	}
	write(t, path, written.String())
	got, info := all(t, x)
	if len(got) > x.most || info.CutTo == 0 || info.CutFrom != 0 || info.CutTo+int64(len(got)) != info.Size {
		t.Fatalf("%d bytes are kept, %+v", len(got), info)
	}
	if !strings.HasPrefix(got, "at ") || !strings.HasSuffix(got, "at 1499\n") || info.Size != 500*8 {
		t.Errorf("%q, %+v", got, info)
	}
	if n, _, err := x.ReadAt(t.Context(), make([]byte, 10), info.CutTo-1); n != 0 || err != nil {
		t.Errorf("what was dropped is read: %d, %v", n, err)
	}
	if marks, _ := x.Marks(t.Context(), 0); marks[0].Offset != info.CutTo {
		t.Errorf("marks begin at %d", marks[0].Offset)
	}
}
