package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"corral/e2e/rounds"
	"corral/runtime/internal/procfs"
	"corral/runtime/recorder"
	"corral/runtime/rtapi"
	"corral/runtime/rtclient"
)

func TestATerminalFromStartToEnd(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	req := b.request("one", "")
	req.Argv = nil // a login shell
	req.Env = []string{"SECRET=hidden", "PS1=> "}
	req.Cols, req.Rows = 100, 30
	term, err := b.Create(deadline(t), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(req.Meta, term.Meta); diff != "" {
		t.Error(diff)
	}
	if term.Cols != 100 || term.Rows != 30 || term.Dead || term.PanePID == 0 {
		t.Errorf("got %+v", term)
	}
	if err := b.Input(deadline(t), "one", rtapi.InputRequest{Text: `echo $((40+2)) "$SECRET" "$TMUX" $CR_X; pwd`, Enter: true}); err != nil {
		t.Fatal(err)
	}
	s := b.awaitScreen(t, "one", "42 hidden\n"+b.home)
	if s.Cols != 100 || s.Rows != 30 || s.Alternate {
		t.Errorf("got %+v", s)
	}
	again, err := b.Create(deadline(t), req)
	if err != nil || again.PanePID != term.PanePID {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	if err := b.Input(deadline(t), "one", rtapi.InputRequest{Text: "exit 7x", Keys: []string{"BSpace", "Enter"}}); err != nil {
		t.Fatal(err)
	}
	inv := b.await(t, "the end", func(inv rtapi.Inventory) bool { return find(inv, "one").Dead })
	if got := find(inv, "one"); got.ExitCode == nil || *got.ExitCode != 7 || got.Signal != nil || got.DeadAt.IsZero() {
		t.Errorf("got %+v", got)
	}
	if err := b.Input(deadline(t), "one", rtapi.InputRequest{Text: "x"}); code(err) != "conflict" {
		t.Errorf("typing into a dead terminal: %v", err)
	}
	if err := b.Remove(deadline(t), "one"); err != nil {
		t.Fatal(err)
	}
	if inv, err := b.Inventory(deadline(t)); err != nil || len(inv.Terminals) != 0 || !inv.Complete {
		t.Errorf("got %+v, %v", inv, err)
	}
	if files, err := os.ReadDir(filepath.Join(b.data(), "launch")); err != nil || len(files) != 0 {
		t.Errorf("launch files stayed: %v, %v", files, err)
	}
}

// What tmux clears at a respawn is kept: every line that the first run printed is there once, above the second's.
func TestARespawnKeepsHistoryAndScreen(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "one", "seq -f 'first %g' 100; printf '\\033[31mred'; exit 3")
	b.await(t, "the end", func(inv rtapi.Inventory) bool { return find(inv, "one").Dead })
	req := b.request("one", "seq -f 'second %g' 100; sleep 60")
	if again, err := b.Respawn(deadline(t), req); err != nil || !again.Dead {
		t.Errorf("the same run again: %+v, %v", again, err)
	}
	req.Meta.Run, req.Meta.Title = 2, "second"
	term, err := b.Respawn(deadline(t), req)
	if err != nil {
		t.Fatal(err)
	}
	if term.Dead || term.Run != 2 || term.Title != "second" {
		t.Errorf("got %+v", term)
	}
	b.awaitScreen(t, "one", "second 100")
	h, err := b.History(deadline(t), "one", rtclient.HistoryRange{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Screen(deadline(t), "one")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := 1; i <= 100; i++ {
		want = append(want, fmt.Sprintf("first %d", i))
	}
	want = append(want, "red")
	for i := 1; i <= 100; i++ {
		want = append(want, fmt.Sprintf("second %d", i))
	}
	got := append(h.Lines, strings.Split(strings.TrimRight(s.Text, "\n"), "\n")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for run, want := range map[int]string{1: "conflict", 3: "conflict"} { // older, and newer while it lives
		req.Meta.Run = run
		if _, err := b.Respawn(deadline(t), req); code(err) != want {
			t.Errorf("run %d: %v", run, err)
		}
	}
	// Without a terminal a respawn creates one.
	req.Meta.ID, req.Meta.Run = "two", 5
	if term, err := b.Respawn(deadline(t), req); err != nil || term.Run != 5 {
		t.Errorf("got %+v, %v", term, err)
	}
}

func TestHistoryComesInPages(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "one", "seq 1000; printf 'x%.0s' $(seq 200); echo; printf '\\033[32mgreen\\033[0m\\n'; seq 24; sleep 60")
	b.awaitScreen(t, "one", "\n24\n")
	for name, c := range map[string]struct {
		r           rtclient.HistoryRange
		first, last string
		n           int
	}{
		"all":    {rtclient.HistoryRange{}, "1", "1", 1003},
		"newest": {rtclient.HistoryRange{Lines: 2, ANSI: true}, "\x1b[32mgreen", "\x1b[39m1", 2},
		"joined": {rtclient.HistoryRange{Lines: 3, Before: 2}, strings.Repeat("x", 200), strings.Repeat("x", 200), 1},
		"older":  {rtclient.HistoryRange{Lines: 10, Before: 1000}, "", "5", 5},
		"beyond": {rtclient.HistoryRange{Lines: 10, Before: 5000}, "", "", 0},
	} {
		h, err := b.History(deadline(t), "one", c.r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Total != 1005 {
			t.Errorf("%s: %d rows in all", name, h.Total)
		}
		if c.n != len(h.Lines) {
			t.Errorf("%s: %d lines: %q", name, len(h.Lines), h.Lines)
			continue
		}
		if c.n > 0 && (c.first != "" && h.Lines[0] != c.first || h.Lines[c.n-1] != c.last) {
			t.Errorf("%s: from %q to %q", name, h.Lines[0], h.Lines[c.n-1])
		}
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "term", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.1; done")
	b.create(t, "kill", "trap '' TERM HUP; echo ready; while :; do sleep 0.1; done")
	b.awaitScreen(t, "term", "ready")
	b.awaitScreen(t, "kill", "ready")
	shell := b.request("shell", "")
	shell.Argv, shell.Env = nil, []string{"PS1=> "}
	if _, err := b.Create(deadline(t), shell); err != nil {
		t.Fatal(err)
	}
	// A shell with a job in the foreground: both hear of a hang-up.
	if err := b.Input(deadline(t), "shell", rtapi.InputRequest{Text: "set -m; sleep 1000 | (echo \" ready\"; cat)", Enter: true}); err != nil {
		t.Fatal(err)
	}
	b.awaitScreen(t, "shell", " ready\n")
	for _, c := range []struct{ id, signal, want string }{
		{"term", "STOP", "invalid"}, {"none", "TERM", "not_found"},
	} {
		if err := b.Signal(deadline(t), c.id, rtapi.SignalRequest{Signal: c.signal, Run: 1}); code(err) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := b.Signal(deadline(t), "term", rtapi.SignalRequest{Signal: "TERM", Run: 2}); code(err) != "conflict" {
		t.Errorf("another run: %v", err)
	}
	for id, sig := range map[string]string{"term": "TERM", "kill": "KILL", "shell": "HUP"} {
		if err := b.Signal(deadline(t), id, rtapi.SignalRequest{Signal: sig, Run: 1}); err != nil {
			t.Fatal(err)
		}
	}
	inv := b.await(t, "the ends", func(inv rtapi.Inventory) bool {
		return !slices.ContainsFunc(inv.Terminals, func(x rtapi.Terminal) bool { return !x.Dead })
	})
	if got := find(inv, "term"); got.ExitCode == nil || *got.ExitCode != 5 {
		t.Errorf("got %+v", got)
	}
	if got := find(inv, "kill"); got.Signal == nil || *got.Signal != 9 || got.ExitCode != nil {
		t.Errorf("got %+v", got)
	}
	if err := b.Signal(deadline(t), "term", rtapi.SignalRequest{Signal: "TERM", Run: 1}); err != nil {
		t.Errorf("a dead program: %v", err)
	}
}

func TestRemoveLeavesNoProgram(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	term := b.create(t, "one", "trap '' HUP TERM; echo ready; while :; do sleep 0.1; done")
	b.awaitScreen(t, "one", "ready")
	life, err := procfs.Identify(term.PanePID)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Remove(deadline(t), "one"); err != nil {
		t.Fatal(err)
	}
	ended := time.Now().Add(patience)
	for procfs.Alive(life) {
		if time.Now().After(ended) {
			t.Fatal("the program runs on unseen")
		}
		time.Sleep(time.Millisecond)
	}
	if err := b.Remove(deadline(t), "one"); code(err) != "not_found" {
		t.Errorf("got %v", err)
	}
}

func TestMetaIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "one", "sleep 60")
	meta := rtapi.Meta{ID: "other", Run: 9, Kind: "claude", Title: `new "t" \ $x;`, CWD: "/", Conversation: "c", Args: []string{"a", ""}}
	if err := b.SetMeta(deadline(t), "one", meta); err != nil {
		t.Fatal(err)
	}
	inv, err := b.Inventory(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	meta.ID, meta.Run = "one", 1
	if diff := cmp.Diff(meta, find(inv, "one").Meta); diff != "" {
		t.Error(diff)
	}
}

func TestBadRequestsAreRefusedInOneSentence(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	locked := filepath.Join(b.dir, "file")
	if err := os.WriteFile(locked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*rtapi.LaunchRequest){
		"no id":        func(r *rtapi.LaunchRequest) { r.Meta.ID = "" },
		"target in id": func(r *rtapi.LaunchRequest) { r.Meta.ID = "a:b" },
		"no run":       func(r *rtapi.LaunchRequest) { r.Meta.Run = 0 },
		"size":         func(r *rtapi.LaunchRequest) { r.Cols = 100000 },
		"negative":     func(r *rtapi.LaunchRequest) { r.Rows = -1 },
		"no directory": func(r *rtapi.LaunchRequest) { r.Meta.CWD = filepath.Join(b.dir, "none") },
		"file":         func(r *rtapi.LaunchRequest) { r.Meta.CWD = locked },
		"relative":     func(r *rtapi.LaunchRequest) { r.Meta.CWD = "home" },
		"variable":     func(r *rtapi.LaunchRequest) { r.Env = []string{"x"} },
		"NUL":          func(r *rtapi.LaunchRequest) { r.Argv = []string{"a\x00b"} },
		"no name":      func(r *rtapi.LaunchRequest) { r.Argv = []string{"", "x"} },
	} {
		req := b.request("one", "true")
		change(&req)
		if _, err := b.Create(deadline(t), req); code(err) != "invalid" || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if inv, err := b.Inventory(deadline(t)); err != nil || len(inv.Terminals) != 0 {
		t.Errorf("something was made: %+v, %v", inv, err)
	}
	b.create(t, "one", "cat")
	for name, req := range map[string]rtapi.InputRequest{
		"nothing": {}, "NUL": {Text: "\x00"}, "no key": {Keys: []string{"kill-server"}}, "option": {Keys: []string{"-X"}},
	} {
		if err := b.Input(deadline(t), "one", req); code(err) != "invalid" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.Screen(deadline(t), "none"); code(err) != "not_found" {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsTypedArrivesExactly(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	out := filepath.Join(b.dir, "out")
	b.create(t, "one", "stty raw -echo; echo ready; exec cat > "+out)
	b.awaitScreen(t, "one", "ready")
	want := ""
	for _, text := range []string{"-x", "it's \"$HOME\" \\ #{pid} ; ~", "äöü 漢字 👩‍👩‍👧", "two\nlines\r", strings.Repeat("long €\n", 3000)} {
		if err := b.Input(deadline(t), "one", rtapi.InputRequest{Text: text, Keys: []string{"C-a"}}); err != nil {
			t.Fatal(err)
		}
		want += text + "\x01"
	}
	ended := time.Now().Add(patience)
	for {
		got, err := os.ReadFile(out)
		if err == nil && string(got) == want {
			return
		}
		if time.Now().After(ended) {
			t.Fatalf("got %.200q (%d bytes, want %d), %v", got, len(got), len(want), err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestCreatesAtOnceMakeOneTerminal(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	pids := make(chan int, 10)
	for range cap(pids) {
		go func() {
			term, err := b.Create(t.Context(), b.request("one", "sleep 60"))
			if err != nil {
				t.Error(err)
			}
			pids <- term.PanePID
		}()
	}
	first := <-pids
	for range cap(pids) - 1 {
		if pid := <-pids; pid != first {
			t.Errorf("pids %d and %d", first, pid)
		}
	}
	req := b.request("one", "sleep 60")
	req.Meta.Run = 2
	if _, err := b.Create(deadline(t), req); code(err) != "conflict" {
		t.Errorf("got %v", err)
	}
}

func TestTheNextRuntimeKnowsEverything(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	lives := b.create(t, "lives", "sleep 60")
	b.create(t, "ends", "sleep 0.3; exit 9")
	before := b.await(t, "both", func(inv rtapi.Inventory) bool { return len(inv.Terminals) == 2 })
	st := b.awaitRecorder(t, 0)
	b.stop()
	if _, err := b.Inventory(deadline(t)); err == nil {
		t.Error("an ended runtime answers")
	}
	b.serve(t)
	inv := b.await(t, "the exit", func(inv rtapi.Inventory) bool { return find(inv, "ends").Dead })
	if inv.Server != before.Server || len(inv.Ended) != 0 {
		t.Errorf("server %v became %v, ended %v", before.Server, inv.Server, inv.Ended)
	}
	if got := find(inv, "ends"); got.ExitCode == nil || *got.ExitCode != 9 {
		t.Errorf("got %+v", got)
	}
	if got := find(inv, "lives"); got.PanePID != lives.PanePID || got.Dead {
		t.Errorf("got %+v", got)
	}
	if after := b.awaitRecorder(t, 0); after != st {
		t.Errorf("recorder %d became %d", st, after)
	}
}

func TestAKilledRecorderIsReplacedAndFed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "quiet", "sleep 60") // prints nothing, so tmux does not notice the loss
	b.create(t, "loud", "while :; do echo x; sleep 0.05; done")
	old := b.awaitRecorder(t, 0)
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.awaitRecorder(t, old)
	ctx := deadline(t)
	for {
		w, err := recorder.Dial(ctx, filepath.Join(b.run(), "recorder.sock"))
		if err == nil {
			held := w.Held
			slices.Sort(held)
			w.Close()
			if slices.Equal(held, []string{"cr-loud", "cr-quiet"}) {
				return
			}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the new recorder holds %+v, %v", w, err)
		}
	}
}

func TestAKilledTmuxIsReportedAndReplaced(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "lost", "sleep 60")
	inv := b.await(t, "it", func(inv rtapi.Inventory) bool { return len(inv.Terminals) == 1 })
	began := time.Now()
	if err := syscall.Kill(inv.Server.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	after := b.await(t, "the loss", func(next rtapi.Inventory) bool { return next.Server != inv.Server })
	if rounds.Timing() && time.Since(began) > 2*time.Second {
		t.Errorf("took %v", time.Since(began))
	}
	if !after.Complete || len(after.Terminals) != 0 || len(after.Ended) != 1 || after.Ended[0].Server != inv.Server || after.Ended[0].At.Before(began) {
		t.Errorf("got %+v", after)
	}
	req := b.request("lost", "sleep 60")
	req.Meta.Run = 2
	if term, err := b.Respawn(deadline(t), req); err != nil || term.Run != 2 {
		t.Errorf("got %+v, %v", term, err)
	}
}

func TestAnIdleRuntimeSendsTmuxNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for i := range 5 {
		b.create(t, fmt.Sprintf("t%d", i), "sleep 60")
	}
	b.create(t, "busy", "while :; do echo x; sleep 0.01; done")
	b.awaitRecorder(t, 0)
	quiet := time.Duration(rounds.N(2, 5, 60)) * time.Second
	time.Sleep(time.Second) // what the creations brought about is over
	b.log.take()
	for range 5 {
		time.Sleep(quiet / 5)
		if _, err := b.Inventory(deadline(t)); err != nil {
			t.Fatal(err)
		}
	}
	if names := b.log.take(); len(names) > 0 {
		t.Errorf("tmux was sent %q", names)
	}
}
