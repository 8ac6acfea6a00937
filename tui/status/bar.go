// Package status is what the dashboard says in passing: the badge of a session's state, and the one line at the bottom
// with the banner of a link in trouble, the toast of what just happened, and the keys that make sense now. Everything
// here is a value or a pure function of its fields; clocks belong to the caller.
package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/style"
)

// Hint is a key and what it does now.
type Hint struct{ Key, Does string }

// Toast is a short notice about something that just happened.
type Toast struct {
	Text    string
	Failure bool
}

// Bar is the status line. The zero value shows nothing.
type Bar struct {
	Banner string // trouble that lasts; stays until it is over
	Toast  Toast
	Note   string // what can still be done about what happened; a toast hides it
	Hints  []Hint
}

// Quiet reports whether the bar has nothing to say but hints.
func (b Bar) Quiet() bool { return b.Banner == "" && b.Toast.Text == "" && b.Note == "" }

// View returns the line, exactly w cells wide. A banner comes first, then a toast or note, and hints fill what is left:
// as many as fit whole.
func (b Bar) View(t *style.Theme, w int) string {
	if w <= 0 {
		return ""
	}
	var out strings.Builder
	left := w
	put := func(styled string) {
		out.WriteString(styled)
		left -= ansi.StringWidth(styled)
	}
	if b.Banner != "" {
		put(t.Banner.Render(fit(" "+b.Banner+" ", left)))
	}
	if b.Toast.Text != "" && left > 4 {
		s := t.Toast
		if b.Toast.Failure {
			s = t.Failure
		}
		put(s.Render(fit(" "+b.Toast.Text, left)))
	} else if b.Note != "" && left > 4 {
		put(t.Toast.Render(fit(" "+b.Note, left)))
	}
	for _, h := range b.Hints {
		need := 2 + ansi.StringWidth(h.Key) + 1 + ansi.StringWidth(h.Does)
		if need > left {
			break
		}
		put("  " + t.Tone(style.Accent).Render(h.Key) + " " + t.Tone(style.Muted).Render(h.Does))
	}
	if left > 0 {
		out.WriteString(strings.Repeat(" ", left))
	}
	return out.String()
}

func fit(s string, w int) string { return ansi.Truncate(s, w, "…") }

// WatchBanner says in words what is wrong with the link to the server, "" when nothing is.
func WatchBanner(l sessions.Link, now time.Time) string {
	switch l.State {
	case sessions.LinkLive:
		return ""
	case sessions.LinkConnecting:
		return "connecting to the server..."
	case sessions.LinkReconnecting:
		return "the server is away; " + nextTry(l, now)
	case sessions.LinkEnded:
		if l.Err != nil {
			return "the server is gone: " + sessions.CleanLine(l.Err.Error(), 200)
		}
		return "the server is gone"
	}
	return ""
}

// StreamLine says in words what is wrong with the link to a session, "" when nothing is.
func StreamLine(l sessions.Link, dropped int, now time.Time) string {
	line := ""
	switch l.State {
	case sessions.LinkEnded:
		return ""
	case sessions.LinkLive:
		if dropped > 0 {
			return count(dropped, "key") + " dropped"
		}
		return ""
	case sessions.LinkConnecting:
		line = "connecting..."
	case sessions.LinkReconnecting:
		line = "cut off; " + nextTry(l, now)
	}
	if dropped > 0 {
		line += fmt.Sprintf(" (%s dropped)", count(dropped, "key"))
	}
	return line
}

// nextTry is the countdown to the next attempt of a reconnecting link.
func nextTry(l sessions.Link, now time.Time) string {
	left := l.RetryAt.Sub(now)
	if l.RetryAt.IsZero() || left <= 0 {
		return "reconnecting..."
	}
	return fmt.Sprintf("reconnecting in %d s", int((left+time.Second-1)/time.Second))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// EndLine says how a session ended and what can be done, for a session that has ended.
func EndLine(s sessions.Session) string {
	switch s.State {
	case sessions.Recoverable:
		return "lost: " + orElse(s.StateReason, "its process is gone") + " - R restarts, x closes"
	case sessions.Failed, sessions.Stopped:
		return endOf(s) + " - R restarts, X removes"
	case sessions.Starting, sessions.Running, sessions.Detached, sessions.WaitingForInput, sessions.Stopping:
		return ""
	}
	return ""
}

// AsOf says when a picture of the past was true, "" when that is not known.
func AsOf(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	at = at.In(now.Location())
	layout := time.TimeOnly
	if at.YearDay() != now.YearDay() || at.Year() != now.Year() {
		layout = time.DateTime
	}
	return " as of " + at.Format(layout) + " "
}

func endOf(s sessions.Session) string {
	switch {
	case s.Signal != nil:
		return fmt.Sprintf("ended by signal %d", *s.Signal)
	case s.ExitCode != nil:
		return fmt.Sprintf("exited %d", *s.ExitCode)
	case s.State == sessions.Failed:
		return "failed: " + orElse(s.StateReason, "no reason is known")
	}
	return orElse(s.StateReason, "stopped")
}

func orElse(text, fallback string) string {
	if text = sessions.CleanLine(text, 120); text != "" {
		return text
	}
	return fallback
}
