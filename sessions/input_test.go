package sessions

import "testing"

func TestCountKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "touch X\r": 8, "äé": 2, "\x1b": 1, "\x1b[A\x1b[1;5C\x1bOPx": 4, "\x1bx\x1bé": 2, "\x1b[": 1, "\x1b[<0;1;2Mx\x1b[I": 1, "\xff\xfe": 2,
	} {
		if got := CountKeys([]byte(text)); got != want {
			t.Errorf("%q: %d keys, want %d", text, got, want)
		}
	}
}
