package sessions

import "time"

// APIVersion goes into the header Corral-Version of every request and answer. The number before the dot must agree.
const (
	APIVersion    = "1.0"
	VersionHeader = "Corral-Version"
)

// CreateRequest is the body of POST /v1/sessions.
type CreateRequest struct {
	Title          string   `json:"title"`
	CWD            string   `json:"cwd"` // absolute
	Kind           Kind     `json:"kind"`
	Project        string   `json:"project,omitempty"`
	Args           []string `json:"args,omitempty"`
	ConversationID string   `json:"conversationId,omitempty"`
	Env            []string `json:"env,omitempty"` // K=V; kept in a 0600 file, never stored in the database
	// NoInputJournal leaves what is typed out of the session's journal, also after restarts.
	NoInputJournal bool `json:"noInputJournal,omitempty"`
	Cols           int  `json:"cols,omitempty"`
	Rows           int  `json:"rows,omitempty"`
}

// UpdateRequest is the body of PATCH /v1/sessions/{id}; nil leaves a field alone.
type UpdateRequest struct {
	Title   *string `json:"title,omitempty"`
	Project *string `json:"project,omitempty"`
}

// ReconnectRequest is the body of POST /v1/sessions/{id}/reconnect. With Restart false the answer is 409 unless the
// session is live; with Restart true the session is restarted, only from STOPPED, FAILED or RECOVERABLE, else 409.
type ReconnectRequest struct {
	Restart bool `json:"restart"`
	// Conversation says which conversation a restarted agent goes on with; empty: its own.
	Conversation ConversationChoice `json:"conversation,omitempty"`
}

// InputRequest is the body of POST /v1/sessions/{id}/input. Text goes first, as a paste if asked for, then Keys (tmux
// names, as C-c), then Enter.
type InputRequest struct {
	Text  string   `json:"text,omitempty"`
	Paste bool     `json:"paste,omitempty"`
	Keys  []string `json:"keys,omitempty"`
	Enter bool     `json:"enter,omitempty"`
}

// ShutdownRequest is the body of POST /v1/shutdown: what the server stops together with itself.
type ShutdownRequest struct {
	Database bool `json:"database"` // the private PostgreSQL cluster; never an external one
	Runtime  bool `json:"runtime"`  // the runtime; tmux, the recorder and all sessions live on
}

// Screen is the answer of GET /v1/sessions/{id}/screen: what the session shows now, or showed last.
type Screen struct {
	SessionID    ID        `json:"sessionId"`
	Cols         int       `json:"cols"`
	Rows         int       `json:"rows"`
	Text         string    `json:"text"` // rows joined by LF, without colours
	ANSI         string    `json:"ansi"` // the same with SGR
	CursorRow    *int      `json:"cursorRow"`
	CursorColumn *int      `json:"cursorColumn"`
	Alternate    bool      `json:"alternate"`
	Title        string    `json:"title"`       // as the program set it, cleaned
	At           time.Time `json:"at,omitzero"` // when it last looked so; absent while the program lives
}

// History is the answer of GET /v1/sessions/{id}/history?lines=N&before=M: N lines of scrollback that end M lines
// above the newest, oldest first, each with SGR.
type History struct {
	SessionID ID       `json:"sessionId"`
	Lines     []string `json:"lines"`
	Total     int      `json:"total"` // lines of history in all
}

// ErrorBody is what every failed request answers.
type ErrorBody struct {
	Error *Error `json:"error"`
}

// RoleState is the state of a role in Status.
type RoleState string

// The states of a role. A node is OFFLINE while its runtime is away.
const (
	Up      RoleState = "UP"
	Down    RoleState = "DOWN"
	Offline RoleState = "OFFLINE"
)

// Status is the answer of GET /v1/status and the JSON of `corral status --json`.
type Status struct {
	Server   RoleStatus        `json:"server"`
	Runtime  RoleStatus        `json:"runtime"`
	Recorder RoleStatus        `json:"recorder"`
	Journal  JournalStatus     `json:"journal"`
	Tmux     TmuxStatus        `json:"tmux"`
	Database DatabaseStatus    `json:"database"`
	Nodes    []NodeStatus      `json:"nodes"`
	Sessions map[State]int     `json:"sessions"`
	Tasks    map[TaskState]int `json:"tasks"`
}

// JournalStatus is what the record of all sessions takes.
type JournalStatus struct {
	Bytes   int64     `json:"bytes"`
	Oldest  time.Time `json:"oldest,omitzero"`
	Warning string    `json:"warning,omitempty"` // why nothing is recorded at the moment
}

// RoleStatus is one role's line in Status.
type RoleStatus struct {
	State   RoleState `json:"state"`
	PID     int       `json:"pid,omitempty"`
	Socket  string    `json:"socket,omitempty"`
	Version string    `json:"version,omitempty"`
}

// TmuxStatus describes the private tmux server.
type TmuxStatus struct {
	State          RoleState `json:"state"`
	PID            int       `json:"pid,omitempty"`
	Socket         string    `json:"socket,omitempty"`
	Version        string    `json:"version,omitempty"`
	Placement      string    `json:"placement,omitempty"`      // unit, scope, session
	SurvivesLogout string    `json:"survivesLogout,omitempty"` // true, false, unknown
}

// DatabaseStatus describes the metadata store.
type DatabaseStatus struct {
	State   RoleState `json:"state"`
	Kind    string    `json:"kind"` // private, external
	Version string    `json:"version,omitempty"`
	Message string    `json:"message,omitempty"` // why it is DOWN; "" while it starts, which takes seconds the first time
}

// NodeStatus is one machine that runs sessions.
type NodeStatus struct {
	Name    string    `json:"name"`
	State   RoleState `json:"state"`
	Message string    `json:"message,omitempty"` // why it is OFFLINE, where that is known and waiting does not help
	Warning string    `json:"warning,omitempty"` // what is wrong although it is UP: sessions are not recorded
}

// ChangeType names a line of GET /v1/watch.
type ChangeType string

// The lines of a watch: first one snapshot, then changes. A watcher that lags is dropped and lists again.
const (
	ChangeSnapshot ChangeType = "snapshot"
	ChangeSession  ChangeType = "session"
	ChangeRemoved  ChangeType = "removed"
	ChangeNode     ChangeType = "node"
	ChangeDatabase ChangeType = "database"
	ChangeTask     ChangeType = "task"
	ChangeTaskGone ChangeType = "taskRemoved"
	ChangeTasks    ChangeType = "tasks" // all tasks anew: the runtime came back
	ChangeAlive    ChangeType = "alive" // nothing happened; sent every 15 s so that a dead link is noticed
)

// Change is one line of GET /v1/watch (newline-delimited JSON): the whole truth at first, then what changed, without a
// gap between the two.
type Change struct {
	Type     ChangeType      `json:"type"`
	Sessions []Session       `json:"sessions,omitempty"` // snapshot
	Partial  bool            `json:"partial,omitempty"`  // snapshot: the rows are not read yet, other sessions may exist; a whole one follows
	Session  *Session        `json:"session,omitempty"`  // session
	ID       ID              `json:"id,omitempty"`       // removed, taskRemoved
	Tasks    []Task          `json:"tasks,omitempty"`    // snapshot, tasks
	Task     *Task           `json:"task,omitempty"`     // task
	Nodes    []NodeStatus    `json:"nodes,omitempty"`    // snapshot, node
	Database *DatabaseStatus `json:"database,omitempty"` // snapshot, database
}

// Restored is the answer of POST /v1/restore: what the backup held.
type Restored struct {
	MadeAt   time.Time `json:"madeAt"`
	Sessions int       `json:"sessions"`
	Events   int       `json:"events"`
}

// WaitRequest describes `corral wait`: any of States ends the wait.
type WaitRequest struct {
	States  []State
	Timeout time.Duration
}
