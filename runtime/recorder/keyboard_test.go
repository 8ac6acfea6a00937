package recorder

import "testing"

func TestKeysAsked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		output       string
		asked, found bool
	}{
		{"plain", false, false},
		{"a\x1b[>4;2mb", true, true},
		{"\x1b[>4;1m", true, true},
		{"\x1b[>4;2m text \x1b[>4m", false, true},
		{"\x1b[>4;2m text \x1b[>4;0m", false, true},
		{"\x1b[>4;2m text \x1b[>4n", false, true},
		{"\x1b[>4m\x1b[>4;2m", true, true},
		{"\x1b[>4;2m\x1b[>41;1m\x1b[>4", true, true},
		{"\x1b[>1;2m\x1b[4m", false, false},
		{"\x1b[>4;9999999999999999999m", false, true},
	} {
		if asked, found := keysAsked([]byte(test.output)); asked != test.asked || found != test.found {
			t.Errorf("%q: asked %v, found %v", test.output, asked, found)
		}
	}
}
