package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"corral/e2e/rounds"
	"corral/runtime/internal/journal"
	"corral/runtime/rtapi"
	"corral/vt"
)

// cells draws an ANSI text of rows, so that texts which look the same are equal.
func cells(s rtapi.Screen) string {
	screen := vt.New(s.Cols, s.Rows)
	_, _ = screen.Write([]byte(strings.ReplaceAll(s.ANSI, "\n", "\r\n")))
	return screen.Frame().ANSI(vt.TrueColor)
}

// settled waits until the newest record but attachments is a snapshot that shows text.
func (b *bed) settled(t *testing.T, id, text string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		r, err := journal.Newest(filepath.Join(b.data(), "journal", id), journal.Output, journal.Resize, journal.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if r != nil && r.Kind == journal.Snapshot && strings.Contains(r.ANSI, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is not quiet: %+v", id, r)
		}
	}
}

// killTmux ends the tmux server and waits for the next one.
func (b *bed) killTmux(t *testing.T) {
	t.Helper()
	st, err := b.Status(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(st.Tmux.Server.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.await(t, "another tmux server", func(inv rtapi.Inventory) bool { return inv.Server != st.Tmux.Server && len(inv.Terminals) == 0 })
}

// TestTheLastScreenOutlivesTmux has programs of several kinds come to rest, kills tmux and looks for their screens.
func TestTheLastScreenOutlivesTmux(t *testing.T) {
	t.Parallel()
	programs := map[string]struct{ script, shows string }{
		"bash":  {`exec bash --norc --noprofile -i`, "link"},
		"agent": {`stty raw -echo; printf '\033[?1049h\033[?25l\033[?1h\033[2J\033[3;5H\033[38;5;208magent\033[m \342\224\200 \033[7mwaits\033[m\033[10;1H> \033[4munderlined'; cat`, "underlined"},
		"vim":   {`i=0; while [ $i -lt 99 ]; do echo "line $i of a text"; i=$((i+1)); done >text; exec vim -n -u NONE -c 'set nu' -c 'normal 40G' text`, "line 39"},
		"htop":  {`exec htop -d 100`, "PID"},
	}
	for _, p := range []string{"vim", "htop"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatalf("%s is missing: apt-get install %s", p, p)
		}
	}
	b := newBed(t)
	shows := map[string]string{}
	for i := range rounds.N(1, 2, 5) {
		for name, p := range programs {
			id := fmt.Sprint(name, i)
			req := b.request(id, p.script)
			req.Cols, req.Rows, req.Env = 70+i, 20+i, []string{"TERM=tmux-256color", "HTOPRC=/dev/null"}
			if _, err := b.Create(deadline(t), req); err != nil {
				t.Fatal(err)
			}
			shows[id] = p.shows
		}
	}
	b.awaitScreen(t, "bash0", "bash")
	for i := range len(shows) / len(programs) {
		if err := b.Input(deadline(t), fmt.Sprint("bash", i), rtapi.InputRequest{Text: `printf '\033[1;35mpurple\033[m \033]8;;http://x\033\\link\033]8;;\033\\\n'`, Enter: true}); err != nil {
			t.Fatal(err)
		}
	}
	for id, text := range shows {
		b.settled(t, id, text)
	}
	before := map[string]rtapi.Screen{}
	for id := range shows {
		s, err := b.Screen(deadline(t), id)
		if err != nil || !s.At.IsZero() || strings.TrimSpace(s.Text) == "" {
			t.Fatal(s, err)
		}
		before[id] = s
	}
	b.killTmux(t)
	for id := range shows {
		after, err := b.Screen(deadline(t), id)
		if err != nil {
			t.Fatal(err)
		}
		was := before[id]
		if cells(after) != cells(was) || after.Cols != was.Cols || after.CursorRow != was.CursorRow || after.Alternate != was.Alternate {
			t.Errorf("%s showed\n%s\nand now\n%s", id, was.Text, after.Text)
		}
		if after.At.IsZero() || time.Since(after.At) > time.Minute {
			t.Errorf("%s is of %v", id, after.At)
		}
	}
	if _, err := b.Screen(deadline(t), "never"); code(err) != "not_found" {
		t.Errorf("a screen of nothing: %v", err)
	}
}

// TestTheLastLinesOutliveTmux kills tmux while a program prints.
func TestTheLastLinesOutliveTmux(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "loud", `i=0; while :; do i=$((i+1)); echo "line $i"; [ $((i % 50)) = 0 ] && sleep 0.01; done`)
	b.awaitRecord(t, "loud", journal.Output, func(r journal.Record) bool { return strings.Contains(r.Payload, "line 1000") })
	b.killTmux(t)
	s, err := b.Screen(deadline(t), "loud")
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	for _, r := range b.records(t, "loud", journal.Output) {
		printed.WriteString(r.Payload)
	}
	rows := strings.Split(strings.TrimRight(strings.ReplaceAll(printed.String(), "\r", ""), "\n"), "\n")
	shown := strings.Split(strings.TrimRight(s.Text, "\n"), "\n")
	if want := rows[len(rows)-len(shown):]; strings.Join(want, "\n") != strings.Join(shown, "\n") {
		t.Errorf("printed\n%s\nshown\n%s", strings.Join(want, "\n"), s.Text)
	}
}

// TestTheLastScreenOfALaterRun: what an earlier run showed is no part of it, and a size that changed is the last one.
func TestTheLastScreenOfALaterRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := journal.OpenWriter(dir, "s", journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	text := func(s string) journal.Record { return journal.Record{Kind: journal.Output, Payload: s} }
	for _, r := range []journal.Record{
		{Kind: journal.Start, Details: journal.Details{Cols: 80, Rows: 24}},
		text("before"),
		{Kind: journal.Snapshot, Details: journal.Details{ANSI: "before", Cols: 80, Rows: 24, Through: 2}},
		{Kind: journal.Exit},
		{Kind: journal.Start, Details: journal.Details{Cols: 20, Rows: 5}},
		text("one\r\n"),
		text("two\r\n"),
		{Kind: journal.Snapshot, Details: journal.Details{ANSI: "one\n\n\n\n", Cols: 20, Rows: 5, Through: 6, Cursor: &journal.Cursor{Row: 1}}},
		text("three"),
		{Kind: journal.Resize, Details: journal.Details{Cols: 30, Rows: 6}},
		text("\r\n\x1b[?2026h\x1b[31mfour"),
	} {
		if err := w.Append(&r); err != nil {
			t.Fatal(err)
		}
	}
	j := newJournaling("", filepath.Dir(dir), true, nil)
	s, err := j.LastScreen(filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimRight(s.Text, "\n"); got != "one\ntwo\nthree\nfour" || s.Cols != 30 || s.Rows != 6 {
		t.Errorf("%dx%d %q", s.Cols, s.Rows, s.Text)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := j.LastScreen(filepath.Base(dir)); code(err) != "not_found" {
		t.Errorf("got %v", err)
	}
}
