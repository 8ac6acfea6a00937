package httpapi

import (
	"context"
	"net/url"
	"strings"

	"corral/sessions"
)

// last begins the stream of a session that has ended and has no terminal any more: with the screen that it showed last,
// as far as that is recorded.
func (s *stream) last() error {
	attached := s.attached(sessions.Frame{Type: sessions.FrameAttached})
	// Whoever attaches raw is told that the session has ended: a terminal of its own is not for pictures of the past.
	if q, err := url.ParseQuery(s.query); err != nil || q.Get("mode") == string(sessions.ModeRaw) {
		return s.send(attached)
	}
	ctx, cancel := context.WithTimeout(s.io, requestTimeout)
	defer cancel()
	screen, err := s.screen(ctx, s.id)
	if err != nil {
		s.log.Debug("no last screen", "error", err)
		return s.send(attached)
	}
	attached.Cols, attached.Rows = screen.Cols, screen.Rows
	if err := s.send(attached); err != nil {
		return err
	}
	return s.send(sessions.Frame{
		Type: sessions.FrameRestore, SessionID: s.id, ScreenText: strings.ReplaceAll(screen.ANSI, "\n", "\r\n"),
		CursorRow: screen.CursorRow, CursorColumn: screen.CursorColumn, Modes: &sessions.ScreenModes{CursorHidden: true},
		At: &screen.At,
	})
}
