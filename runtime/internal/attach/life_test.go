package attach

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"corral/e2e/rounds"
	"corral/runtime/rtapi"
	"corral/sessions"
)

func intp(n int) *int { return &n }

func TestExitBringsTheLastPictureAndTheCode(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `read x; seq 100000; echo the end; exit 7`)
	v := b.view(t, "a", "mode", "pane")
	v.live(1)
	v.typeKeys("\r")
	until(t, "exit", func() bool {
		b.tmux.Reap()
		return b.ask(t, "a", "#{pane_dead} #{pane_dead_status}") == "1 7"
	})
	b.Exited("a", intp(7), nil)
	if code := v.closed(); code != sessions.CloseEnded {
		t.Errorf("closed with %d", code)
	}
	// What tmux has: it may have thrown away the last output itself when it heard of the exit.
	if want := b.capture(t, "a"); v.text() != want {
		t.Errorf("the last screen is\n%s\nand tmux has\n%s", v.text(), want)
	}
	if v.exit == nil || v.exit.ExitCode == nil || *v.exit.ExitCode != 7 || v.exit.Signal != nil {
		t.Errorf("exited: %+v", v.exit)
	}
	if last := v.events[len(v.events)-1]; last != rtapi.FrameExited {
		t.Errorf("the last frame is %s", last)
	}
}

func TestStreamOfADeadTerminal(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `seq 30; kill -9 $$`)
	until(t, "death", func() bool {
		b.tmux.Reap()
		return b.ask(t, "a", "#{pane_dead_signal}") != ""
	})
	v := b.view(t, "a", "mode", "pane", "replay", "100")
	if code := v.closed(); code != sessions.CloseEnded {
		t.Errorf("closed with %d", code)
	}
	if !strings.HasSuffix(v.text(), "29\n30") || !strings.HasPrefix(string(v.replay), "1\r\n2\r\n") {
		t.Errorf("replay %q, screen\n%s", v.replay, v.text())
	}
	if v.exit == nil || v.exit.Signal == nil || *v.exit.Signal != 9 || v.exit.ExitCode != nil {
		t.Errorf("exited: %+v", v.exit)
	}
}

func TestCloseCodes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `exec cat`)
	for _, id := range []string{"unknown", "a:", "=a", ""} {
		if code := b.view(t, id, "mode", "pane").closed(); code != sessions.CloseNotFound {
			t.Errorf("unknown terminal %q: closed with %d", id, code)
		}
	}
	if len(b.counts) != 0 {
		t.Errorf("counted: %v", b.counts)
	}
	removed := b.view(t, "a", "mode", "pane")
	removed.live(1)
	b.must(t, []string{"kill-session", "-t", "=cr-a"})
	if code := removed.closed(); code != sessions.CloseEnded || removed.exit != nil {
		t.Errorf("removed terminal: closed with %d, exited %v", code, removed.exit)
	}
	b.start(t, "b", 80, 24, `exec cat`)
	v := b.view(t, "b", "mode", "pane")
	v.live(1)
	if err := b.Shutdown(deadline(t)); err != nil {
		t.Error(err)
	}
	if code := v.closed(); code != sessions.CloseGoingAway {
		t.Errorf("shutdown: closed with %d", code)
	}
	if code := b.view(t, "b").closed(); code != sessions.CloseGoingAway {
		t.Errorf("after the shutdown: closed with %d", code)
	}
}

func TestLostAttachClientIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `exec cat`)
	v := b.view(t, "a", "mode", "pane")
	v.live(1)
	if err := syscall.Kill(b.only(t).currentClient().cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	v.live(2)
	v.typeKeys("still here\r")
	v.shows("still here\nstill here")
	b.must(t, []string{"detach-client", "-s", "=cr-a"}) // says goodbye first
	v.live(3)
	v.typeKeys("and now\r")
	v.shows("and now\nand now")
	if strings.Contains(v.text(), "detached") || strings.Contains(string(v.raw), "detached") {
		t.Errorf("the client's farewell came through:\n%s", v.text())
	}
}

// clients counts the tmux clients of a terminal.
func (b *bed) clients(t *testing.T, id string) int {
	t.Helper()
	return len(b.must(t, []string{"list-clients", "-t", "=cr-" + id, "-F", "#{client_pid}"}))
}

func TestNothingStaysOfAViewer(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, printer(0))
	for range rounds.N(10, 50, 200) {
		v := b.view(t, "a", "mode", "pane", "replay", "1000")
		if len(v.events)%2 == 0 {
			v.live(1)
		}
		_ = v.conn.CloseNow()
	}
	until(t, "no viewer", func() bool { return b.counted("a") == [2]int{} })
	until(t, "no client", func() bool { return b.clients(t, "a") == 0 })
	until(t, "no stream", func() bool {
		b.Hub.mu.Lock()
		defer b.Hub.mu.Unlock()
		return len(b.streams) == 0 && len(b.terminals) == 0
	})
}

func TestSlowViewerGetsAFreshPicture(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.maxQueued = 100 << 10 // and what the sockets hold
	// Every cell in another colour, at a pace at which tmux draws all of it: 60 KB a picture.
	b.start(t, "a", 200, 50, `stty -echo; while read x; do awk 'BEGIN {
		for (n = 0; n < 3; n++) {
			printf "\033[H"
			for (y = 0; y < 49; y++) { for (x = 0; x < 198; x++) printf "\033[%dm%d", 31 + (x + y + n) % 7, n; print "" }
			fflush(); system("sleep 0.01")
		} }'; printf '\033[mdone %s\n' "$x"; done`)
	slow := b.view(t, "a", "mode", "pane")
	healthy := b.view(t, "a", "mode", "preview")
	slow.live(1)
	healthy.live(1)
	slow.pause()
	for i := 1; ; i++ {
		slow.typeKeys(strconv.Itoa(i) + "\r")
		healthy.shows("done " + strconv.Itoa(i))
		if b.viewer(t, "pane").queue.lagging() {
			break
		}
		if i == 50 {
			t.Fatal("never behind")
		}
	}
	slow.typeKeys("last\r") // input goes on
	healthy.shows("done last")
	slow.resume()
	slow.live(2)
	slow.shows("done last")
	slow.typeKeys("live\r")
	slow.shows("done live")
	healthy.shows("done live")
	slow.mu.Lock()
	if n := slow.countLocked(sessions.FrameBehind); n < 1 || n > 3 {
		t.Errorf("%d times behind", n)
	}
	slow.mu.Unlock()
	if slow.text() != healthy.text() {
		t.Errorf("slow viewer:\n%s\nhealthy viewer:\n%s", slow.text(), healthy.text())
	}
}

// viewer returns the bed's viewer of a mode.
func (b *bed) viewer(t *testing.T, mode sessions.Mode) *viewer {
	t.Helper()
	b.Hub.mu.Lock()
	defer b.Hub.mu.Unlock()
	for v := range b.streams {
		if v.mode == mode {
			return v
		}
	}
	t.Fatal("no viewer")
	return nil
}

func TestStalledViewerIsGivenUp(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.stallLimit = 500 * time.Millisecond
	b.start(t, "a", 200, 50, printer(0))
	v := b.view(t, "a", "mode", "pane")
	v.live(1)
	v.pause()
	until(t, "given up", func() bool { return b.counted("a") == [2]int{} })
	until(t, "client gone", func() bool { return b.clients(t, "a") == 0 })
	v.resume()
	if code := v.closed(); code != sessions.CloseNotDraining {
		t.Errorf("closed with %d", code)
	}
}

func TestShutdownDoesNotWaitForAStalledViewer(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.stallLimit = 300 * time.Millisecond
	b.start(t, "a", 200, 50, printer(0))
	v := b.view(t, "a", "mode", "pane")
	v.live(1)
	v.pause()
	until(t, "given up", func() bool { return b.counted("a") == [2]int{} })
	begin := time.Now()
	if err := b.Shutdown(deadline(t)); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); rounds.Timing() && took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestPingAndNonsense(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `exec cat`)
	v := b.view(t, "a", "mode", "nonsense", "cols", "-3", "rows", "x", "replay", "99999999999999999999")
	v.live(1)
	v.send(sessions.Frame{Type: "from the future"})
	if err := v.conn.Write(deadline(t), websocket.MessageText, []byte("{")); err != nil {
		t.Fatal(err)
	}
	v.send(sessions.Frame{Type: sessions.FramePing, Nonce: "17"})
	v.wait("pong", func() bool { return v.countLocked(sessions.FramePong) == 1 })
	if f := v.last(sessions.FramePong); f.Nonce != "17" {
		t.Errorf("pong %+v", f)
	}
	if f := v.last(sessions.FrameError); f.Error == nil || f.Error.Code != sessions.CodeInvalid {
		t.Errorf("error %+v", f)
	}
}

func TestTitlesAndQueriesAreCutOut(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `stty -echo; printf '\033]2;first\007'; while read x; do printf '\033]2;%s\007' "$x"; seq 100; echo "now $x"; done`)
	until(t, "title", func() bool { return b.ask(t, "a", "#{pane_title}") == "first" })
	v := b.view(t, "a", "mode", "pane")
	v.live(1)
	restore := v.last(sessions.FrameRestore)
	if !strings.Contains(restore.ScreenText, "\x1b]0;first\a") {
		t.Errorf("no title in %q", restore.ScreenText)
	}
	v.typeKeys("second\r")
	v.shows("now second")
	b.must(t, []string{"refresh-client", "-t", b.must(t, []string{"list-clients", "-t", "=cr-a", "-F", "#{client_tty}"})[0]})
	v.wait("the new title", func() bool { return strings.Contains(string(v.raw), "\x1b]0;second\a") })
	v.mu.Lock()
	defer v.mu.Unlock()
	all := restore.ScreenText + string(v.raw)
	for _, bad := range []string{b.tmux.Nonce(), "\x1b[>c", "\x1b[c", "\x1b[>q"} {
		if strings.Contains(all, bad) {
			t.Errorf("%q in the stream", bad)
		}
	}
	if n := strings.Count(all, "\x1b]0;"); n != 2 {
		t.Errorf("%d titles for two changes", n)
	}
}

func TestEndOfTheCallersContextIsGoingAway(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.start(t, "a", 80, 24, `exec cat`)
	v := b.view(t, "a", "mode", "pane")
	v.live(1)
	b.only(t).cancel() // as the caller's would
	if code := v.closed(); code != sessions.CloseGoingAway {
		t.Errorf("closed with %d", code)
	}
}
