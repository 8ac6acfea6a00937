package sessions

import "time"

// StreamOptions is what a viewer asks for when it opens a stream.
type StreamOptions struct {
	Cols, Rows int  // size of the viewer's pane in cells
	Replay     int  // lines of history wanted before the first screen, not after a cut; 0 for previews and warm switching
	Mode       Mode // preview, pane or raw
	ReadOnly   bool
	Foreground string // the viewer's default colours as "#rrggbb", "" when unknown; programs that ask get them
	Background string
	Client     string // what to call this viewer to others, as "dashboard on ssh 10.0.0.7"
}

// LinkState is the state of a connection that mends itself: a stream, or the watch of the session list.
type LinkState string

// The states of a link.
const (
	LinkConnecting   LinkState = "connecting"
	LinkLive         LinkState = "live"
	LinkReconnecting LinkState = "reconnecting" // cut; the next try is at Link.RetryAt
	LinkEnded        LinkState = "ended"        // closed for good: Link.Code and Link.Err say why
)

// Link describes a link for people.
type Link struct {
	State   LinkState
	Attempt int       // 1 for the first reconnect
	RetryAt time.Time // reconnecting: when the next try starts
	Dropped int       // keys dropped since the link was last live; a paste counts as one
	Code    CloseCode // ended: the close code; 0 when the link ended without one
	Err     error     // reconnecting, ended: what went wrong, nil for a clean end
}

// StreamHandler receives what a stream brings. The stream calls it from one goroutine, in order; a slow handler slows
// its own stream only. Bytes are valid during the call.
type StreamHandler interface {
	StreamFrame(Frame)
	StreamBytes([]byte)
	StreamLink(Link)
}
