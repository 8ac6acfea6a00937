package tmux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"corral/e2e/program"

	"corral/e2e/rounds"
	"corral/runtime/internal/procfs"
)

// Exits are lost by tmux up to 3.5a on Debian (8 to 12 of 100) unless it is made to look again.
func TestNoExitIsLost(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	total := rounds.N(60, 200, 400)
	const batch = 20
	for done := 0; done < total; done += batch {
		var list []Command
		for i := range batch {
			list = append(list, newSession(fmt.Sprintf("x-%d", done+i), fmt.Sprintf("exit %d", (done+i)%256)))
		}
		b.must(t, list...)
	}
	l := b.await(t, "the end of all", func(l Listing) bool {
		for _, p := range l.Panes {
			if !p.Dead || !p.Explained() {
				return false
			}
		}
		return len(l.Panes) == total
	})
	for i := range total {
		p, _ := find(l, fmt.Sprintf("x-%d", i))
		if p.Status == nil || *p.Status != i%256 || p.DeadAt.IsZero() {
			t.Errorf("session %d: %+v", i, p)
		}
	}
}

func TestASignalledProgramIsToldFromAnExit(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, newSession("killed", "kill -9 $$"), newSession("gone", "sleep 60"), newSession("stays", "sleep 60"))
	b.must(t, Command{"kill-session", "-t", "=gone"})
	l := b.await(t, "the signal", func(l Listing) bool {
		p, ok := find(l, "killed")
		return ok && p.Explained()
	})
	if p, _ := find(l, "killed"); p.Signal == nil || *p.Signal != 9 || p.Status != nil {
		t.Errorf("got %+v", p)
	}
	if _, ok := find(l, "gone"); ok {
		t.Error("a killed session is listed")
	}
	if p, ok := find(l, "stays"); !ok || p.Dead {
		t.Errorf("got %+v", p)
	}
}

func TestAKilledServerIsReplacedAndRecorded(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, newSession("lost", "sleep 60"))
	l := b.await(t, "the session", func(l Listing) bool { _, ok := find(l, "lost"); return ok })
	for range 2 {
		before := time.Now()
		if err := syscall.Kill(l.Server.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		old := l.Server
		l = b.await(t, "the next server", func(l Listing) bool { return l.Server != old })
		if rounds.Timing() && time.Since(before) > 2*time.Second {
			t.Errorf("took %v", time.Since(before))
		}
		if len(l.Panes) != 0 {
			t.Errorf("the new server has %+v", l.Panes)
		}
		if procfs.Alive(old) {
			t.Error("a new server was started beside the old one")
		}
		if e := b.Ended(); len(e) == 0 || e[0].Server != old || e[0].At.Before(before) || e[0].At.After(time.Now()) {
			t.Errorf("ended: %+v", e)
		}
		if _, err := b.RunOn(deadline(t), old, Command{"list-panes"}); !errors.Is(err, ErrDown) {
			t.Errorf("a command for the old server ran on the new one: %v", err)
		}
	}
}

func TestTheNextRuntimeFindsEverything(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, newSession("lives", "sleep 60"), newSession("ends", "sleep 0.2; exit 7"))
	l := b.await(t, "both", func(l Listing) bool { return len(l.Panes) == 2 })
	nonce := b.Nonce()
	b.stop()
	// The exit happens while no runtime runs; nobody reaps for a while.
	p, _ := find(l, "ends")
	ended := time.Now().Add(patience)
	for st, err := procfs.ReadStat(p.PID); err == nil && !st.Gone() && time.Now().Before(ended); st, err = procfs.ReadStat(p.PID) {
		time.Sleep(10 * time.Millisecond)
	}
	b.serve(t)
	b.must(t, Command{"list-sessions"})
	b.Reap()
	after := b.await(t, "the exit", func(l Listing) bool { p, _ := find(l, "ends"); return p.Explained() })
	if after.Server != l.Server || b.Nonce() != nonce || nonce == "" {
		t.Errorf("server %v then %v, nonce %q then %q", l.Server, after.Server, nonce, b.Nonce())
	}
	if p, _ := find(after, "ends"); p.Status == nil || *p.Status != 7 {
		t.Errorf("got %+v", p)
	}
	if p, ok := find(after, "lives"); !ok || p.Dead {
		t.Errorf("got %+v", p)
	}
}

func TestAnUnseenEndIsDatedByTheLastSign(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, Command{"list-sessions"})
	old := b.Status().Server
	b.stop()
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(b.cfg.StatePath, at, at); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(old.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for procfs.Alive(old) {
		time.Sleep(time.Millisecond)
	}
	b.serve(t)
	b.must(t, Command{"list-sessions"})
	if e := b.Ended(); len(e) != 1 || e[0].Server != old || !e[0].At.Equal(at) {
		t.Errorf("ended %+v, want %v at %v", e, old, at)
	}
	b.Touch()
	if info, err := os.Stat(b.cfg.StatePath); err != nil || time.Since(info.ModTime()) > time.Minute {
		t.Errorf("not touched: %v, %v", info, err)
	}
}

func TestADeletedSocketComesBack(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, newSession("lives", "sleep 60"))
	server := b.Status().Server
	socket := b.Status().Socket
	for name, remove := range map[string]func() error{
		"socket":    func() error { return os.Remove(socket) },
		"directory": func() error { return os.RemoveAll(filepath.Dir(socket)) },
	} {
		for range rounds.N(3, 10, 30) {
			if err := remove(); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			for {
				out, err := b.Output(deadline(t), Command{"list-sessions"})
				if err == nil && strings.Contains(string(out), "lives") {
					break
				}
				if time.Since(began) > patience {
					t.Fatalf("%s: a new client got %q, %v", name, out, err)
				}
				time.Sleep(time.Millisecond)
			}
			if took := time.Since(began); rounds.Timing() && took > 2*time.Second {
				t.Errorf("%s: back after %v", name, took)
			}
		}
	}
	if got := b.Status().Server; got != server {
		t.Errorf("server %v became %v", server, got)
	}
	// Also when nobody was there to see it.
	b.stop()
	if err := os.RemoveAll(filepath.Dir(socket)); err != nil {
		t.Fatal(err)
	}
	b.serve(t)
	b.must(t, Command{"has-session", "-t", "=lives"})
	if got := b.Status().Server; got != server {
		t.Errorf("server %v became %v", server, got)
	}
}

// Whatever happens to the connections, as long as the process lives there is one server and everything in it.
func TestLostConnectionsAreRemade(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, newSession("lives", "sleep 60"))
	server := b.Status().Server
	for name, harm := range map[string]func(*link){
		"detached":                        func(*link) { _, _ = b.Run(t.Context(), Command{"detach-client", "-s", "=hub"}) },
		"no hub":                          func(*link) { _, _ = b.Run(t.Context(), Command{"kill-session", "-t", "=hub"}) },
		"kill -9 of the commands' client": func(l *link) { _ = l.commands.cmd.Process.Kill() },
		"kill -9 of the waiter":           func(l *link) { _ = l.waiter.cmd.Process.Kill() },
	} {
		l, err := b.current(deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		harm(l)
		select {
		case <-l.dropped:
		case <-time.After(patience):
			t.Fatalf("%s: not noticed", name)
		}
		b.must(t, Command{"has-session", "-t", "=lives"})
		if got := b.Status().Server; got != server {
			t.Fatalf("%s: server %v became %v", name, server, got)
		}
	}
}

func TestAStoppedServerIsWaitedForNotReplaced(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, newSession("lives", "sleep 60"))
	server := b.Status().Server
	b.stop()
	if err := syscall.Kill(server.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(server.PID, syscall.SIGCONT) })
	if err := os.Remove(b.cfg.Socket); err != nil {
		t.Fatal(err)
	}
	b.serve(t)
	select {
	case <-b.Changed():
		t.Fatal("something answered")
	case <-time.After(500 * time.Millisecond):
	}
	if err := syscall.Kill(server.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.must(t, Command{"has-session", "-t", "=lives"})
	if got := b.Status().Server; got != server {
		t.Errorf("server %v became %v", server, got)
	}
}

func TestManyCallersShareOneConnection(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, Command{"list-sessions"})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for j := range rounds.N(20, 100, 500) {
				want := fmt.Sprintf("%d-%d", i, j)
				replies, err := b.Run(t.Context(), Command{"display-message", "-p", want}, Command{"display-message", "-p", "end"})
				if err != nil || replies[0].Lines[0] != want {
					t.Errorf("got %v, %v for %s", replies, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestNoForeignEnvironmentGetsIn(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	env := joined(b.must(t, Command{"show-environment", "-g"}))
	if strings.Contains(env, "SECRET") || strings.Contains(env, "TMUX=") || !strings.Contains(env, "LANG=C.UTF-8") {
		t.Errorf("the server's environment is\n%s", env)
	}
	if info, err := os.Stat(filepath.Dir(b.cfg.Socket)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", info.Mode(), err)
	}
	for _, p := range []string{b.cfg.StatePath, b.cfg.ConfPath} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
}

func TestOptionsTakeEffect(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.must(t, newSession("x", "sleep 60"))
	for query, want := range map[string]string{
		"-sv exit-empty":             "off",
		"-sv escape-time":            "0",
		"-sv set-clipboard":          "off",
		"-gv history-limit":          "2000",
		"-gv prefix":                 "None",
		"-gv status":                 "off",
		"-gwv remain-on-exit":        "on",
		"-gwv remain-on-exit-format": "",
		"-gv bell-action":            "any",
		"-sv terminal-overrides[50]": "xterm-256color:smcup@:rmcup@:indn@",
		"-gv update-environment":     "",
		"-gwv automatic-rename":      "off",
		"-gwv allow-passthrough":     "off",
		"-gv set-titles":             "on",
	} {
		if got := joined(b.must(t, append(Command{"show-options"}, strings.Fields(query)...))); got != want {
			t.Errorf("%s is %q, want %q", query, got, want)
		}
	}
	if got := joined(b.must(t, Command{"show-options", "-gv", "set-titles-string"})); !strings.HasPrefix(got, b.Nonce()+";#{history_size};") {
		t.Errorf("set-titles-string is %q", got)
	}
	if out, err := b.Output(deadline(t), Command{"list-keys", "-T", "prefix"}); err == nil && len(out) > 0 {
		t.Errorf("keys are bound: %s", out)
	}
	if got := joined(b.must(t, Command{"show-options", "-sv", "terminal-features"})); strings.Count(got, "usstyle:hyperlinks") != 1 {
		t.Errorf("terminal-features is %q", got)
	}
}

func TestAMissingOrOldTmuxIsSaidInOneSentence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := bedConfig(dir)
	cfg.Env = []string{"PATH=" + dir}
	if _, err := New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "apt-get install tmux") {
		t.Errorf("got %v", err)
	}
	old := filepath.Join(dir, "tmux")
	program.Write(t, old, []byte("#!/bin/sh\necho tmux 3.2a\n"))
	if _, err := New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "tmux 3.2a, and Corral needs 3.3a") {
		t.Errorf("got %v", err)
	}
	cfg.Socket = "/tmp/" + strings.Repeat("x", maxSocket)
	if _, err := New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "CR_RUN_DIR") {
		t.Errorf("got %v", err)
	}
}
