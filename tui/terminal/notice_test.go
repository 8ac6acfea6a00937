package terminal

import "testing"

func TestNoticeBytes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n    Notice
		want string
	}{
		{Notice{Text: "x"}, ""},
		{Notice{Bell: true, Text: "x"}, "\a"},
		{Notice{OSC: OSC9, Text: "bee waits"}, "\x1b]9;bee waits\x1b\\"},
		{Notice{Bell: true, OSC: OSC777, Text: "a;b"}, "\a\x1b]777;notify;Corral;a,b\x1b\\"},
		{Notice{OSC: OSC9, Text: "a\x07b\x1b]0;c\u009cd"}, "\x1b]9;a b ]0;c d\x1b\\"},
		{Notice{OSC: OSC9, Text: "4;1;50"}, "\x1b]9; 4;1;50\x1b\\"},
	} {
		if got := string(tt.n.bytes()); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.n, got, tt.want)
		}
	}
}
