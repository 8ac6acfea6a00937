package vt_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"corral/e2e/rounds"
	"corral/vt"
)

// TestProgramsAgreeWithTmux runs real programs in a real tmux, types at them, and compares the screens at rest. A
// program is at rest when it waits for a key and tmux has drawn all that it printed, which is when drawing anew changes
// nothing any more.
func TestProgramsAgreeWithTmux(t *testing.T) {
	if rounds.Now() != rounds.Full {
		return // the recordings among the cases stand for them: not every machine has the programs
	}
	t.Parallel()
	server := startTmux(t)
	sample := filepath.Join(server.dir, "sample.txt")
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "%d\tfunc f%d(漢字 string) { return \"🙂 e\u0301\" } // %s\n", i, i, strings.Repeat("word ", i%30))
	}
	if err := os.WriteFile(sample, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		name, debian, command string
		steps                 []step
	}{
		{"vim", "vim", "vim -u NONE -N +'syntax on' +'set nu cursorline hlsearch' " + sample, []step{
			{"", "func f0("}, {"G", "func f199("}, {"gg", "func f0("}, {"/f77", ""}, {"Enter", "func f77("}, {"dd", "func f78("}, {":vsplit", ""}, {"Enter", "sample.txt"},
		}},
		{"less", "less", "less -N " + sample, []step{
			{"", "func f0("}, {"Space", "func f25("}, {"/f99", ""}, {"Enter", "func f99("}, {"G", "(END)"}, {"g", "func f0("},
		}},
		{"htop", "htop", "htop -d 600", []step{{"", "F10"}, {"t", "F10"}, {"F6", "Sort by"}}},
		{"nano", "nano", "cp " + sample + " nano.txt; nano -l nano.txt", []step{{"", "func f0("}, {"PageDown", "func f30("}, {"x", "nano.txt *"}, {"C-k", "nano.txt *"}, {"C-w", "Search"}}},
		{"mc", "mc", "mc /usr", []step{{"", "share"}, {"Tab", "share"}, {"F9", "Options"}}},
		{"man", "man-db", "man tmux", []step{{"", "terminal multiplexer"}, {"Space", "Manual page"}, {"G", "(END)"}}},
		{"ls", "coreutils", "ls --color=always -la /etc; echo done; sleep 1000", []step{{"", "done"}}},
		{"python3", "python3", "python3 -q", []step{
			{"", ">>>"}, {"print(chr(0x6f22) * 50)", ""}, {"Enter", "漢漢漢"}, {"help(str)", ""}, {"Enter", "Help on class str"}, {"Space", "__"},
		}},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(p.name); err != nil {
				t.Fatalf("%s is missing; install the Debian package %s", p.name, p.debian)
			}
			c := server.attach(t, p.name, strings.ReplaceAll(p.command, "'", `'\''`), 100, 30)
			c.waitFor(t, "start")
			for i, s := range p.steps {
				if s.keys != "" {
					c.run(t, fmt.Sprintf("send-keys -t =%s: '%s'", p.name, s.keys))
				}
				c.rest(t, s.shows, 100, 30, fmt.Sprint("step", i))
			}
		})
	}
}

// step is something typed at a program, and text that its screen then shows.
type step struct{ keys, shows string }

// rest draws anew until the screen shows some text and three drawings in a row are as tmux says.
func (c *tmuxClient) rest(t *testing.T, text string, cols, rows int, mark string) {
	t.Helper()
	problem, good := "", 0
	for start := time.Now(); time.Since(start) < tmuxTimeout; {
		screen := vt.New(cols, rows)
		printed, _ := c.redraw(t)
		screen.Write(printed)
		problem = differ(screen.Frame(), c.state(t))
		if problem == "" && !strings.Contains(screen.Frame().Text(), text) {
			problem = fmt.Sprintf("no %q on the screen\n%s", text, screen.Frame().Text())
		}
		if problem != "" {
			good = 0
			continue
		}
		if good++; good == 3 {
			return
		}
	}
	t.Errorf("%s: %s", mark, problem)
}

// printer prints coloured lines of many kinds and lengths as long as the file $1 exists, then sets its title.
const printer = `i=0
while [ -e $1 ]; do
	i=$((i + 1))
	printf "\033[3$((i % 8))m$i 漢字 🙂 e\314\201 %0$((i % 60 + 1))d\033[m\033[44m\033[K\033[m\r\n" $i
done
printf "\033]2;stopped\007"
exec sleep 1000
`

// TestResizesAgreeWithTmux resizes again and again while a program prints, in the order that is right: the screen first,
// then the client's terminal. What is shown in the end must be right without a redraw.
func TestResizesAgreeWithTmux(t *testing.T) {
	t.Parallel()
	server := startTmux(t)
	script := filepath.Join(server.dir, "script")
	if err := os.WriteFile(script, []byte(printer), 0o600); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range rounds.N(2, 5, 15) {
		running := filepath.Join(server.dir, fmt.Sprint("running", i))
		if err := os.WriteFile(running, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cols, rows := 80, 24
		c := server.attach(t, fmt.Sprint("resize", i), "stty raw -echo; sh "+script+" "+running, cols, rows)
		c.waitFor(t, "start")
		screen := vt.New(cols, rows)
		fed := 0
		for range 10 {
			data := c.wait(t, fed+random.IntN(8<<10))
			screen.Write(data[fed:])
			fed = len(data)
			for range 1 + random.IntN(3) {
				cols, rows = 20+random.IntN(140), 5+random.IntN(45)
				screen.Resize(cols, rows)
				if err := pty.Setsize(c.pty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.wait(t, fed+4<<10)
		if err := os.Remove(running); err != nil {
			t.Fatal(err)
		}
		c.until(t, "title of the end", func(got []byte) int { return bytes.Index(got, []byte("\x1b]0;start;stopped")) })
		if d, _ := c.agree(t, screen, fed, c.state(t)); d != "" {
			t.Errorf("round %d: %s", i, d)
		}
	}
}

// TestWidthsAgreeWithTmux asks the tmux of this machine for the widths of the doubtful characters. It is only known
// what 3.3a says.
func TestWidthsAgreeWithTmux(t *testing.T) {
	t.Parallel()
	server := startTmux(t)
	server.attach(t, "widths", "exec sleep 1000", 80, 24)
	term := server.openPane(t, "widths")
	runes := vt.DoubtfulRunes()
	if rounds.Now() == rounds.Full {
		runes = runes[:0]
		for r := rune(0xa0); r < 0x20000; r++ {
			if r < 0xd800 || r > 0xdfff {
				runes = append(runes, r)
			}
		}
	}
	got, err := vt.ProbeWidths(term, runes, 21)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := server.command("-V").Output(); err != nil || string(v) != "tmux 3.3a\n" {
		return
	}
	want := vt.DefaultWidths()
	bad := 0
	for _, r := range vt.DoubtfulRunes() {
		if g, w := got.Rune(r), want.Rune(r); g != w {
			if bad++; bad < 20 {
				t.Errorf("%U takes %d columns, not %d", r, g, w)
			}
		}
	}
}
