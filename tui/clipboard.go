package tui

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
)

// Clipboard says what becomes of what a program puts into the clipboard (OSC 52).
type Clipboard string

// The settings.
const (
	ClipboardOff    Clipboard = "off"    // nothing
	ClipboardNotify Clipboard = "notify" // it gets there, and the user is told
	ClipboardOn     Clipboard = "on"     // it gets there
)

// clipMost bounds what a program may put into the clipboard.
const clipMost = 100 << 10

// copyDeadline bounds the program that fills a local clipboard.
const copyDeadline = 5 * time.Second

// copy puts text into the user's clipboards: that of the terminal, wherever it is, and the one of this machine.
func (a *App) copy(text []byte) tea.Cmd {
	a.display.Copy(text)
	if a.clip == nil {
		return nil
	}
	return a.work.do(copyDeadline, func(ctx context.Context) tea.Msg {
		if err := a.clip(ctx, text); err != nil {
			return doneMsg{op: opCopy, err: err}
		}
		return nil
	})
}

// told takes a frame that is not about the screen.
func (a *App) told(m toldMsg) tea.Cmd {
	switch m.frame.Type {
	case sessions.FrameClipboard:
		return a.programCopied(m)
	case sessions.FrameError:
		if e := m.frame.Error; e != nil && a.shown != nil && a.shown.ID() == m.id {
			return a.say(sessions.CleanLine(e.Error(), 300), true)
		}
	default:
	}
	return nil
}

// programCopied passes on what a program put into the clipboard, if the user allows it and is typing into that program:
// nobody else's program may change what the next paste brings.
func (a *App) programCopied(m toldMsg) tea.Cmd {
	if a.grants == ClipboardOff || !a.focused || a.shown.ID() != m.id || len(m.frame.Data) > base64.StdEncoding.EncodedLen(clipMost) {
		return nil
	}
	text, err := base64.StdEncoding.DecodeString(m.frame.Data)
	if err != nil || len(text) == 0 {
		return nil
	}
	cmd := a.copy(text)
	if a.grants == ClipboardOn {
		return cmd
	}
	title := sessions.CleanTitle(a.sessions[m.id].Title)
	return tea.Batch(cmd, a.say(fmt.Sprintf("%s put %d characters into your clipboard", title, utf8.RuneCount(text)), false))
}
