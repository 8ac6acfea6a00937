package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"corral/sessions"
	"corral/vt"
)

// restoring opens a stream and returns its restore frame; the stream is closed without a word, as by a killed client.
func (b *bed) restoring(t *testing.T, id, typed string) sessions.Frame {
	t.Helper()
	conn, err := b.DialStream(deadline(t), id, "mode=pane&cols=80&rows=24")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow() //nolint:errcheck // the end of it
	conn.SetReadLimit(1 << 20)
	var restore sessions.Frame
	for {
		kind, data, err := conn.Read(deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		f, err := sessions.ParseFrame(data)
		switch {
		case kind != websocket.MessageText:
		case err != nil:
			t.Fatal(err)
		case f.Type == sessions.FrameRestore:
			restore = f
		case f.Type == sessions.FrameLive && typed == "":
			return restore
		case f.Type == sessions.FrameLive:
			for _, key := range typed {
				if err := conn.Write(deadline(t), websocket.MessageBinary, []byte(string(key))); err != nil {
					t.Fatal(err)
				}
			}
			typed = ""
			ping, err := json.Marshal(sessions.Frame{Type: sessions.FramePing})
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.Write(deadline(t), websocket.MessageText, ping); err != nil {
				t.Fatal(err)
			}
		case f.Type == sessions.FramePong:
			return restore
		}
	}
}

// settles opens streams until one's restore is ok: what was typed takes its time to the program and back.
func (b *bed) settles(t *testing.T, id, what string, ok func(f sessions.Frame, screen string) bool) sessions.Frame {
	t.Helper()
	ctx := deadline(t)
	for {
		f := b.restoring(t, id, "")
		screen := vt.New(80, 24)
		_, _ = screen.Write([]byte(f.ScreenText))
		text := strings.TrimRight(screen.Frame().Text(), " \n")
		if ok(f, text) {
			return f
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%s: pending %q, sequence %d, screen %q", what, f.PendingInput, f.Sequence, text)
		}
	}
}

func (b *bed) ready(t *testing.T, id, script string) {
	t.Helper()
	b.create(t, id, script)
	b.awaitScreen(t, id, "ready")
}

// The cases of the design: nothing printed, a line that was answered, an echo that has come in part. Each also after the
// runtime was ended in the middle of the line: nothing of it was in its memory.
func TestPendingInput(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	// Reads a key at a time and echoes as many of a line as $1 says.
	const echo = `stty raw -echo; printf 'ready\r\nPS> '; n=0
		while k=$(dd bs=1 count=1 2>/dev/null; echo .); do
			case $k in "$(printf '\r').") printf 'dir\r\nnext> '; continue;; esac
			n=$((n+1)); [ $n -gt $N ] || printf %s "${k%.}"
		done`
	b.ready(t, "silent", `stty raw -echo; printf 'ready\r\n'; exec sleep 1000`)
	b.ready(t, "part", "N=2; "+echo)
	b.ready(t, "answered", "N=0; "+echo)
	b.restoring(t, "silent", "git status")
	b.restoring(t, "part", "git status")
	b.restoring(t, "answered", "dir\r")
	for _, life := range []string{"first", "second"} {
		b.settles(t, "silent", "nothing printed", func(f sessions.Frame, screen string) bool {
			return f.PendingInput == "git status" && !strings.Contains(screen, "git") && f.Sequence > 0
		})
		b.settles(t, "part", "an echo in part", func(f sessions.Frame, screen string) bool {
			return f.PendingInput == "t status" && strings.HasSuffix(screen, "PS> gi")
		})
		b.settles(t, "answered", "a line that was answered", func(f sessions.Frame, screen string) bool {
			return f.PendingInput == "" && strings.HasSuffix(screen, "PS> dir\nnext>") && strings.Count(screen, "dir") == 1
		})
		if life == "first" {
			b.stop()
			b.serve(t)
			b.awaitRecorder(t, 0)
		}
	}
}

// A client that dies in the middle of a line: the line is there for the next, once. What is typed at a password prompt
// shows nowhere.
func TestClientKilledWhileTyping(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.ready(t, "shell", `echo ready; PS1='$ ' exec bash --norc --noprofile -i`)
	b.restoring(t, "shell", "echo half a li")
	b.settles(t, "shell", "the half line", func(f sessions.Frame, screen string) bool {
		shown := strings.Count(screen+f.PendingInput, "echo half a li")
		if shown > 1 {
			t.Errorf("shown %d times: %q and %q", shown, screen, f.PendingInput)
		}
		return shown == 1 && f.PendingInput == ""
	})
	b.restoring(t, "shell", "ne\r")
	b.settles(t, "shell", "the answer", func(_ sessions.Frame, screen string) bool {
		return strings.Contains(screen, "\nhalf a line\n")
	})
	b.restoring(t, "shell", "read -s x\r")
	inv, err := b.Inventory(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", find(inv, "shell").PanePID))
	if err != nil {
		t.Fatal(err)
	}
	for ctx := deadline(t); !secret(tty) && ctx.Err() == nil; {
		<-time.After(10 * time.Millisecond)
	}
	b.restoring(t, "shell", "hunter2")
	for range 3 {
		if f := b.restoring(t, "shell", ""); strings.Contains(f.PendingInput+f.ScreenText, "hunter") {
			t.Fatalf("the password shows: pending %q, screen %q", f.PendingInput, f.ScreenText)
		}
	}
}
