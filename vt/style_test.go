package vt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"corral/vt"
)

func TestSGR(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want vt.Style
	}{
		{"1;3", vt.Style{Attr: vt.Bold | vt.Italic}},
		{"1;2;22", vt.Style{}},
		{"31;42", vt.Style{FG: vt.Palette(1), BG: vt.Palette(2)}},
		{"91;102", vt.Style{FG: vt.Palette(9), BG: vt.Palette(10)}},
		{"31;39", vt.Style{}},
		{"38;5;200;1", vt.Style{FG: vt.Palette(200), Attr: vt.Bold}},
		{"38;2;1;2;3;48;2;4;5;6", vt.Style{FG: vt.RGB(1, 2, 3), BG: vt.RGB(4, 5, 6)}},
		{"38:5:200", vt.Style{FG: vt.Palette(200)}},
		{"38:2:1:2:3", vt.Style{FG: vt.RGB(1, 2, 3)}},
		{"38:2::1:2:3", vt.Style{FG: vt.RGB(1, 2, 3)}},
		{"31;38;5;256;1", vt.Style{FG: vt.Palette(1), Attr: vt.Bold}},
		{"38;2;300;0;0;4", vt.Style{Underline: vt.UnderlineSingle}},
		{"38;5", vt.Style{}},
		{"38;7;1", vt.Style{}},
		{"4:3;58:2::9:8:7", vt.Style{Underline: vt.UnderlineCurly, UL: vt.RGB(9, 8, 7)}},
		{"4:0", vt.Style{}},
		{"4:9;21", vt.Style{Underline: vt.UnderlineDouble}},
		{"58;5;3;59", vt.Style{}},
		{"5;7;8;9;53", vt.Style{Attr: vt.Blink | vt.Reverse | vt.Hidden | vt.Strike | vt.Overline}},
		{"5;7;8;9;53;25;27;28;29;55", vt.Style{}},
		{"1;;3", vt.Style{Attr: vt.Italic}},
		{"1;99;3", vt.Style{Attr: vt.Bold | vt.Italic}},
	} {
		if got := vt.ParseLine("\x1b["+c.in+"mx", 1)[0].Style; got != c.want {
			t.Errorf("SGR %s: %+v, want %+v", c.in, got, c.want)
		}
	}
}

func TestAppendSGR(t *testing.T) {
	t.Parallel()
	red := vt.Style{FG: vt.Palette(1)}
	for _, c := range []struct {
		from, to vt.Style
		profile  vt.Profile
		want     string
	}{
		{vt.Style{}, vt.Style{}, vt.TrueColor, ""},
		{vt.Style{}, red, vt.TrueColor, "\x1b[31m"},
		{red, vt.Style{}, vt.TrueColor, "\x1b[m"},
		{red, vt.Style{FG: vt.Palette(1), Attr: vt.Bold}, vt.TrueColor, "\x1b[1m"},
		{vt.Style{FG: vt.Palette(1), Attr: vt.Bold}, red, vt.TrueColor, "\x1b[22m"},
		{vt.Style{Attr: vt.Bold | vt.Faint}, vt.Style{Attr: vt.Faint}, vt.TrueColor, "\x1b[0;2m"},
		{vt.Style{Attr: vt.Bold | vt.Strike, FG: vt.RGB(1, 1, 1)}, red, vt.TrueColor, "\x1b[0;31m"},
		{vt.Style{}, vt.Style{FG: vt.RGB(255, 0, 0)}, vt.TrueColor, "\x1b[38;2;255;0;0m"},
		{vt.Style{}, vt.Style{FG: vt.RGB(255, 0, 0)}, vt.ANSI256, "\x1b[38;5;196m"},
		{vt.Style{}, vt.Style{FG: vt.RGB(128, 128, 128)}, vt.ANSI256, "\x1b[38;5;244m"},
		{vt.Style{}, vt.Style{FG: vt.RGB(255, 0, 0)}, vt.ANSI16, "\x1b[91m"},
		{vt.Style{}, vt.Style{BG: vt.Palette(20)}, vt.ANSI16, "\x1b[44m"},
		{vt.Style{}, vt.Style{FG: vt.RGB(255, 0, 0), Attr: vt.Bold}, vt.NoColor, "\x1b[1m"},
		{vt.Style{}, vt.Style{Underline: vt.UnderlineCurly, UL: vt.Palette(3)}, vt.TrueColor, "\x1b[4:3;58:5:3m"},
		{vt.Style{}, vt.Style{Underline: vt.UnderlineCurly, UL: vt.Palette(3)}, vt.ANSI256, "\x1b[4m"},
		{vt.Style{Link: 1}, vt.Style{Link: 2}, vt.TrueColor, ""},
	} {
		if diff := cmp.Diff(c.want, string(c.to.AppendSGR(nil, c.from, c.profile))); diff != "" {
			t.Errorf("from %+v to %+v (-want +got)\n%s", c.from, c.to, diff)
		}
	}
}
