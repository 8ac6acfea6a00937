package rawattach

import (
	"testing"

	"corral/vt"
)

func TestColorsOfTheTerminal(t *testing.T) {
	t.Parallel()
	const in = "a\x1b[1;38;2;255;0;0;4mb\x1b[48:2::0:0:255mc\x1b[38;5;200md\x1b[58:2:255:255:0me\x1b[31;42mf\x1b[mg\x1b[?25h\x1b[2Jh\x1b[0;39m漢"
	for profile, want := range map[vt.Profile]string{
		vt.TrueColor: in,
		vt.ANSI256:   "a\x1b[1;38;5;196;4mb\x1b[48;5;21mc\x1b[38;5;200md\x1b[58:5:226me\x1b[31;42mf\x1b[mg\x1b[?25h\x1b[2Jh\x1b[0;39m漢",
		vt.NoColor:   "a\x1b[1;4mbcdef\x1b[mg\x1b[?25h\x1b[2Jh\x1b[0;39m漢",
	} {
		whole := colors{profile: profile}
		if got := string(whole.feed([]byte(in))); got != want {
			t.Errorf("profile %v:\n got %q\nwant %q", profile, got, want)
		}
		pieces, got := colors{profile: profile}, ""
		for i := range len(in) {
			got += string(pieces.feed([]byte(in[i : i+1])))
		}
		if got != want {
			t.Errorf("profile %v, byte by byte:\n got %q\nwant %q", profile, got, want)
		}
	}
	basic := colors{profile: vt.ANSI16}
	for in, want := range map[string]string{
		"\x1b[38;2;255;0;0m": "\x1b[91m", "\x1b[48;5;4m": "\x1b[44m", "\x1b[38;5;9m": "\x1b[91m",
		"\x1b[38m": "", "\x1b[38;2;1m": "", "\x1b[;m": "\x1b[;m", "\x1b[38;9;1;1;1;7m": "\x1b[7m",
	} {
		if got := string(basic.feed([]byte(in))); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
