package tmux

import (
	"strings"
	"testing"
)

// nasty is text that some layer of tmux would take for its own.
func nasty() []string {
	return []string{
		"", " ", "plain", "it's", `say "hi"`, `back\slash`, `\`, `\\`, `"`, "'", "$HOME", "${HOME}", "a$", "~", "~root/x", "a~b",
		"#", "#{pid}", "#(id)", "#[fg=red]", "##[x", "###[y", "a;b", ";", `\;`, "{", "}", "{ kill-server }", "%if 1", "%%", "50%",
		"line\nbreak", "cr\rlf\n", "tab\there", "bell\a", "esc\x1b[31m", "del\x7f", "äöü", "漢字", "👩‍👩‍👧", "\u0301", "a\\\nb",
		"# comment", "-x", "--", "%begin 1 2 3", "%end 1 2 1", "trailing ", " leading", "\x01\x02\x1f", `\u00e9`, `\101`,
	}
}

func TestArgumentsReachTmuxUnchanged(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, want := range nasty() {
		checkRoundTrip(t, b, want)
	}
}

func checkRoundTrip(t *testing.T, b *bed, want string) {
	t.Helper()
	got := joined(b.must(t,
		Command{"set-option", "-g", "@probe", want},
		Command{"show-options", "-gv", "@probe"}))
	if got != want {
		t.Errorf("tmux got %q for %q", got, want)
	}
}

func TestEscapedFormatsComeOutUnchanged(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, want := range nasty() {
		got := joined(b.must(t, Command{"display-message", "-p", "-F", EscapeTime(want)}))
		if got != want {
			t.Errorf("strftime: tmux expanded %q for %q", got, want)
		}
		// list-panes expands without strftime.
		got = joined(b.must(t, Command{"list-panes", "-t", "=hub:", "-F", EscapeFormat(want)}))
		if got != want {
			t.Errorf("tmux expanded %q for %q", got, want)
		}
	}
}

func TestNULIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := line([]Command{{"send-keys", "a\x00b"}}); err == nil {
		t.Error("a NUL was accepted")
	}
}

// FuzzQuote looks for text that leaves its quotes: the line must be one line whose lexing, by the rules that quote
// names, gives the arguments back.
func FuzzQuote(f *testing.F) {
	for _, s := range nasty() {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		text, err := line([]Command{{"set-option", a, b}, {"x"}})
		if err != nil {
			if strings.ContainsRune(a+b, 0) {
				return
			}
			t.Fatal(err)
		}
		got := lex(t, text)
		want := []string{"set-option", a, b, ";", "x"}
		if len(got) != len(want) {
			t.Fatalf("%q reads as %q", text, got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%q reads as %q", text, got)
			}
		}
	})
}

// lex reads a line as tmux's yylex_token does, as far as quote uses its language.
func lex(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for i := 0; i < len(text); {
		switch text[i] {
		case ' ':
			i++
		case ';':
			out = append(out, ";")
			i++
		case '"':
			var b strings.Builder
			i++
			for start := i; ; i++ {
				c := text[i]
				if c == '\n' || c == '$' || c == 0xff || c == '~' && i == start {
					t.Fatalf("%q holds a raw %q", text, c)
				}
				if c == '"' {
					break
				}
				if c != '\\' {
					b.WriteByte(c)
					continue
				}
				i++
				if text[i] >= '0' && text[i] <= '3' {
					b.WriteByte((text[i]-'0')<<6 | (text[i+1]-'0')<<3 | (text[i+2] - '0'))
					i += 2
					continue
				}
				b.WriteByte(text[i])
			}
			i++
			out = append(out, b.String())
		default:
			t.Fatalf("%q has text outside quotes", text)
		}
	}
	return out
}
