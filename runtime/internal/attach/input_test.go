package attach

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"corral/sessions"
)

// taker makes a terminal whose program writes what it reads to a file, byte by byte, in raw mode.
func (b *bed) taker(t *testing.T, id, prelude string) (file string) {
	t.Helper()
	file = filepath.Join(b.dir, id+".out")
	b.start(t, id, 80, 24, prelude+`; stty raw -echo; printf ready; exec cat > `+file)
	return file
}

func wrote(t *testing.T, file string, want []byte) {
	t.Helper()
	var got []byte
	ok := false
	defer func() {
		if !ok {
			t.Logf("got %d bytes of %d: %.200q", len(got), len(want), got)
		}
	}()
	until(t, "the program's input", func() bool {
		got, _ = os.ReadFile(file)
		return len(got) >= len(want)
	})
	ok = true
	if !bytes.Equal(got, want) {
		at := 0
		for at < len(got) && at < len(want) && got[at] == want[at] {
			at++
		}
		t.Errorf("the program read %d bytes, want %d; they differ at %d: %.80q, want %.80q", len(got), len(want), at, got[at:], want[at:])
	}
}

func TestInputIsNeverSplit(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	file := b.taker(t, "a", "true")
	v := b.view(t, "a", "mode", "pane")
	v.live(1)
	v.shows("ready")
	// tmux drops characters and takes sequences apart that arrive in two reads.
	for _, p := range []string{"\xc3", "\xa4", "\xf0\x9f", "\x98\x80", "\x1b", "[1;5", "C", "\x1bO", "P", "\x1b", "\xc3", "\xa9", "x"} {
		v.typeKeys(p)
	}
	wrote(t, file, []byte("ä😀\x1b[1;5C\x1bOP\x1béx"))
	v.typeKeys("\x1b") // a lone ESC waits, but not for ever
	wrote(t, file, []byte("ä😀\x1b[1;5C\x1bOP\x1béx\x1b"))
}

func TestRepliesOfTheViewersTerminalAreNoInput(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	file := b.taker(t, "a", "true")
	v := b.view(t, "a", "mode", "raw")
	v.live(1)
	v.typeKeys("a\x1b[?62;22c\x1b]11;rgb:0000/0000/0000\x1b\\\x1bP>|xterm\x1b\\\x1b[?2026;2$y\x1b[?0ub")
	wrote(t, file, []byte("ab"))
}

func TestLongInputArrivesWhole(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	file := b.taker(t, "a", "true")
	v := b.view(t, "a", "mode", "pane")
	v.live(1)
	v.shows("ready")
	text := strings.Repeat("äöü€😀 abc\x1b[A", 2000)
	v.typeKeys(text)
	wrote(t, file, []byte(text))
}

func TestPaste(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("line with ümlauts and 😀\n", 50000)
	for _, test := range []struct {
		name, prelude, text, want string
	}{
		{"small", "true", "one\ntwo", "one\ntwo"},
		{"small, bracketed", `printf '\033[?2004h'`, "one\ntwo", "\x1b[200~one\ntwo\x1b[201~"},
		{"without the end marker", `printf '\033[?2004h'`, "a\x1b[20\x1b[201~1~b", "\x1b[200~ab\x1b[201~"},
		{"16 KiB of characters", "true", strings.Repeat("€", 5400), strings.Repeat("€", 5400)},
		{"big", "true", big, big},
		{"big, bracketed", `printf '\033[?2004h'`, big, "\x1b[200~" + big + "\x1b[201~"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			file := b.taker(t, "a", test.prelude)
			v := b.view(t, "a", "mode", "pane")
			v.live(1)
			v.shows("ready")
			if strings.Contains(test.prelude, "2004") {
				until(t, "the mode", func() bool { return b.only(t).stream.bracketedPaste() })
			}
			v.typeKeys("before>")
			v.send(sessions.Frame{Type: sessions.FramePaste, Bytes: len(test.text)})
			for rest := test.text; len(rest) > 0; {
				n := min(len(rest), 300_000)
				v.typeKeys(rest[:n])
				rest = rest[n:]
			}
			v.typeKeys("<after")
			wrote(t, file, []byte("before>"+test.want+"<after"))
			if left, _ := filepath.Glob(filepath.Join(b.dir, "corral-paste-*")); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// only returns the bed's one viewer.
func (b *bed) only(t *testing.T) *viewer {
	t.Helper()
	b.Hub.mu.Lock()
	defer b.Hub.mu.Unlock()
	for v := range b.streams {
		return v
	}
	t.Fatal("no viewer")
	return nil
}

func TestHugePasteIsRefusedWhole(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	file := b.taker(t, "a", "true")
	v := b.view(t, "a", "mode", "pane")
	v.live(1)
	v.shows("ready")
	v.send(sessions.Frame{Type: sessions.FramePaste, Bytes: sessions.MaxPaste + 1})
	for range 16 {
		v.typeKeys(strings.Repeat("x", 1<<20))
	}
	v.typeKeys("xafter")
	wrote(t, file, []byte("after"))
	if f := v.last(sessions.FrameError); f.Error == nil || f.Error.Code != sessions.CodeTooLarge {
		t.Errorf("error frame %+v", f)
	}
}

func TestWhoMayType(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	file := b.taker(t, "a", "true")
	preview := b.view(t, "a", "mode", "preview")
	reader := b.view(t, "a", "mode", "raw", "readOnly", "true")
	pane := b.view(t, "a", "mode", "pane")
	for _, v := range []*viewing{preview, reader, pane} {
		v.live(1)
	}
	if d := cmp.Diff([2]int{1, 2}, b.counted("a")); d != "" {
		t.Errorf("attached and watching: %s", d)
	}
	reader.send(sessions.Frame{Type: sessions.FrameOwn})
	reader.typeKeys("R")
	preview.typeKeys("P")
	for _, v := range []*viewing{reader, preview} { // pong says that what came before was handled
		v.send(sessions.Frame{Type: sessions.FramePing, Nonce: "n"})
		v.wait("pong", func() bool { return v.countLocked(sessions.FramePong) == 1 })
	}
	pane.typeKeys("1")
	wrote(t, file, []byte("1"))
	preview.send(sessions.Frame{Type: sessions.FrameOwn})
	preview.typeKeys("2")
	wrote(t, file, []byte("12"))
	want := [2]int{3, 0}
	until(t, "counts", func() bool { return b.counted("a") == want })
	pane.wait("viewers frame", func() bool {
		for _, f := range pane.frames {
			if f.Type == sessions.FrameViewers && f.Attached == 3 && f.Watching == 0 {
				return true
			}
		}
		return false
	})
	_ = preview.conn.CloseNow()
	until(t, "counts", func() bool { return b.counted("a") == [2]int{2, 0} })
}
