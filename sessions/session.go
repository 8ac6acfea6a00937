package sessions

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ID identifies a session for its whole life, across restarts. It is a lower-case UUID (RFC 9562).
type ID string

// Short returns the first eight characters of the id, enough for people.
func (id ID) Short() string {
	if len(id) > 8 {
		return string(id[:8])
	}
	return string(id)
}

// Kind says what program a session runs.
type Kind string

// The kinds of session.
const (
	KindShell   Kind = "shell"   // the user's login shell
	KindClaude  Kind = "claude"  // Claude Code, with a conversation that can be resumed
	KindCommand Kind = "command" // Session.Args
)

// Session is one terminal session: a program in a terminal that Corral keeps alive and, when lost, brings back.
type Session struct {
	ID             ID        `json:"id"`
	Title          string    `json:"title"`
	Project        string    `json:"project"`
	CWD            string    `json:"cwd"`
	Kind           Kind      `json:"kind"`
	Args           []string  `json:"args"`
	ConversationID string    `json:"conversationId"`
	State          State     `json:"state"`
	StateReason    string    `json:"stateReason"`
	StateSince     time.Time `json:"stateSince"`    // when it came into its state; a rename does not move it
	StateEvidence  string    `json:"stateEvidence"` // what was seen that led there, "" when somebody asked for it
	ExitCode       *int      `json:"exitCode"`      // of the last ended run; 128+n after death by signal n
	Signal         *int      `json:"signal"`        // the number of the signal that ended the last run
	Attached       int       `json:"attached"`      // viewers that hold or held the keyboard
	Watching       int       `json:"watching"`      // viewers that only look
	Agent          *Agent    `json:"agent,omitempty"`
	Node           string    `json:"node"`
	CreatedAt      time.Time `json:"createdAt"`
	UpdatedAt      time.Time `json:"updatedAt"`
	LastActivityAt time.Time `json:"lastActivityAt"`
}

// Actor names who caused an event.
type Actor string

// The actors of events.
const (
	ActorUser       Actor = "user"
	ActorReconciler Actor = "reconciler"
	ActorServer     Actor = "server"
)

// Event is one row of a session's history: a change of state, written in the same transaction as the change.
// From is empty for the row that records a creation. When From and To are the same, something else than the state
// changed: the conversation of its agent, which Evidence names.
type Event struct {
	ID        int64     `json:"id"`
	SessionID ID        `json:"sessionId,omitempty"`
	TaskID    string    `json:"taskId,omitempty"`
	At        time.Time `json:"at"`
	Actor     Actor     `json:"actor"`
	From      State     `json:"from"`
	To        State     `json:"to"`
	Reason    string    `json:"reason"`
	Evidence  string    `json:"evidence"`
	ExitCode  *int      `json:"exitCode"`
	Signal    *int      `json:"signal"`
}

// Limits of what a user may give, in bytes of UTF-8 unless said otherwise.
const (
	MaxTitle    = 200
	MaxProject  = 100
	MaxPath     = 4095 // PATH_MAX without its terminator
	MaxArgs     = 256  // number of arguments
	MaxArgBytes = 128 << 10
)

// CleanTitle makes a title safe to show anywhere: control characters, line breaks and the invisible characters that
// reorder or hide text become spaces, runs of spaces become one, and the result is cut to MaxTitle bytes.
func CleanTitle(s string) string { return clean(s, MaxTitle) }

// CleanLine is CleanTitle with another limit in bytes; it is for whatever a program or a peer printed that is shown
// in one line (paths, prompts, names, reasons).
func CleanLine(s string, limit int) string { return clean(s, limit) }

func clean(s string, limit int) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r) || hidesText(r) {
			space = b.Len() > 0
			continue
		}
		need := utf8.RuneLen(r)
		if space {
			need++
		}
		if b.Len()+need > limit {
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hidesText reports characters that show nothing themselves but change how their neighbours are shown: bidirectional
// controls, which can make a title read as another one, and other format characters save the joiners that emoji and
// many scripts need.
func hidesText(r rune) bool {
	if r == '\u200c' || r == '\u200d' {
		return false
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}
