package attach

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorder is a sink that writes down what it is told.
type recorder struct {
	out   strings.Builder
	told  []string
	reply strings.Builder
}

func (r *recorder) output(p []byte) { r.out.Write(p) }
func (r *recorder) redraw(m marker) { r.told = append(r.told, "redraw "+m.title) }
func (r *recorder) syncBegin()      { r.told = append(r.told, "begin") }
func (r *recorder) syncEnd()        { r.told = append(r.told, "end") }
func (r *recorder) answer(p []byte) { r.reply.Write(p) }
func (r *recorder) detached()       { r.told = append(r.told, "detached") }

const attachStream = "\x1b[?1h\x1b=\x1b[H\x1b[2J\x1b[?2004h\x1b[>c\x1b[>q\x1b[c\x1b]10;?\a\x1b]11;?\x1b\\\x1b[18t\x1b[14t\x1b[?2031h\x1b[?996n\x1b[?2026$p" +
	"\x1b]0;NONCE;12;159;1;40x6;9;títle\a\x1bP=1s\x1b\\\x1b[?25lå\x1b[31mred\x1b(B\x1b[m\x1bP=2s\x1b\\" +
	"\x1b]0;other title\a\x1b]52;c;aGk=\a\x1b[2 q\x1b[?1lx\x1b[1;6r\x1b[?1l\x1b>\x1b[H\x1b[2J[detached (from session a)]\r\n"

func TestFilterTakesTheStreamApart(t *testing.T) {
	t.Parallel()
	want := "\x1b[?1h\x1b=\x1b[H\x1b[2J\x1b[?2004h\x1bP=1s\x1b\\\x1b[?25lå\x1b[31mred\x1b(B\x1b[m\x1bP=2s\x1b\\\x1b[2 q\x1b[?1lx\x1b[1;6r"
	reply := "\x1b[>1;10;0c\x1bP>|corral\x1b\\\x1b[?62;22c\x1b]10;rgb:0101/0202/0303\x1b\\\x1b]11;rgb:f0f0/f0f0/f0f0\x1b\\" +
		"\x1b[8;6;40t\x1b[4;96;320t\x1b[?997;2n\x1b[?2026;2$y"
	for cut := range attachStream {
		var r recorder
		f := filter{nonce: "NONCE", replies: replies{cols: 40, rows: 6, fg: "#010203", bg: "#f0f0f0"}, sink: &r}
		f.write([]byte(attachStream[:cut]))
		f.write([]byte(attachStream[cut:]))
		if r.out.String() != want {
			t.Fatalf("cut at %d:\n%q, want\n%q", cut, r.out.String(), want)
		}
		if d := cmp.Diff([]string{"redraw títle", "begin", "end", "detached"}, r.told); d != "" {
			t.Fatalf("cut at %d: %s", cut, d)
		}
		if r.reply.String() != reply {
			t.Fatalf("cut at %d: answered %q, want %q", cut, r.reply.String(), reply)
		}
		if !f.modes.BracketedPaste || f.modes.ApplicationKeys || !f.modes.CursorHidden {
			t.Fatalf("cut at %d: modes %+v", cut, f.modes)
		}
	}
}

func TestFilterAnswersColoursOnlyWhenKnown(t *testing.T) {
	t.Parallel()
	var r recorder
	f := filter{nonce: "NONCE", replies: replies{bg: "red"}, sink: &r}
	f.write([]byte("\x1b]10;?\a\x1b]11;?\a\x1b[?996nx"))
	if r.out.String() != "x" || r.reply.Len() != 0 {
		t.Errorf("out %q, answers %q", r.out.String(), r.reply.String())
	}
}

func TestFilterDropsEndlessStrings(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\a", "\x1b\\"} {
		var r recorder
		f := filter{nonce: "NONCE", sink: &r}
		f.write([]byte("before\x1b]0;"))
		for range 100 {
			f.write([]byte(strings.Repeat("x", 1000)))
		}
		if len(f.pending) > maxString {
			t.Errorf("%d bytes are kept", len(f.pending))
		}
		for _, b := range []byte(end + "after") {
			f.write([]byte{b})
		}
		if r.out.String() != "beforeafter" {
			t.Errorf("out %q", r.out.String())
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add([]byte(attachStream), 7)
	f.Add([]byte("\x1b[31\x1b]0;\x18\x1b\x1b[?1l\x1b\xc3"), 3)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		var whole, pieces recorder
		one := filter{nonce: "NONCE", sink: &whole}
		one.write(data)
		many := filter{nonce: "NONCE", sink: &pieces}
		step = 1 + max(step, -step)%16
		for rest := data; len(rest) > 0; {
			n := min(len(rest), max(step, 1))
			many.write(rest[:n])
			rest = rest[n:]
		}
		if len(data) < maxString && (whole.out.String() != pieces.out.String() || !cmp.Equal(whole.told, pieces.told)) {
			t.Errorf("whole %q %v, in pieces %q %v", whole.out.String(), whole.told, pieces.out.String(), pieces.told)
		}
		for out := []byte(whole.out.String()); len(out) > 0; {
			k, n := scan(out)
			if k == incomplete && out[0] == esc {
				t.Fatalf("the output ends inside %q", out)
			}
			if k == incomplete { // half a character before an ESC
				break
			}
			out = out[n:]
		}
	})
}
