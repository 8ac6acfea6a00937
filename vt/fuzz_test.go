package vt_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"
	"github.com/clipperhouse/displaywidth"

	"corral/vt"
)

// FuzzScreen holds a screen to what is promised for any input.
func FuzzScreen(f *testing.F) {
	for _, c := range oracleCases(f) {
		if len(c.data) < 4096 {
			f.Add(c.data, uint8(c.cols), uint8(c.rows))
		}
	}
	f.Add([]byte("a\u0301\u200d\U0001f469\x1b[3b\x1b[5;4:3;58:2::1:2:3mx\x1b[2@\x1b[L\x1bM\x1b[?1049h世\x1b[D\x1b[P"), uint8(7), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, cols, rows uint8) {
		cols, rows = cols%48, rows%16 // small screens have edges everywhere, and are quick
		s := vt.New(int(cols), int(rows))
		s.Write(data)
		checkScreen(t, s)
		whole := s.Frame()

		// The same a byte at a time, with every frame in between taken, so that nothing is put off.
		bytewise := vt.New(int(cols), int(rows))
		for i := range data {
			bytewise.Write(data[i : i+1])
			bytewise.Frame()
		}
		if s.Held() == 0 && bytewise.Held() == 0 { // otherwise each shows a frame of its own past
			if d := differFrames(bytewise.Frame(), whole); d != "" {
				t.Fatalf("byte by byte: %s", d)
			}
			restored := vt.New(whole.Cols, whole.Rows)
			restored.Write(whole.Restore())
			if d := differFrames(restored.Frame(), whole); d != "" {
				t.Fatalf("restored by %q: %s", whole.Restore(), d)
			}
		}
		s.Resize(int(rows), int(cols))
		checkScreen(t, s)
		s.Write(data)
		s.Resize(int(cols), int(rows)+1)
		checkScreen(t, s)
		s.Write([]byte("\x18\x1bc"))
		if d := differFrames(s.Frame(), vt.New(int(cols), int(rows)+1).Frame()); d != "" {
			t.Fatalf("after RIS: %s", d)
		}
	})
}

// checkScreen checks what must hold for every frame.
func checkScreen(t *testing.T, s *vt.Screen) {
	t.Helper()
	f := s.Frame()
	if f != s.Frame() {
		t.Fatal("a frame was made anew although nothing changed")
	}
	if c := f.Cursor; c.Row < 0 || c.Row >= f.Rows || c.Col < 0 || c.Col >= f.Cols {
		t.Fatalf("cursor %+v outside %dx%d", c, f.Cols, f.Rows)
	}
	r := vt.NewRenderer(vt.TrueColor)
	for y := range f.Rows {
		checkRow(t, f.Row(y), f.Cols)
		line := f.Line(y, vt.TrueColor)
		if w := lipgloss.Width(line); w != f.Cols {
			t.Fatalf("row %d measures %d of %d: %q", y, w, f.Cols, line)
		}
		if d := displaywidth.String(visible(t, line)); d != f.Cols {
			t.Fatalf("row %d measures %d of %d by displaywidth: %q", y, d, f.Cols, line)
		}
		if cached := r.Line(f, y); cached != line {
			t.Fatalf("row %d renders as %q and %q", y, cached, line)
		}
	}
	visible(t, strings.ReplaceAll(f.ANSI(vt.ANSI256), "\n", ""))
	checkText(t, strings.ReplaceAll(f.Text(), "\n", ""))
	checkText(t, f.Title)
}

// checkRow checks that cells fill exactly cols columns and that wide ones are followed by their second half.
func checkRow(t *testing.T, row []vt.Cell, cols int) {
	t.Helper()
	if len(row) != cols {
		t.Fatalf("%d cells of %d", len(row), cols)
	}
	for x := 0; x < len(row); x++ {
		c := row[x]
		switch {
		case c.Width == 1 && c.Text != "":
		case c.Width == 2 && c.Text != "" && x+1 < len(row) && row[x+1].Width == 0 && row[x+1].Text == "":
			x++
		default:
			t.Fatalf("column %d: %+v in %+v", x, c, row)
		}
		checkText(t, c.Text)
	}
}

// checkText checks that text is valid and free of control characters.
func checkText(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("not UTF-8: %q", s)
	}
	for _, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			t.Fatalf("%U in %q", r, s)
		}
	}
}

// visible returns a rendered line without its escape sequences, of which only SGR may be there.
func visible(t *testing.T, line string) string {
	t.Helper()
	var b strings.Builder
	for rest := line; rest != ""; {
		text, after, found := strings.Cut(rest, "\x1b")
		b.WriteString(text)
		if !found {
			break
		}
		end := strings.IndexByte(after, 'm')
		if end < 1 || after[0] != '[' || strings.Trim(after[1:end], "0123456789;:") != "" {
			t.Fatalf("not SGR: %q in %q", after, line)
		}
		rest = after[end+1:]
	}
	checkText(t, b.String())
	return b.String()
}

// FuzzParseLine holds the readers of text outside a screen to their promises.
func FuzzParseLine(f *testing.F) {
	for _, s := range []string{"", "a\tb\nc", "\x1b[1;31mred\x1b[m 世\u200d\x1b[4:3mx", "🇩🇪🇫", "👩\u200d🔬", "\u0301a", "\x0eqqq\x0f"} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, s string, cols int) {
		cols = min(cols, 500)
		checkRow(t, vt.ParseLine(s, cols), max(cols, 0))
		for _, line := range vt.ParseCapture([]byte(s)) {
			checkRow(t, line, len(line))
		}
		clean := vt.Sanitize(s)
		checkText(t, clean)
		if again := vt.Sanitize(clean); again != clean {
			t.Fatalf("sanitised %q, then %q", clean, again)
		}
		if a, b, c := vt.StringWidth(clean), displaywidth.String(clean), lipgloss.Width(clean); a != b || b != c {
			t.Fatalf("%q measures %d, %d, %d", clean, a, b, c)
		}
		if w := vt.StringWidth(s); w != len(vt.ParseLine(s, w)) || w > 0 && len(s) == 0 {
			t.Fatalf("width %d of %q", w, s)
		}
	})
}

// FuzzAppendSGR checks that the sequence from one style to another leads there, in every profile.
func FuzzAppendSGR(f *testing.F) {
	f.Add(uint32(0), uint32(1), uint32(2), uint16(3), uint8(4), uint32(5), uint32(6), uint32(7), uint16(8), uint8(9))
	f.Fuzz(func(t *testing.T, fg1, bg1, ul1 uint32, attr1 uint16, under1 uint8, fg2, bg2, ul2 uint32, attr2 uint16, under2 uint8) {
		from := style(fg1, bg1, ul1, attr1, under1)
		to := style(fg2, bg2, ul2, attr2, under2)
		for p := vt.TrueColor; p <= vt.NoColor; p++ {
			line := append(from.AppendSGR(nil, vt.Style{}, p), to.AppendSGR(nil, from, p)...)
			cell := vt.ParseLine(string(line)+"x", 1)[0]
			if want := to.Degrade(p); cell.Style != want {
				t.Fatalf("%q leads to %+v, want %+v", line, cell.Style, want)
			}
		}
	})
}

// style makes a style that a program could set.
func style(fg, bg, ul uint32, attr uint16, under uint8) vt.Style {
	return vt.Style{
		FG:        colour(fg),
		BG:        colour(bg),
		UL:        colour(ul),
		Attr:      vt.Attr(attr) & (vt.Overline<<1 - 1),
		Underline: vt.Underline(under % 6),
	}
}

func colour(n uint32) vt.Color {
	switch n % 3 {
	case 1:
		return vt.Palette(uint8(n >> 8))
	case 2:
		return vt.RGB(uint8(n>>8), uint8(n>>16), uint8(n>>24))
	}
	return vt.DefaultColor
}
