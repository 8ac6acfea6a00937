package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"corral/vt"
)

// Term is a terminal with a program in it: a PTY, and an emulator as the eyes of a test.
type Term struct {
	t       testing.TB
	cmd     *exec.Cmd
	pty     *os.File
	mu      sync.Mutex
	screen  *vt.Screen // written by the reader under mu
	raw     []byte     // the newest output, at most rawKept
	total   int        // bytes received in all
	changed chan struct{}
	done    chan struct{} // closed when the program has ended and its output is read
	err     error
}

const rawKept = 1 << 20

// Dashboard opens a terminal of this size with the given verb in it; none is the dashboard.
func (c *Corral) Dashboard(cols, rows int, args ...string) *Term {
	c.T.Helper()
	return Open(c.T, c.Cmd(context.Background(), args...), cols, rows)
}

// Open starts cmd in a terminal of its own.
func Open(t testing.TB, cmd *exec.Cmd, cols, rows int) *Term {
	t.Helper()
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
	if err != nil {
		t.Fatal(err)
	}
	term := &Term{t: t, cmd: cmd, pty: f, screen: vt.New(cols, rows), changed: make(chan struct{}, 1), done: make(chan struct{})}
	go term.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-term.done
		_ = f.Close()
		if t.Failed() {
			t.Logf("the terminal showed last:\n%s", term.Screen())
		}
	})
	return term
}

func (t *Term) read() {
	defer close(t.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := t.pty.Read(buf)
		t.mu.Lock()
		_, _ = t.screen.Write(buf[:n])
		t.raw = append(t.raw, buf[:n]...)
		t.total += n
		if len(t.raw) > rawKept {
			t.raw = append([]byte(nil), t.raw[len(t.raw)-rawKept/2:]...)
		}
		t.mu.Unlock()
		select {
		case t.changed <- struct{}{}:
		default:
		}
		if err != nil {
			t.err = t.cmd.Wait()
			return
		}
	}
}

// PID returns the program's process id.
func (t *Term) PID() int { return t.cmd.Process.Pid }

// Screen returns what the terminal shows, rows joined by LF, trailing blanks cut.
func (t *Term) Screen() string {
	rows := strings.Split(t.screen.Frame().Text(), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// Frame returns the terminal's picture.
func (t *Term) Frame() *vt.Frame { return t.screen.Frame() }

// Tail returns the newest bytes of the output, at most n.
func (t *Term) Tail(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.raw[max(0, len(t.raw)-n):])
}

// Received returns how many bytes the program has printed so far.
func (t *Term) Received() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// Type types the text.
func (t *Term) Type(s string) {
	t.t.Helper()
	if _, err := t.pty.WriteString(s); err != nil {
		t.t.Fatalf("type %q: %v", s, err)
	}
}

// Resize changes the terminal's size.
func (t *Term) Resize(cols, rows int) {
	t.t.Helper()
	t.mu.Lock()
	t.screen.Resize(cols, rows)
	t.mu.Unlock()
	if err := pty.Setsize(t.pty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		t.t.Fatal(err)
	}
}

// WaitFor waits until the screen shows all the texts at once.
func (t *Term) WaitFor(texts ...string) {
	t.t.Helper()
	t.WaitUntil(fmt.Sprintf("the screen shows %q", texts), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// WaitGone waits until the screen does not show the text.
func (t *Term) WaitGone(text string) {
	t.t.Helper()
	t.WaitUntil(fmt.Sprintf("the screen no longer shows %q", text), func(screen string) bool {
		return !strings.Contains(screen, text)
	})
}

// WaitUntil waits until ok holds of the screen.
func (t *Term) WaitUntil(what string, ok func(screen string) bool) {
	t.t.Helper()
	if err := t.wait(Startup, ok); err != nil {
		t.t.Fatalf("%s: %v; it shows:\n%s", what, err, t.Screen())
	}
}

func (t *Term) wait(bound time.Duration, ok func(string) bool) error {
	deadline := time.NewTimer(bound)
	defer deadline.Stop()
	// The emulator holds frames inside synchronized output back for a while, without a further byte: look again.
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		if ok(t.Screen()) {
			return nil
		}
		select {
		case <-t.changed:
		case <-again.C:
		case <-t.done:
			if ok(t.Screen()) {
				return nil
			}
			return errors.New("the program has ended")
		case <-deadline.C:
			return fmt.Errorf("not within %v", bound)
		}
	}
}

// Hangup closes the terminal under the program, as a dropped SSH line does, and waits for the program's end.
func (t *Term) Hangup() {
	t.t.Helper()
	_ = t.pty.Close()
	t.Exit()
}

// Exit waits for the program's end and returns its exit code, -1 after death by a signal.
func (t *Term) Exit() int {
	t.t.Helper()
	select {
	case <-t.done:
	case <-time.After(Soon):
		t.t.Fatalf("the program does not end; it shows:\n%s", t.Screen())
	}
	return t.cmd.ProcessState.ExitCode()
}
