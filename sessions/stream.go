package sessions

import (
	"encoding/json"
	"time"
)

// The viewer's stream: GET /v1/sessions/{id}/stream, a WebSocket. Binary messages are terminal bytes (at most
// MaxDown bytes to the viewer, MaxUp from it); text messages are one JSON Frame each. Unknown types and fields are
// ignored, absent fields read as empty. The order is fixed: attached, replay and its history as binary, restore, live,
// then live bytes mixed with control frames, at the end ended and a close code. Of an ended session of which only the
// record is left: attached, restore with the last screen (not in raw mode), ended.

// Limits of the stream, in bytes.
const (
	MaxDown  = 64 << 10
	MaxUp    = 1 << 20
	MaxPaste = 16 << 20
)

// Mode says what a viewer wants from a stream.
type Mode string

// The modes of a stream.
const (
	ModePreview Mode = "preview" // looks only: watching, never owns the size
	ModePane    Mode = "pane"    // an embedded pane that may take the keyboard
	ModeRaw     Mode = "raw"     // a whole terminal: restore carries the redraw's bytes as binary, not as screenText
)

// FrameType names a control frame.
type FrameType string

// Frames from server to viewer.
const (
	FrameAttached  FrameType = "attached"
	FrameReplay    FrameType = "replay"
	FrameRestore   FrameType = "restore"
	FrameLive      FrameType = "live"
	FrameState     FrameType = "state"
	FrameSize      FrameType = "size"
	FrameViewers   FrameType = "viewers"
	FrameBehind    FrameType = "behind"
	FrameClipboard FrameType = "clipboard"
	FrameError     FrameType = "error"
	FrameEnded     FrameType = "ended"
	FramePong      FrameType = "pong"
)

// Frames from viewer to server. FrameOwn takes the keyboard: the viewer counts as attached from then on and, if nobody
// else holds it, owns the size. FrameRelease gives the keyboard back (the viewer goes on counting as attached).
// FrameGiveUp is the last that comes from a viewer that got no answer: what it sent and nobody has read is void.
const (
	FrameResize  FrameType = "resize"
	FramePaste   FrameType = "paste" // announces one binary message of Bytes bytes, or several up to MaxPaste
	FrameOwn     FrameType = "own"
	FrameRelease FrameType = "release"
	FramePing    FrameType = "ping"
	FrameResync  FrameType = "resync"
	FrameGiveUp  FrameType = "giveUp"
)

// Frame is one control message of the stream, in either direction. Which fields count depends on Type; see the
// comments. It is one struct so that unknown frames can be read, skipped and logged alike.
type Frame struct {
	Type FrameType `json:"type"`

	SessionID ID `json:"sessionId,omitempty"` // attached, restore

	Cols int `json:"cols,omitempty"` // attached, size, resize
	Rows int `json:"rows,omitempty"` // attached, size, resize

	// Owner is true when this very viewer owns the size (attached, size).
	Owner bool `json:"owner,omitempty"`

	// Widths says how wide the node's tmux shows characters, as a table that vt.LoadWidths reads (attached); absent where it
	// does as vt.DefaultWidths says.
	Widths string `json:"widths,omitempty"`

	State    State  `json:"state,omitempty"`    // attached, state, ended
	Reason   string `json:"reason,omitempty"`   // state, ended, behind
	ExitCode *int   `json:"exitCode,omitempty"` // state, ended

	Lines     int  `json:"lines,omitempty"`     // replay: number of history lines that follow; resync: wanted
	Total     int  `json:"total,omitempty"`     // replay: rows of history in all
	Bytes     int  `json:"bytes,omitempty"`     // replay: bytes that follow; paste: bytes that follow
	Truncated bool `json:"truncated,omitempty"` // replay: older lines exist than were sent

	Sequence     int64        `json:"sequence,omitempty"`     // restore: last journal sequence whose output is in it
	ScreenText   string       `json:"screenText,omitempty"`   // restore (not raw): the visible screen as ANSI text
	PendingInput string       `json:"pendingInput,omitempty"` // restore: accepted, not yet echoed or consumed
	CursorRow    *int         `json:"cursorRow,omitempty"`    // restore: 0-based, absent when unknown
	CursorColumn *int         `json:"cursorColumn,omitempty"` // restore: 0-based, absent when unknown
	Modes        *ScreenModes `json:"modes,omitempty"`        // restore
	At           *time.Time   `json:"at,omitempty"`           // restore, ended: when the ended session last looked so

	Attached int `json:"attached,omitempty"` // viewers
	Watching int `json:"watching,omitempty"` // viewers

	Data string `json:"data,omitempty"` // clipboard: base64

	Error *Error `json:"error,omitempty"` // error

	Nonce string `json:"nonce,omitempty"` // ping, pong
}

// ScreenModes are the terminal modes a program switched on that matter to a viewer's input.
type ScreenModes struct {
	AlternateScreen bool `json:"alternateScreen,omitempty"`
	ApplicationKeys bool `json:"applicationKeys,omitempty"` // DECCKM
	BracketedPaste  bool `json:"bracketedPaste,omitempty"`  // DEC 2004
	MouseTracking   int  `json:"mouseTracking,omitempty"`   // 0, 1000, 1002 or 1003
	MouseSGR        bool `json:"mouseSGR,omitempty"`        // DEC 1006
	FocusEvents     bool `json:"focusEvents,omitempty"`     // DEC 1004
	CursorHidden    bool `json:"cursorHidden,omitempty"`
}

// ParseFrame reads one control frame.
func ParseFrame(b []byte) (Frame, error) {
	var f Frame
	if err := json.Unmarshal(b, &f); err != nil {
		return Frame{}, &Error{Code: CodeInvalid, Message: "the stream carried a control frame that is no JSON", Cause: err}
	}
	return f, nil
}

// GivesUp reports whether a control frame is a FrameGiveUp.
func GivesUp(b []byte) bool {
	f, err := ParseFrame(b)
	return err == nil && f.Type == FrameGiveUp
}

// CloseCode is the WebSocket close code of a stream.
type CloseCode int

// The close codes and what a client does on each.
const (
	CloseEnded              CloseCode = 1000 // the session ended (after an ended frame): show it, offer a restart
	CloseGoingAway          CloseCode = 1001 // server or runtime stops: reconnect
	CloseAuthExpired        CloseCode = 4401 // log in, then open the same session again
	CloseNotFound           CloseCode = 4404 // no such session: say so
	CloseNotDraining        CloseCode = 4429 // this viewer did not drain for 30 s: reconnect
	CloseRuntimeUnreachable CloseCode = 4503 // reconnect
)

// Reconnects reports whether a client should reconnect by itself after c. Unknown codes and 1006, 1011 are cuts: yes.
func (c CloseCode) Reconnects() bool {
	switch c {
	case CloseEnded, CloseAuthExpired, CloseNotFound:
		return false
	case CloseGoingAway, CloseNotDraining, CloseRuntimeUnreachable:
		return true
	}
	return true
}
