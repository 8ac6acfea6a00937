package journal

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func in(p string) *Record {
	r := &Record{Kind: Input}
	r.SetData([]byte(p))
	return r
}

func appendAll(t *testing.T, dir string, opts Options, list ...*Record) {
	t.Helper()
	w := open(t, dir, opts)
	for _, r := range list {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatIsPending(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line of a listing\r\n", 10_000)
	secret := &Record{Kind: Input, Details: Details{Redacted: true, Bytes: 3}}
	for name, c := range map[string]struct {
		records       []*Record
		input, output string
	}{
		"nothing":           {nil, "", ""},
		"never echoed":      {[]*Record{output("PS> "), in("git status")}, "git status", ""},
		"echoed in part":    {[]*Record{output("PS> "), in("gi"), output("gi"), in("t status")}, "git status", "gi"},
		"entered":           {[]*Record{in("dir\r"), output("PS> dir\r\nnext> ")}, "", ""},
		"after an enter":    {[]*Record{in("dir\rls"), output("dir\r\n")}, "ls", "dir\r\n"},
		"interrupted":       {[]*Record{in("sleep"), in("\x03")}, "", ""},
		"line killed":       {[]*Record{in("rm -r"), in("\x15"), in("l")}, "l", ""},
		"a password":        {[]*Record{in("su"), secret, in("x")}, "x", ""},
		"a new program":     {[]*Record{in("old"), {Kind: Exit}, {Kind: Start}, in("new")}, "new", ""},
		"something missing": {[]*Record{in("old"), {Kind: Gap}}, "", ""},
		"a long listing":    {[]*Record{in("ls\r"), output(long), output("$ "), in("x"), output("x")}, "x", "x"},
		"much printed":      {[]*Record{in("x"), output(long)}, "", ""},
		"in between":        {[]*Record{in("a"), {Kind: Resize}, {Kind: Snapshot}, output("a"), in("b")}, "ab", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			appendAll(t, dir, Options{}, c.records...)
			got, err := Pending(dir)
			if err != nil || string(got.Input) != c.input || string(got.Output) != c.output || got.Sequence != int64(len(c.records)) {
				t.Errorf("got %q, printed %q, at %d, %v", got.Input, got.Output, got.Sequence, err)
			}
		})
	}
}

// Read backward a journal has the same records, whatever its lines, segments and torn ends are.
func TestBackwardIsTheReverse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var list []*Record
	for i := range 600 {
		list = append(list, output(strconv.Itoa(i)+strings.Repeat("x", i*i%4000)))
	}
	list = append(list, output(strings.Repeat("a long one ", 100_000)), output("last"))
	closed := ""
	appendAll(t, dir, Options{Segment: 200 << 10, Closed: func(path string) { closed = path }}, list...)
	if err := Compress(closed); err != nil {
		t.Fatal(err)
	}
	segs, _ := segments(dir)
	tear(t, segs[len(segs)-1].path)
	forth, _ := read(t, dir, Query{})
	var back []string
	err := Backward(dir, func(r *Record) bool {
		back = append(back, r.Payload)
		return true
	})
	if err != nil || len(back) != len(forth) || len(back) != len(list)-1 {
		t.Fatalf("%d back, %d forth, %v", len(back), len(forth), err)
	}
	slices.Reverse(back)
	for i, r := range forth {
		if back[i] != r.Payload {
			t.Fatalf("record %d is %.40q", r.Sequence, back[i])
		}
	}
}

// tear cuts the last line of a file short.
func tear(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-5)
	}
	if err != nil {
		t.Fatal(err)
	}
}
