package store

import (
	"time"

	"corral/runtime/rtapi"
	"corral/sessions"
)

// Record is a session's row: the session as people see it plus what the server needs to move it safely. Viewer counts
// (Attached, Watching) are not stored; they read as 0.
type Record struct {
	sessions.Session
	// Version rises with every write of the row. Together with the state it is what compare-and-set compares.
	Version int64
	// Run counts the starts of the session; it is also in the terminal's rtapi.Meta.
	Run int
	// Owner is the incarnation of the server that is carrying out a start or restart; empty when nobody is.
	Owner string
	// Deadline ends STARTING (then FAILED) and the polite part of STOPPING (then KILL); zero otherwise.
	Deadline time.Time
	// Tmux is the tmux server the session last lived in; the zero value when it never lived.
	Tmux rtapi.Incarnation
	// EndedAt is when the last run ended; zero while live.
	EndedAt time.Time
	// ConversationUsed says that something was said in the conversation, so that its agent must have kept it.
	ConversationUsed bool
	// Cols and Rows are the size it was last started with.
	Cols, Rows int
}

// Move is one compare-and-set change of state, written together with its event row in one transaction. It applies only
// while the row is at From and Version. Nil fields leave the row's value alone.
type Move struct {
	ID       sessions.ID
	From     sessions.State
	Version  int64
	To       sessions.State
	At       time.Time // also becomes UpdatedAt
	Actor    sessions.Actor
	Reason   string // one phrase for people, becomes StateReason
	Evidence string // what was seen that led here
	// ExitCode and Signal are written as they are, also nil: the row describes the newest run only.
	ExitCode *int
	Signal   *int

	Conversation     *string
	ConversationUsed *bool

	Run      *int
	Owner    *string
	Deadline *time.Time
	Tmux     *rtapi.Incarnation
	EndedAt  *time.Time
	Size     *[2]int // cols, rows
}

// EventQuery selects events in rising order of id.
type EventQuery struct {
	Session sessions.ID // "" for all
	After   int64       // only events with a greater id
	Limit   int         // 0 means 1000
}
