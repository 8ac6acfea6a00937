package journal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadTyping(t *testing.T) {
	t.Parallel()
	in := func(s string) *Record { return &Record{Kind: Input, Payload: s} }
	out := func(s string) *Record { return &Record{Kind: Output, Payload: s} }
	secret := &Record{Kind: Input, Details: Details{Redacted: true, Bytes: 5}}
	begin := &Record{Kind: Start}
	for _, test := range []struct {
		name           string
		records        []*Record
		typed, printed string
	}{
		{"nothing", nil, "", ""},
		{"typed ahead", []*Record{begin, in("git "), in("status")}, "git status", ""},
		{"a line done", []*Record{begin, in("dir\r"), out("PS> dir\r\nnext> ")}, "", ""},
		{"a line begun", []*Record{begin, in("dir\rgi"), out("PS> gi"), in("t")}, "git", "PS> gi"},
		{"output before does not count", []*Record{begin, out("old"), in("\r"), out("older"), in("x")}, "x", ""},
		{"interrupted", []*Record{begin, in("abc"), in("\x03"), out("^C\r\n$ ")}, "", ""},
		{"killed and typed anew", []*Record{begin, in("abc\x15de")}, "de", ""},
		{"backspace", []*Record{begin, in("ä"), in("b\x7f"), out("b\b \b"), in("c")}, "äc", "b\b \b"},
		{"an arrow", []*Record{begin, in("abc"), in("\x1b[D"), in("d")}, "", ""},
		{"a line after an arrow", []*Record{begin, in("abc\x1b[Dd\r"), in("e")}, "e", ""},
		{"a password", []*Record{begin, in("su\r"), secret, in("l")}, "l", ""},
		{"a gap", []*Record{begin, in("abc"), {Kind: Gap}, in("d")}, "d", ""},
		{"a new program", []*Record{begin, in("abc"), begin}, "", ""},
		{"far back", []*Record{begin, in("abc"), out(strings.Repeat("x", maxTyping))}, "", ""},
	} {
		dir := t.TempDir()
		w, err := OpenWriter(dir, "id", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range test.records {
			copied := *r
			if err := w.Append(&copied); err != nil {
				t.Fatal(err)
			}
		}
		got, err := ReadTyping(dir)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{test.typed, test.printed}, []string{string(got.Typed), string(got.Printed)}); d != "" {
			t.Errorf("%s: %s", test.name, d)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
