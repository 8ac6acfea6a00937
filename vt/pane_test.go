package vt_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"

	"corral/vt"
)

// pane is the inner side of a tmux session's terminal, from where a test prints as a program would. The session's own
// program only keeps the terminal open.
type pane struct {
	*os.File
	name string
}

// openPane opens the terminal of a session, in raw mode.
func (s *tmuxServer) openPane(t *testing.T, name string) *pane {
	t.Helper()
	tty := strings.TrimSpace(s.run(t, fmt.Sprintf("display -p -t =%s: '#{pane_tty}'", name)))
	open := func() *os.File {
		f, err := os.OpenFile(tty, os.O_RDWR|noCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	plain := open() // of its own, since to ask for a descriptor makes reads block
	_, err := term.MakeRaw(plain.Fd())
	plain.Close()
	if err != nil {
		t.Fatal(err)
	}
	p := &pane{File: open(), name: name}
	t.Cleanup(func() { p.Close() })
	return p
}

// print prints data and waits until tmux has read all of it, which only tmux's answer to a question behind it tells:
// what waits in the terminal's buffers is behind the commands that reach tmux in the meantime. CAN ends whatever sequence
// the data leaves open.
func (p *pane) print(t *testing.T, data []byte) {
	t.Helper()
	const question, answer = "\x18\x1b[5n", "\x1b[0n"
	deadline := time.Now().Add(tmuxTimeout)
	if err := p.SetDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(append(bytes.Clone(data), question...)); err != nil {
		t.Fatalf("%s: print: %v", p.name, err)
	}
	var got []byte
	for buf := make([]byte, 4096); !bytes.HasSuffix(got, []byte(answer)); {
		n, err := p.Read(buf)
		if err != nil {
			t.Fatalf("%s: tmux does not answer: %v, after %q", p.name, err, got)
		}
		got = append(got, buf[:n]...)
	}
}

// discarded is over the time after which tmux draws what a client should see that did not keep up: until then, 100 ms
// (TTY_BLOCK_INTERVAL in tty.c), it discards what it has for that client.
const discarded = 200 * time.Millisecond

// agree feeds screen, which has seen the first fed bytes of what the client printed, with what came since, and compares.
// On a loaded machine the client may not have kept up, so a difference counts only when it lasts.
func (c *tmuxClient) agree(t *testing.T, screen *vt.Screen, fed int, want tmuxState) (difference string, now int) {
	t.Helper()
	for try := range 3 {
		if try > 0 {
			time.Sleep(discarded)
		}
		got := c.mark(t)
		screen.Write(got[fed:])
		fed = len(got)
		if difference = differ(screen.Frame(), want); difference == "" {
			break
		}
	}
	return difference, fed
}
