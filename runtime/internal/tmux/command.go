package tmux

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Command is one tmux command with its arguments, as argv: no quoting, and no formats save where the command itself
// expands them.
type Command []string

// Reply is what one command of a list answered.
type Reply struct {
	Lines []string
	Err   error // an *Error when tmux refused the command; those after it in the list were not run
}

// Error is tmux's refusal of a command.
type Error struct {
	Command string // name of the command
	Message string // tmux's words
}

func (e *Error) Error() string { return "tmux " + e.Command + ": " + e.Message }

// errNUL is the one thing that no tmux command line can carry.
var errNUL = errors.New("text with a NUL character cannot be handed to tmux")

// line joins list to one line of tmux's command language, which runs as one group: atomically, and no further than the
// first command that fails.
func line(list []Command) (string, error) {
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteString(" ; ")
		}
		if len(c) == 0 {
			return "", errors.New("an empty tmux command")
		}
		for j, arg := range c {
			if strings.IndexByte(arg, 0) >= 0 {
				return "", errNUL
			}
			if j > 0 {
				b.WriteByte(' ')
			}
			quote(&b, arg)
		}
	}
	return b.String(), nil
}

// quote writes arg between double quotes as tmux's lexer reads it (yylex_token in cmd-parse.y): backslash escapes,
// $ expands a variable, ~ right after the opening quote a home directory. Control characters are written as octal, so
// that the line stays one line; bytes that are not UTF-8 too, because the lexer takes a raw 0xff for the end of its input.
func quote(b *strings.Builder, arg string) {
	b.WriteByte('"')
	for i := 0; i < len(arg); {
		c := arg[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(arg[i:])
			if r == utf8.RuneError && n == 1 {
				octal(b, c)
			} else {
				b.WriteString(arg[i : i+n])
			}
			i += n
			continue
		}
		switch {
		case c == '\\' || c == '"' || c == '$' || c == '~':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			octal(b, c)
		default:
			b.WriteByte(c)
		}
		i++
	}
	b.WriteByte('"')
}

func octal(b *strings.Builder, c byte) {
	b.WriteByte('\\')
	b.WriteByte('0' + (c >> 6))
	b.WriteByte('0' + (c >> 3 & 7))
	b.WriteByte('0' + (c & 7))
}

// EscapeFormat makes s come out of one expansion as a tmux format unchanged. Two number signs stand for one, save in a
// run that ends in a bracket, which tmux leaves alone (format_expand1 in format.c). It is for arguments that a command
// expands without strftime; those expanded with it, as pipe-pane's, need EscapeTime.
func EscapeFormat(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '#' {
			b.WriteByte(s[i])
			i++
			continue
		}
		run := i
		for run < len(s) && s[run] == '#' {
			run++
		}
		b.WriteString(s[i:run])
		if run == len(s) || s[run] != '[' {
			b.WriteString(s[i:run])
		}
		i = run
	}
	return b.String()
}

// EscapeTime is EscapeFormat for arguments that also pass through strftime.
func EscapeTime(s string) string {
	return strings.ReplaceAll(EscapeFormat(s), "%", "%%")
}
