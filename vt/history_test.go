package vt_test

import (
	"strings"
	"testing"

	"corral/vt"
)

func TestHistoryCarriesItsStyleOver(t *testing.T) {
	t.Parallel()
	h := vt.ParseHistory([]byte("plain\r\n\x1b[31mred\r\nstill\x1b[0m not  \r\n\r\n\x1b[0m"))
	if h.Len() != 4 {
		t.Fatalf("%d lines", h.Len())
	}
	for i, want := range []string{"plain", "red", "still not", ""} {
		if got := h.Text(i); got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
	red := vt.Style{FG: vt.Palette(1)}
	if c := h.Cells(2); c[0].Style != red || c[6].Style != (vt.Style{}) || len(c) != 9 {
		t.Errorf("the style was not carried over: %+v", c)
	}
	if c := h.Cells(0); c[0].Style != (vt.Style{}) {
		t.Errorf("line 0 is %+v", c[0])
	}
}

func TestHistoryCutsLinesWithoutEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("日本\x1b[32m語\x1b[m", 5000)
	h := vt.ParseHistory([]byte(long + "\nend\n"))
	var b strings.Builder
	for i := range h.Len() - 1 {
		if last := i == h.Len()-2; h.Continued(i) == last {
			t.Errorf("piece %d of %d: continued %v", i, h.Len()-1, !last)
		}
		if n := len(h.Cells(i)); n > 9000 {
			t.Errorf("piece %d has %d cells", i, n)
		}
		b.WriteString(h.Text(i))
	}
	if b.String() != strings.Repeat("日本語", 5000) || h.Text(h.Len()-1) != "end" {
		t.Error("the text was changed")
	}
}

func TestRowsKnowThatTheyWereWrapped(t *testing.T) {
	t.Parallel()
	s := vt.New(5, 4)
	_, _ = s.Write([]byte("1234567\r\n12345\r\nx"))
	wraps := func() (out string) {
		f := s.Frame()
		for y := range f.Rows {
			if f.Wrapped(y) {
				out += "w"
			} else {
				out += "."
			}
		}
		return out
	}
	if got := wraps(); got != "w..." {
		t.Errorf("wrapped rows: %s", got)
	}
	_, _ = s.Write([]byte("\r\ny")) // scrolls nothing yet: 4 rows
	_, _ = s.Write([]byte("\r\nz"))
	if got := wraps(); got != "...." {
		t.Errorf("after a scroll: %s", got)
	}
	_, _ = s.Write([]byte("\x1b[H1234567\x1b[1;1Habc"))
	if got := wraps(); got != "w..." {
		t.Errorf("after writing inside the row: %s", got)
	}
	_, _ = s.Write([]byte("\x1b[1;1H\x1b[K"))
	if got := wraps(); got != "...." {
		t.Errorf("after erasing the row: %s", got)
	}
}
