package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
)

// TestKeys types every key there is at the dashboard's terminal and compares, byte by byte, what programs read: one that
// asked for nothing, one that asked for application keys, mouse, focus and bracketed paste, one that asked for extended
// keys. Then it does the same with the dashboard in the user's own tmux, by the names that such a terminal has.
func TestKeys(t *testing.T) {
	t.Parallel()
	k := newKeyboardTest(t)
	k.open(k.Dashboard(80, 24))
	for _, r := range k.readers {
		k.focus(r)
		k.check(t, r, keyTable(r.asked, r.x, r.y), true)
		k.leave()
	}
	k.bigPaste(t)
	names := []string{"tmux-256color", "screen-256color"}
	for _, term := range names[:rounds.N(1, 2, 2)] {
		k.d.Type("q")
		k.d.Exit()
		k.open(k.insideTmux(t, term))
		for _, r := range k.readers[:2] { // the outer tmux has no extended keys
			k.focus(r)
			k.check(t, r, keyTable(r.asked, r.x, r.y), false)
			k.leave()
		}
	}
}

// asked is what a program asked its terminal for.
type asked int

const (
	askedNothing asked = iota
	askedModes         // DECCKM, bracketed paste, mouse (1000, 1006), focus
	askedKeys          // xterm's modifyOtherKeys 2
)

// reader is a session whose program writes what it reads to a file.
type reader struct {
	name  string
	asked asked
	file  string
	read  int // bytes that were looked at already
	x, y  int // of its first cell on the user's terminal
}

type keyboardTest struct {
	*harness.Corral
	readers []*reader
	d       *harness.Term
}

func newKeyboardTest(t *testing.T) *keyboardTest {
	k := &keyboardTest{Corral: harness.New(t), readers: []*reader{
		{name: "plain", asked: askedNothing}, {name: "modes", asked: askedModes}, {name: "extended", asked: askedKeys},
	}}
	sequences := map[asked]string{
		askedModes: `\033[?1h\033[?2004h\033[?1000h\033[?1006h\033[?1004h`,
		askedKeys:  `\033[>4;2m`,
	}
	for _, r := range k.readers {
		r.file = filepath.Join(k.Dir, r.name)
		script := `stty raw -echo; printf '` + sequences[r.asked] + `reads %s' ` + r.name + `; exec cat >"$0"`
		k.Create("--kind", "command", "--title", r.name, "--cwd", k.Home, "--", "sh", "-c", script, r.file)
	}
	return k
}

// insideTmux opens the dashboard in a tmux as users have it, but for its prefix key, which is a key of the table.
func (k *keyboardTest) insideTmux(t *testing.T, term string) *harness.Term {
	t.Helper()
	conf := filepath.Join(k.Dir, term+".conf")
	text := "set -g default-terminal " + term + "\nset -g status off\nset -g prefix None\nset -g prefix2 None\nset -s escape-time 10\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(k.Dir, term)
	cmd := exec.Command("tmux", "-u", "-S", socket, "-f", conf, "new-session", k.Cmd(context.Background()).Path)
	cmd.Env, cmd.Dir = k.Env(), k.Home
	t.Cleanup(func() { _, _ = k.TmuxAt(socket, "kill-server") })
	return harness.Open(t, cmd, 80, 24)
}

func (k *keyboardTest) open(d *harness.Term) {
	k.T.Helper()
	k.d = d
	d.WaitFor("plain", "modes", "extended")
}

// focus gives a reader the keyboard.
func (k *keyboardTest) focus(r *reader) {
	k.T.Helper()
	selected := func(screen string) int {
		header := headerOf(screen)
		return slices.IndexFunc(k.readers, func(r *reader) bool { return strings.Contains(header, " "+r.name+" ") })
	}
	at, want := -1, slices.Index(k.readers, r)
	k.d.WaitUntil("a reader is selected", func(screen string) bool { at = selected(screen); return at >= 0 })
	for at != want {
		key, next := "j", at+1
		if want < at {
			key, next = "k", at-1
		}
		k.d.Type(key)
		k.d.WaitUntil("the next one is selected", func(screen string) bool { return selected(screen) == next })
		at = next
	}
	screen := "reads " + r.name
	k.d.WaitFor(screen)
	for y, line := range strings.Split(k.d.Screen(), "\n") {
		if at := strings.Index(line, screen); at >= 0 {
			r.x, r.y = len([]rune(line[:at])), y
		}
	}
	k.d.Type("\r")
	k.d.WaitFor("gives the keyboard back")
	k.d.Type(around)
	k.reads(r, around, 0) // and with it what tmux says of the focus
}

// headerOf is the line over the pane.
func headerOf(screen string) string {
	line, _, _ := strings.Cut(screen, "\n")
	if _, header, ok := strings.Cut(line, "│"); ok {
		return header
	}
	return ""
}

func (k *keyboardTest) leave() {
	k.T.Helper()
	k.d.Type(prefix)
	k.d.WaitGone("gives the keyboard back")
}

// No key of the table leads to these: between is typed after every key, around at both ends of all.
const (
	between = "|"
	around  = "§"
)

// check types a table and compares what the program read for each row.
func (k *keyboardTest) check(t *testing.T, r *reader, table []key, direct bool) {
	t.Helper()
	var typed []key
	for _, row := range table {
		if !direct && row.direct || row.lingers && (!direct || r.asked != askedNothing) && rounds.Now() == rounds.Quick {
			continue // to wait for such a key costs as much as a hundred others
		}
		if row.overtakes {
			k.reads(r, "", len(typed))
		}
		typed = append(typed, row)
		for i, piece := range row.typed {
			if i > 0 {
				time.Sleep(2 * time.Millisecond)
			}
			k.d.Type(piece)
		}
		if row.lingers { // what comes next would change its meaning
			k.reads(r, row.reads, len(typed)-1)
		}
		k.d.Type(between)
	}
	k.d.Type(around)
	got := strings.TrimSuffix(k.reads(r, around, 0), around)
	rows := strings.Split(got, between)
	for i, row := range typed {
		if i < len(rows) && rows[i] != row.reads {
			t.Errorf("%s: %s: typed %q, the program read %q, want %q", r.name, row.name, row.typed, rows[i], row.reads)
		}
	}
	if len(rows) != len(typed)+1 {
		t.Errorf("%s: %d answers for %d keys: %q", r.name, len(rows)-1, len(typed), got)
	}
}

// reads waits until the program has read something, after so many keys of the table, and returns all that it read since
// it last read what stands around a table.
func (k *keyboardTest) reads(r *reader, what string, keys int) string {
	k.T.Helper()
	var got string
	k.Eventually(harness.Soon, func() error {
		b, err := os.ReadFile(r.file)
		if err != nil {
			return err
		}
		got = string(b[r.read:])
		if rest := strings.SplitN(got, between, keys+1); len(rest) <= keys || !strings.HasSuffix(rest[keys], what) {
			return fmt.Errorf("%s has not read %q after %d keys; the last it read are %q", r.name, what, keys, got[max(0, len(got)-40):])
		}
		return nil
	})
	if what == around {
		r.read += len(got)
	}
	return got
}

// bigPaste pastes 1 MiB with the prefix key inside; the dashboard answers keys right after it, and no byte is lost.
func (k *keyboardTest) bigPaste(t *testing.T) {
	t.Helper()
	r := k.readers[1]
	k.focus(r)
	text := strings.Repeat("a line with ümlauts, 漢字 and "+prefix+" in it\r", 1<<20/50)
	k.d.Type("\x1b[200~" + text + "\x1b[201~" + around + prefix + "?")
	k.d.WaitFor("Keys")
	k.d.Type("\x1b")
	k.d.WaitGone("Keys")
	if got, want := k.reads(r, around, 0), "\x1b[200~"+text+"\x1b[201~"+around; got != want {
		t.Errorf("the program read %d bytes of %d", len(got), len(want))
	}
}
