package attach

import (
	"context"
	"log/slog"
	"testing"
)

func TestShiftEnterIsKnownToEveryProgram(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		token string
		asked bool
		want  string
	}{
		{"\x1b[13;2u", false, "\x1b\r"},
		{"\x1b[27;2;13~", false, "\x1b\r"},
		{"\x1b[13;2u", true, "\x1b[13;2u"},
		{"\x1b[27;2;13~", true, "\x1b[27;2;13~"},
		{"\r", false, "\r"},
		{"\x1b[13;5u", false, "\x1b[13;5u"},
		{"text", false, "text"},
	} {
		k := newKeyboard(slog.New(slog.DiscardHandler))
		k.modified = func(context.Context) bool { return test.asked }
		if got := string(k.known(t.Context(), []byte(test.token))); got != test.want {
			t.Errorf("%q, asked %v: typed %q, want %q", test.token, test.asked, got, test.want)
		}
	}
}
