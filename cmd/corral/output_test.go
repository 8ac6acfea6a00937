package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[sessions.Code]int{
		"": 0, sessions.CodeInvalid: 2, sessions.CodeNotFound: 3, sessions.CodeUnreachable: 4, sessions.CodeRuntimeUnreachable: 4,
		sessions.CodeDatabaseUnavailable: 4, sessions.CodeConflict: 1, sessions.CodeDeadline: 1, sessions.CodeInternal: 1,
		sessions.CodeForbidden: 1, sessions.CodeTooLarge: 1, sessions.CodeRateLimited: 1, sessions.CodeUnauthenticated: 1,
	} {
		var err error
		if code != "" {
			err = fmt.Errorf("around: %w", &sessions.Error{Code: code, Message: "x"})
		}
		if got := exitCode(err); got != want {
			t.Errorf("%s: got %d, want %d", code, got, want)
		}
	}
	if got := exitCode(errors.New("anything else")); got != 1 {
		t.Errorf("another error: %d", got)
	}
}

func TestPrintableLetsNothingActOnTheTerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, plain, colours string }{
		"text":       {"a b\tc é 漢 👩‍👩‍👧", "a b\tc é 漢 👩‍👩‍👧", "a b\tc é 漢 👩‍👩‍👧"},
		"colour":     {"\x1b[1;31mred\x1b[m", "red", "\x1b[1;31mred\x1b[m"},
		"24 bit":     {"\x1b[38:2::1:2:3mx", "x", "\x1b[38:2::1:2:3mx"},
		"title":      {"\x1b]0;evil\x07x", "x", "x"},
		"clipboard":  {"\x1b]52;c;ZXZpbA==\x1b\\x", "x", "x"},
		"hyperlink":  {"\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\", "x", "x"},
		"cursor":     {"\x1b[2J\x1b[Hx", "x", "x"},
		"modes":      {"\x1b[?1049hx\x1b[>4;2mx", "xx", "xx"},
		"queries":    {"\x1b[c\x1b[6n\x1bPq\x1b\\x", "x", "x"},
		"C1":         {"\u009b31mx\u0090q\u009cy", "31mxqy", "31mxqy"},
		"raw C1":     {"\x9b2Jx", "2Jx", "2Jx"},
		"control":    {"a\rb\x08c\x07d\x00e\x7ff", "abcdef", "abcdef"},
		"bidi":       {"a\u202eb", "ab", "ab"},
		"cut":        {"x\x1b[31", "x", "x"},
		"cut string": {"x\x1b]0;evil", "x", "x"},
		"not UTF-8":  {"x\xc3", "x", "x"},
	} {
		if got := printable(c.in, false); got != c.plain && !same(got, c.plain) {
			t.Errorf("%s: plain %q, want %q", name, got, c.plain)
		}
		if got := printable(c.in, true); got != c.colours && !same(got, c.colours) {
			t.Errorf("%s: colours %q, want %q", name, got, c.colours)
		}
	}
}

// same lets a replacement character stand for bytes that are no UTF-8, or nothing.
func same(got, want string) bool {
	return strings.ToValidUTF8(strings.ReplaceAll(got, "\ufffd", ""), "") == want
}

func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"a\x1b[31mb", "\x1b]52;c;x\x07", "\u009b2J", "\x1bP\x1b[31m", "é\x1b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if got := printable(in, false); strings.ContainsFunc(got, func(r rune) bool {
			return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0
		}) {
			t.Errorf("%q lets through %q", in, got)
		}
		rest := printable(in, true)
		for {
			i := strings.IndexByte(rest, '\x1b')
			if i < 0 {
				return
			}
			end := strings.IndexByte(rest[i:], 'm')
			if end < 0 || strings.Trim(rest[i+2:i+end], "0123456789;:") != "" || rest[i+1] != '[' {
				t.Fatalf("%q lets through %q", in, rest[i:])
			}
			rest = rest[i+end:]
		}
	})
}

func TestTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	now := time.Now()
	list := []sessions.Session{
		{ID: "3f2a9c10-0000", State: sessions.WaitingForInput, Title: strings.Repeat("漢字", 40), Project: strings.Repeat("p", 40), CWD: "/home/ann/" + strings.Repeat("d/", 40) + "end", CreatedAt: now.Add(-3 * time.Hour)},
		{ID: "77777777-0000", State: sessions.Failed, Title: "short\x1b[31m", CWD: "/", CreatedAt: now.Add(-72 * time.Hour)},
	}
	for _, width := range []int{60, 80, 120, 200, 0} {
		var b bytes.Buffer
		rows := [][]string{sessionRow(list[0], now), sessionRow(list[1], now)}
		if err := printTable(&b, sessionColumns(), rows, width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		for _, l := range lines {
			if width > 0 && ansi.StringWidth(l) > width {
				t.Errorf("at %d columns: %d wide: %s", width, ansi.StringWidth(l), l)
			}
		}
		if len(lines) != 3 || !strings.Contains(lines[1], "end") || !strings.Contains(lines[1], "3h") || strings.Contains(b.String(), "\x1b") {
			t.Errorf("at %d columns:\n%s", width, b.String())
		}
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59 * time.Minute: "59m", 47 * time.Hour: "47h", 48 * time.Hour: "2d",
	} {
		if got := age(now, now.Add(-d)); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestEveryStateIsExplained(t *testing.T) {
	t.Parallel()
	code := 7
	for _, state := range sessions.States() {
		s := sessions.Session{ID: "3f2a9c10-1111", Title: "t", State: state, ExitCode: &code, StateReason: "why\nnot", UpdatedAt: time.Now()}
		text := explain(s, []sessions.Event{{To: state, Reason: "because"}}, time.Now())
		if meaning(state) == "" || !strings.Contains(text, "next: corral ") || !strings.Contains(text, "why not") || !strings.Contains(text, "because") {
			t.Errorf("%s:\n%s", state, text)
		}
	}
}

func TestHistoryLimitKeepsEnoughLines(t *testing.T) {
	t.Parallel()
	if got := historyLimit(20_000); got != 22_300 {
		t.Errorf("got %d", got)
	}
	for lines := range 3000 {
		if limit := historyLimit(lines); limit-(limit+9)/10 < lines {
			t.Errorf("%d lines: a limit of %d keeps %d after a cut", lines, limit, limit-(limit+9)/10)
		}
	}
}

func TestLatestSession(t *testing.T) {
	t.Parallel()
	at := time.Now()
	list := []sessions.Session{
		{ID: "ended", State: sessions.Failed, LastActivityAt: at.Add(time.Hour)},
		{ID: "old", State: sessions.Detached, LastActivityAt: at},
		{ID: "new", State: sessions.Running, LastActivityAt: at.Add(time.Minute)},
	}
	for focus, want := range map[sessions.ID]sessions.ID{"": "new", "old": "old", "ended": "new", "gone": "new"} {
		if s, err := latest(list, focus); err != nil || s.ID != want {
			t.Errorf("focus %q: %s, %v", focus, s.ID, err)
		}
	}
	if _, err := latest(list[:1], "ended"); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("nothing runs: %v", err)
	}
}
