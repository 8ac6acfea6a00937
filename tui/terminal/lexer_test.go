package terminal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPieces(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string // kind and bytes
	}{
		{"letters", "ab", []string{"key a", "key b"}},
		{"characters", "é漢🙂", []string{"key é", "key 漢", "key 🙂"}},
		{"bad UTF-8", "\xff\xc3a", []string{"key \xff", "key \xc3", "key a"}},
		{"control", "\x00\x01\x1b\x7f", []string{"key \x00", "key \x01", "key \x1b\x7f"}},
		{"alt", "\x1bx\x1bé", []string{"key \x1bx", "key \x1bé"}},
		{"arrows", "\x1b[A\x1bOB\x1b[1;5C", []string{"key \x1b[A", "key \x1bOB", "key \x1b[1;5C"}},
		{"function keys", "\x1bOP\x1b[15~\x1b[24;8~\x1b[[A\x1b[1;2R", []string{"key \x1bOP", "key \x1b[15~", "key \x1b[24;8~", "key \x1b[[A", "key \x1b[1;2R"}},
		{"escape before a key", "\x1b\x1b[A", []string{"key \x1b", "key \x1b[A"}},
		{"CSI u", "\x1b[13;2u", []string{"key \x1b[13;2u"}},
		{"prefix, legacy", "a\x1cb", []string{"key a", "prefix \x1c", "key b"}},
		{"prefix, CSI u", "\x1b[92;5u", []string{"prefix \x1b[92;5u"}},
		{"prefix, CSI u with num lock", "\x1b[92;133u", []string{"prefix \x1b[92;133u"}},
		{"prefix, modifyOtherKeys", "\x1b[27;5;92~", []string{"prefix \x1b[27;5;92~"}},
		{"prefix key with alt is another", "\x1b[92;7u", []string{"key \x1b[92;7u"}},
		{"escape, then prefix", "\x1b\x1c", []string{"key \x1b", "prefix \x1c"}},
		{"mouse", "\x1b[<0;10;5M\x1b[<0;10;5m", []string{"mouse \x1b[<0;10;5M", "mouse \x1b[<0;10;5m"}},
		{"mouse, X10, with the prefix byte", "\x1b[M \x1c!x", []string{"mouse \x1b[M \x1c!", "key x"}},
		{"focus", "\x1b[I\x1b[O", []string{"in \x1b[I", "out \x1b[O"}},
		{"colour", "\x1b]11;rgb:0/0/0\x07x", []string{"reply \x1b]11;rgb:0/0/0\x07", "key x"}},
		{"colour, ST", "\x1b]10;rgb:0/0/0\x1b\\x", []string{"reply \x1b]10;rgb:0/0/0\x1b\\", "key x"}},
		{"answers", "\x1b[?62;4c\x1b[?2026;2$y\x1b[24;80R\x1b[>1;10;0c\x1b[0n\x1b[8;24;80t", []string{
			"reply \x1b[?62;4c", "reply \x1b[?2026;2$y", "reply \x1b[24;80R", "reply \x1b[>1;10;0c", "reply \x1b[0n", "reply \x1b[8;24;80t",
		}},
		{"name", "\x1bP>|xterm(367)\x1b\\", []string{"reply \x1bP>|xterm(367)\x1b\\"}},
		{"answer broken off", "\x1b]11;rgb\x1b[A", []string{"reply \x1b]11;rgb", "key \x1b[A"}},
		{"alt and a bracket", "\x1b]x\x1bPx\x1b_x", []string{"key \x1b]", "key x", "key \x1bP", "key x", "key \x1b_", "key x"}},
		{"sequence broken off", "\x1b[1;\x1b[A", []string{"key \x1b[1;", "key \x1b[A"}},
		{"paste markers", "\x1b[200~\x1b[201~", []string{"begin \x1b[200~", "end \x1b[201~"}},
	}
	names := map[kind]string{
		kindKey: "key", kindPrefix: "prefix", kindMouse: "mouse", kindPasteBegin: "begin", kindPasteEnd: "end",
		kindFocusIn: "in", kindFocusOut: "out", kindReply: "reply",
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for b := []byte(tt.in); len(b) > 0; {
				k, n, _ := lexer{prefix: DefaultPrefix}.next(b)
				if n == 0 {
					t.Fatalf("%q goes on", b)
				}
				got = append(got, names[k]+" "+string(b[:n]))
				b = b[n:]
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestIncompletePiecesWait(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		hold time.Duration
	}{
		{"\x1b", holdKey},
		{"\x1b[", holdKey},
		{"\x1bO", holdKey},
		{"\x1b[1;5", holdKey},
		{"\x1b[20", holdKey},
		{"\xe6\xbc", holdKey},
		{"\x1b]", holdKey},
		{"\x1b]1", holdKey},
		{"\x1bP", holdKey},
		{"\x1b]11;rgb:", holdReply},
		{"\x1b]11;rgb:0\x1b", holdReply},
		{"\x1b[<35;10", holdReply},
		{"\x1b[M ", holdReply},
		{"\x1b[?62", holdReply},
	}
	for _, tt := range tests {
		if _, n, hold := (lexer{prefix: DefaultPrefix}).next([]byte(tt.in)); n != 0 || hold != tt.hold {
			t.Errorf("%q: length %d, held %v; want 0, %v", tt.in, n, hold, tt.hold)
		}
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	for _, s := range []string{`ctrl+\`, "ctrl+]", "ctrl+a", "ctrl+z", "ctrl+_", "ctrl+^"} {
		k, err := ParseKey(s)
		if err != nil || k.String() != s {
			t.Errorf("%s: %v, %v", s, k, err)
		}
	}
	for _, s := range []string{"", "ctrl+", "a", "alt+a", "ctrl+i", "ctrl+m", "ctrl+[", "ctrl+1", "ctrl+ab", "ctrl+é"} {
		if k, err := ParseKey(s); err == nil {
			t.Errorf("%s: %v", s, k)
		}
	}
}

// FuzzPieces checks that no input makes the lexer stop, run over, or give pieces that depend on how the input was cut.
func FuzzPieces(f *testing.F) {
	for _, s := range []string{"a\x1b[A\x1bOP", "\x1b]11;rgb:0/0/0\x07", "\x1b[<0;1;1M\x1b[M   ", "\x1b[200~x\x1b[201~", "\x1bP>|x\x1b\\é"} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		whole := routed([][]byte{in})
		at := min(int(cut), len(in))
		if d := cmp.Diff(whole, routed([][]byte{in[:at], in[at:]})); d != "" {
			t.Errorf("%q cut at %d: %s", in, at, d)
		}
	})
}

// routed returns what a sink gets of the chunks.
func routed(chunks [][]byte) string {
	m := newMemory()
	rt := &router{prefix: DefaultPrefix, ready: func(bool) {}}
	rt.sink = m
	r := &reader{lex: lexer{prefix: DefaultPrefix}, router: rt, events: newEvents(), reply: func([]byte) {}}
	for _, c := range chunks {
		r.feed(c)
	}
	return m.text()
}
