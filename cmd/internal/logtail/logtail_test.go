package logtail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	long := strings.Repeat("x", 3*block)
	for _, c := range []struct {
		text string
		n    int
		want []string
	}{
		{"", 3, nil},
		{"a\nb\nc\n", 2, []string{"b", "c"}},
		{"a\nb\nc\n", 9, []string{"a", "b", "c"}},
		{"a\nb\nc\n", 0, nil},
		{"a\nb\nunfinished", 1, []string{"b"}},
		{"a\n" + long + "\n\nz\n", 3, []string{long, "", "z"}},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := Tail(path, c.n, func(l []byte) error { got = append(got, string(l)); return nil }); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%.20q, last %d: %.60q", c.text, c.n, got)
		}
	}
	if err := Tail(path+"-missing", 1, nil); err != nil {
		t.Errorf("a file that does not exist: %v", err)
	}
}

func TestTailStopsWhenItsReaderDoes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	if err := Tail(path, 2, func([]byte) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}

// TestFollowAcrossRotation writes while the file is rotated again and again: every line comes once and in order.
func TestFollowAcrossRotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	const lines, each = 300, 7
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen := make(chan string, lines+1)
	done := make(chan error, 1)
	go func() {
		done <- Follow(ctx, path, 1, func(l []byte) error { seen <- string(l); return nil })
	}()
	write := func(i int) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := fmt.Fprintf(f, "line %d\n", i); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for i := range lines {
		if i%each == each-1 {
			if err := os.Rename(path, fmt.Sprintf("%s.%d", path, i)); err != nil {
				t.Fatal(err)
			}
		}
		write(i)
		select {
		case got := <-seen:
			if want := fmt.Sprintf("line %d", i); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		case err := <-done:
			t.Fatalf("it ended at line %d: %v", i, err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the end of the context: %v", err)
	}
}
