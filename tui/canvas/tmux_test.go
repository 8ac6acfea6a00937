package canvas

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"corral/e2e/rounds"
	"corral/vt"
)

// outer is a real tmux that plays the user's terminal.
type outer struct {
	t    *testing.T
	bin  string
	sock string
	pipe *os.File
	mark int
}

func newOuter(t *testing.T, cols, rows int) *outer {
	t.Helper()
	bin, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal("tmux is missing: install the Debian package tmux")
	}
	dir, err := os.MkdirTemp("/tmp", "canvas") // short: the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	o := &outer{t: t, bin: bin, sock: filepath.Join(dir, "s")}
	fifo := filepath.Join(dir, "in")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("set -g status off\nset -g default-terminal tmux-256color\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.tmux("-f", conf, "new-session", "-d", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), "stty raw -echo; exec cat "+fifo)
	t.Cleanup(func() {
		o.tmux("kill-server")
		if o.pipe != nil {
			_ = o.pipe.Close()
		}
		_ = os.RemoveAll(dir)
	})
	if o.pipe, err = os.OpenFile(fifo, os.O_WRONLY, 0); err != nil { // waits for cat, which comes after stty
		t.Fatal(err)
	}
	return o
}

func (o *outer) tmux(args ...string) string {
	o.t.Helper()
	cmd := exec.Command(o.bin, append([]string{"-u", "-S", o.sock}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// show sends b to the screen, waits until tmux has taken it, which the title behind it tells, and returns the cursor (its
// column, row and whether it is shown) and what the screen shows.
func (o *outer) show(b []byte) (cursor string, lines [][]vt.Cell) {
	o.t.Helper()
	o.mark++
	title := fmt.Sprintf("mark-%d", o.mark)
	if _, err := o.pipe.Write(append(bytes.Clone(b), "\x1b]2;"+title+"\x07"...)); err != nil {
		o.t.Fatal(err)
	}
	for late := time.Now().Add(30 * time.Second); time.Now().Before(late); {
		// In one command: to start it costs more than all that it does.
		out := o.tmux("display-message", "-p", "#{pane_title}\n#{cursor_x} #{cursor_y} #{cursor_flag}", ";", "capture-pane", "-e", "-p", "-N")
		if parts := strings.SplitN(out, "\n", 3); len(parts) == 3 && parts[0] == title {
			return parts[1], vt.ParseCapture([]byte(parts[2]))
		}
	}
	o.t.Fatal("tmux does not read")
	return "", nil
}

// TestTmuxShowsTheCanvas has a real terminal look at what the encoder writes.
func TestTmuxShowsTheCanvas(t *testing.T) {
	t.Parallel()
	const cols, rows = 40, 10
	o := newOuter(t, cols, rows)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	e := NewEncoder(Options{})
	c, next := New(cols, rows), New(cols, rows)
	for step := range rounds.N(30, 100, 500) {
		scribble(r, c)
		next.CopyFrom(c)
		b := e.Append(nil, next)
		cursor, lines := o.show(b)
		for y := range rows {
			if got, want := shown(lines, y, cols), shownRow(c.Row(y)); got != want {
				t.Fatalf("seed %d, step %d, row %d:\n got %s\nwant %s\nafter %q", seed, step, y, got, want, b)
			}
		}
		if c.cursor.Visible {
			want := fmt.Sprintf("%d %d 1", c.cursor.X, c.cursor.Y)
			if cursor != want {
				t.Fatalf("seed %d, step %d: cursor %s, want %s", seed, step, cursor, want)
			}
		}
	}
}

func shown(lines [][]vt.Cell, y, cols int) string {
	row := make([]vt.Cell, cols)
	fillBlank(row, vt.Style{})
	if y < len(lines) {
		copy(row, lines[y])
	}
	return shownRow(row)
}

// shownRow describes cells as far as capture-pane tells of them: it says nothing of the kind and colour of underlines in
// all versions of tmux, so only whether there is one counts.
func shownRow(row []vt.Cell) string {
	var b strings.Builder
	for _, c := range row {
		if c.Width == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s/%x/%x/%x/%v ", c.Text, uint32(c.Style.FG), uint32(c.Style.BG), uint16(c.Style.Attr), c.Style.Underline != 0)
	}
	return b.String()
}
