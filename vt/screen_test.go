package vt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/vt"
)

// write returns a screen of 20x5 that was written s.
func write(t *testing.T, s string, opts ...vt.Option) *vt.Screen {
	t.Helper()
	screen := vt.New(20, 5, opts...)
	n, err := screen.Write([]byte(s))
	if n != len(s) || err != nil {
		t.Fatalf("Write = %d, %v; want %d, nil", n, err, len(s))
	}
	return screen
}

// lines returns a screen's text without the empty rows at its end.
func lines(s *vt.Screen) []string {
	return strings.Split(strings.TrimRight(s.Frame().Text(), "\n"), "\n")
}

func TestScreenText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"plain", "one\r\ntwo", []string{"one", "two"}},
		{"wrap", "0123456789012345678901", []string{"01234567890123456789", "01"}},
		{"scroll", "1\r\n2\r\n3\r\n4\r\n5\r\n6", []string{"2", "3", "4", "5", "6"}},
		{"rewrite", "abcdef\rxy", []string{"xycdef"}},
		{"combining", "e\u0301x", []string{"e\u0301x"}},
		{"combining later", "ab\x1b[3D\x1b[2Cx\x1b[1;2H\u0301", []string{"a\u0301bx"}},
		{"wide", "a世b", []string{"a世b"}},
		{"wide cut", "世\x1b[1;2Hx", []string{" x"}},
		{"wide overwritten", "世\x1b[1;1Hx", []string{"x"}},
		{"joined", "👩\u200d🔬!", []string{"👩\u200d🔬!"}},
		{"dangling joiner", "👩\u200d!", []string{"👩!"}},
		{"bad", "a\xe4\xb8b\xff", []string{"a\ufffdb\ufffd"}},
		{"bidi", "a\u202eb", []string{"ab"}},
		{"line drawing", "\x1b(0lqk\x1b(Bq", []string{"┌─┐q"}},
		{"insert", "abc\x1b[1;2H\x1b[2@", []string{"a  bc"}},
		{"delete", "abcdef\x1b[1;2H\x1b[2P", []string{"adef"}},
		{"repeat", "ab\x1b[3b", []string{"abbbb"}},
		{"tabs", "a\tb\tc", []string{"a       b       c"}},
		{"region", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nx", []string{"1", "3", "x", "4"}},
		{"reverse index", "1\r\n2\x1b[H\x1bM0", []string{"0", "1", "2"}},
		{"insert lines", "1\r\n2\r\n3\x1b[2;1H\x1b[L", []string{"1", "", "2", "3"}},
		{"delete lines", "1\r\n2\r\n3\x1b[1;1H\x1b[M", []string{"2", "3"}},
		{"alternate", "main\x1b[?1049halt\x1b[?1049l!", []string{"main!"}},
		{"title with 0x9c", "\x1b]0;✜ x\x07a", []string{"a"}},
		{"strings", "\x1bPx\x1b\\\x1b_y\x1b\\\x1b^z\x1b\\\x1bXw\x1b\\a", []string{"a"}},
		{"sync", "\x1bP=1s\x1b\\a\x1bP=2s\x1b\\b", []string{"ab"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, lines(write(t, c.in))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestHostileInput feeds what makes vt10x by itself panic or hang.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/hostile/*.bin")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		vt.New(80, 24).Write(data)
		if d := time.Since(start); d > time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
}
