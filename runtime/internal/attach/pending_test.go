package attach

import "testing"

func TestUnechoed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, typed, printed, left, right, want string
	}{
		{"nothing printed", "git status", "", "", "", "git status"},
		{"nothing printed, behind a prompt", "git status", "", "$ ", "", "git status"},
		{"a beginning echoed", "git status", "PS> gi", "PS> gi", "", "t status"},
		{"a beginning was there before", "git status", "", "PS> gi", "", "t status"},
		{"the prompt came late", "ls", "\r\n$ ", "$ ", "", "ls"},
		{"all echoed", "git status", "git status", "PS> git status", "", ""},
		{"coloured", "git", "\x1b[32mg\x1b[1mi\x1b[m", "> gi", "", "t"},
		{"echoed and moved on", "git", "git\r\n$ ", "$ ", "", ""},
		{"echoed elsewhere", "git", "\x1b[20;3Hgit\x1b[24;1H", "", "", ""},
		{"by backspaces", "git", "gx\bi", "$ gi", "", ""},
		{"the echo is not the last", "git", "gi hint", "$ gi", "", ""},
		{"behind the cursor is text", "git", "gi", "$ gi", "t status", ""},
		{"a character that is in the output", "make", "warning: m", "warning: ", "", ""},
		{"characters of many bytes", "größe", "grö", "$ grö", "", "ße"},
		{"half a sequence", "git", "gi\x1b[", "$ gi", "", "t"},
		{"nothing typed", "", "x", "x", "", ""},
	} {
		if got := unechoed(test.typed, []byte(test.printed), test.left, test.right); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestTypedLine(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"": "", "git status": "git status", "äb\x7fc": "äc", "a\x7f\x7fb": "", "ab\x1b[Dc": "", "a\tb": "", "a\xff": "", "\x1b[200~x\x1b[201~": "",
	} {
		if got := typedLine([]byte(input)); got != want {
			t.Errorf("%q: %q, want %q", input, got, want)
		}
	}
}
