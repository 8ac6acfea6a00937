package status_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/status"
	"corral/tui/style"
)

func TestEveryStateHasItsBadge(t *testing.T) {
	t.Parallel()
	marks := map[string]sessions.State{}
	for _, state := range sessions.States() {
		b := status.BadgeOf(sessions.Session{State: state})
		if ansi.StringWidth(b.Mark) != 1 || b.Word == "" || b.Mark == "?" {
			t.Errorf("%s: badge %+v", state, b)
		}
		if other, taken := marks[b.Word]; taken {
			t.Errorf("%s and %s look alike", state, other)
		}
		marks[b.Word] = state
	}
	if b := status.BadgeOf(sessions.Session{State: "NEW\x1bSTATE"}); b.Mark != "?" || strings.Contains(b.Word, "\x1b") {
		t.Errorf("unknown state: %+v", b)
	}
}

func TestFailedTellsItsCode(t *testing.T) {
	t.Parallel()
	code := 137
	if b := status.BadgeOf(sessions.Session{State: sessions.Failed, ExitCode: &code}); b.Word != "FAILED 137" {
		t.Errorf("word %q", b.Word)
	}
}

func TestBarIsExactlyAsWide(t *testing.T) {
	t.Parallel()
	theme := style.New(true, style.Full)
	bars := []status.Bar{
		{},
		{Hints: []status.Hint{{"n", "new"}, {"q", "quit"}}},
		{Banner: "the server is away; reconnecting in 3 s", Hints: []status.Hint{{"n", "new"}}},
		{Banner: "日本語", Toast: status.Toast{Text: "restarted 日本語", Failure: true}, Hints: []status.Hint{{"n", "new"}}},
	}
	for _, b := range bars {
		for w := range 120 {
			if got := ansi.StringWidth(b.View(theme, w)); got != w {
				t.Errorf("%+v in %d cells takes %d", b, w, got)
			}
		}
	}
}

func TestHintsAreShownWhole(t *testing.T) {
	t.Parallel()
	theme := style.New(true, style.Full)
	b := status.Bar{Hints: []status.Hint{{"enter", "type into it"}, {"n", "new"}}}
	if got := strings.TrimSpace(ansi.Strip(b.View(theme, 24))); got != "enter type into it" {
		t.Errorf("got %q", got)
	}
}

func TestLinksInWords(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	retry := sessions.Link{State: sessions.LinkReconnecting, RetryAt: now.Add(2500 * time.Millisecond)}
	for _, tt := range []struct{ got, want string }{
		{status.WatchBanner(sessions.Link{State: sessions.LinkLive}, now), ""},
		{status.WatchBanner(retry, now), "the server is away; reconnecting in 3 s"},
		{status.WatchBanner(retry, now.Add(5*time.Second)), "the server is away; reconnecting..."},
		{status.WatchBanner(sessions.Link{State: sessions.LinkEnded, Err: errors.New("a\x1bb")}, now), "the server is gone: a b"},
		{status.StreamLine(sessions.Link{State: sessions.LinkLive}, 0, now), ""},
		{status.StreamLine(sessions.Link{State: sessions.LinkLive}, 3, now), "3 keys dropped"},
		{status.StreamLine(retry, 0, now), "cut off; reconnecting in 3 s"},
		{status.StreamLine(retry, 1, now), "cut off; reconnecting in 3 s (1 key dropped)"},
		{status.StreamLine(retry, 7, now), "cut off; reconnecting in 3 s (7 keys dropped)"},
		{status.StreamLine(sessions.Link{State: sessions.LinkConnecting}, 0, now), "connecting..."},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestEndsInWords(t *testing.T) {
	t.Parallel()
	zero, seven, nine := 0, 7, 9
	for _, tt := range []struct {
		s    sessions.Session
		want string
	}{
		{sessions.Session{State: sessions.Running}, ""},
		{sessions.Session{State: sessions.Stopped, ExitCode: &zero}, "exited 0 - R restarts, X removes"},
		{sessions.Session{State: sessions.Failed, ExitCode: &seven}, "exited 7 - R restarts, X removes"},
		{sessions.Session{State: sessions.Failed, ExitCode: &nine, Signal: &nine}, "ended by signal 9 - R restarts, X removes"},
		{sessions.Session{State: sessions.Failed, StateReason: "no\nsuch directory"}, "failed: no such directory - R restarts, X removes"},
		{sessions.Session{State: sessions.Stopped}, "stopped - R restarts, X removes"},
		{sessions.Session{State: sessions.Recoverable}, "lost: its process is gone - R restarts, x closes"},
	} {
		if got := status.EndLine(tt.s); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.s.State, got, tt.want)
		}
	}
}
