package rawattach

import (
	"fmt"
	"strings"
	"time"

	"corral/sessions"
)

// settleTime is how long a first connection may take before a note says that it does.
const settleTime = 500 * time.Millisecond

// noticeTime is how long a notice covers the last line of a session that is live.
const noticeTime = 3 * time.Second

// annotate keeps a note on the terminal's last line while the link is not live, until over is closed.
func (v *view) annotate(over <-chan struct{}) {
	again := time.NewTimer(settleTime)
	defer again.Stop()
	for {
		select {
		case <-over:
			return
		case <-v.relink:
			if first := v.currentLink(); first.State == sessions.LinkConnecting && first.Attempt == 0 {
				continue // the timer runs
			}
		case <-again.C:
		}
		if wait := v.note(); wait > 0 {
			again.Reset(wait)
		}
	}
}

func (v *view) currentLink() sessions.Link {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.link
}

// note draws what there is to say about the link and returns when that changes by itself; 0 is never.
func (v *view) note() time.Duration {
	v.writing.Lock()
	defer v.writing.Unlock()
	v.mu.Lock()
	link, term, finished, notice, noticed := v.link, v.terminal, v.finished, v.notice, v.noticed
	v.notice, v.noticed = "", link.State == sessions.LinkLive && notice != ""
	v.mu.Unlock()
	switch {
	case finished:
		return 0
	case link.State == sessions.LinkLive && notice != "":
		// The stream is never cut inside a sequence while it is live, and what tmux believes of the margins stays true.
		v.write(fmt.Appendf(nil, "\x1b7\x1b[%d;1H\x1b[0;7m %s \x1b[m\x1b8", term.rows, sessions.CleanLine(notice, max(term.cols-2, 1))))
		return noticeTime
	case link.State == sessions.LinkLive && noticed:
		signal(v.resync) // paints what the notice covers
		return 0
	}
	text, wait := describe(link, time.Now())
	if text == "" {
		return 0
	}
	text = sessions.CleanLine(text+fmt.Sprintf("; %s detaches", v.prefix), max(term.cols-2, 1))
	v.scrollAway()
	// The stream may have been cut in the middle of a sequence, which ST ends. The last line belongs to the note until the
	// next restore paints everything anew.
	v.write(fmt.Appendf(nil, "\x1b\\\x1b7\x1b[r\x1b[%d;1H\x1b[0;7m %s \x1b[m\x1b[K\x1b8", term.rows, text))
	return wait
}

// describe says in words how a link is that is not live, and when to say it anew.
func describe(l sessions.Link, now time.Time) (text string, wait time.Duration) {
	var b strings.Builder
	switch l.State {
	case sessions.LinkConnecting:
		b.WriteString("connecting")
	case sessions.LinkReconnecting:
		left := l.RetryAt.Sub(now)
		if left <= 0 {
			b.WriteString("reconnecting")
			break
		}
		seconds := (left + time.Second - 1) / time.Second
		fmt.Fprintf(&b, "connection lost; reconnecting in %d s", seconds)
		wait = left - (seconds-1)*time.Second
	case sessions.LinkLive, sessions.LinkEnded:
		return "", 0
	}
	if l.Dropped > 0 {
		b.WriteString("; " + droppedKeys(l.Dropped))
	}
	return b.String(), wait
}

func droppedKeys(n int) string {
	if n == 1 {
		return "1 key was dropped"
	}
	return fmt.Sprintf("%d keys were dropped", n)
}
