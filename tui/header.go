package tui

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/tui/status"
	"corral/tui/style"
	"corral/tui/termpane"
)

// titleMin is what is left to a title whatever the header has to say about the stream.
const titleMin = 10

// drawHeader draws the line over the pane: what it shows, in what state, where, and what the stream is doing.
func (a *App) drawHeader(c *canvas.Canvas) {
	r := a.layout.header
	if t, ok := a.list.SelectedTask(); ok {
		a.drawTaskHeader(c, t)
		return
	}
	s, ok := a.list.Selected()
	if !ok {
		return
	}
	badge := status.BadgeOf(s)
	state := " " + badge.Mark + " " + badge.Word + " "
	right := a.headerMark()
	a.mark = right
	if a.past = (time.Time{}); a.shown != nil {
		a.past = a.shown.Status().At
	}
	if s.State.Ended() {
		right = status.AsOf(a.past, a.now()) + right
	}
	room := r.W - ansi.StringWidth(right)
	title := sessions.CleanTitle(s.Title)
	if title == "" {
		title = s.ID.Short()
	}
	title = ansi.Truncate(" "+title+" ", max(room-ansi.StringWidth(state), 4), "…")
	left := a.theme.Tone(style.Strong).Render(title) + a.theme.Tone(badge.Tone).Render(state)
	if free := room - ansi.StringWidth(left); free > 4 {
		tone, cwd := style.Muted, sessions.CleanLine(s.CWD, sessions.MaxPath)
		if s.State == sessions.WaitingForInput && s.Agent != nil {
			tone, cwd = style.Waiting, ansi.Truncate(waitsFor(s), free-1, "…")
		}
		// The end of a path says more than its beginning.
		if over := ansi.StringWidth(cwd) - (free - 1); over > 0 {
			cwd = ansi.TruncateLeft(cwd, over+1, "…")
		}
		left += a.theme.Tone(tone).Render(cwd)
	}
	gap := max(room-ansi.StringWidth(left), 0)
	tone := style.Muted
	if a.cropMark() != "" || a.stream().Word(a.now()) != "live" {
		tone = style.Waiting
	}
	c.DrawLine(r.X, r.Y, r.W, left+strings.Repeat(" ", gap)+a.theme.Tone(tone).Render(right))
}

// headerMark says which part of the window is shown, who else is there, and what the stream is doing: as much of it as
// leaves room for a title.
func (a *App) headerMark() string {
	s, ok := a.list.Selected()
	if !ok || a.shown == nil {
		return ""
	}
	crop, st := a.cropMark(), a.stream()
	word := st.Word(a.now())
	if v := a.view(); v != nil && !v.CoversAll() {
		word = "history, " + word
	}
	_, whole, _ := strings.Cut(crop, " ")
	room := a.layout.header.W - titleMin - ansi.StringWidth(status.BadgeOf(s).Word) - 4
	for _, parts := range [][]string{
		{crop, st.Others(), word}, {crop, st.Few(), word}, {whole, st.Few(), word}, {whole, word},
	} {
		if mark := joined(parts); ansi.StringWidth(mark) <= room {
			return mark
		}
	}
	if crop != "" && word == "live" { // a part is shown: that matters more
		return joined([]string{whole})
	}
	return joined([]string{word})
}

func joined(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		if p != "" {
			b.WriteString("  " + p)
		}
	}
	return b.String() + " "
}

// stream is what is known of the stream behind the shown pane.
func (a *App) stream() status.Stream {
	st := a.shown.Status()
	s := a.sessions[a.shown.ID()]
	out := status.Stream{
		Link: st.Link, Dropped: st.Dropped, Replaying: st.Phase == termpane.Replaying, Behind: st.Phase == termpane.Behind,
		Attached: st.Attached, Watching: st.Watching, Held: st.Held, Owner: st.Owner,
	}
	switch {
	case st.Ended:
		out.Ended, out.ExitCode = true, st.ExitCode
	case s.State.Ended():
		out.Ended, out.ExitCode = true, s.ExitCode
	}
	return out
}

// cropMark says which part of a larger window the pane shows.
func (a *App) cropMark() string {
	if a.shown == nil {
		return ""
	}
	return a.shown.Crop(a.layout.pane.W, a.layout.pane.H)
}
