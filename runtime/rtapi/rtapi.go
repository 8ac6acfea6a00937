// Package rtapi holds the nouns and wire types of the runtime, the role that owns a node's tmux server: terminals and
// their inventory, events, and the requests that change them. It imports nothing but the standard library.
//
// The runtime knows tmux sessions, called terminals here, and nothing of states or users: what a terminal's end means
// for a session is decided by whoever reads the inventory.
package rtapi

import "time"

// Version of the runtime's API; the number before the dot must agree between client and runtime.
const (
	Version       = "1.0"
	VersionHeader = "Corral-Runtime-Version"
)

// Incarnation identifies one life of the tmux server. Pid and start time name the process; the boot id tells a reused
// pid after a reboot.
type Incarnation struct {
	PID    int    `json:"pid"`
	Start  int64  `json:"start"` // kernel start time of the process, clock ticks since boot (field 22 of /proc/pid/stat)
	BootID string `json:"bootId"`
}

// ServerEnd records that a tmux server is proven gone.
type ServerEnd struct {
	Server Incarnation `json:"server"`
	// At is when it was seen to end, or, when the end was not seen (runtime down, reboot), the last time it was known
	// to be alive.
	At time.Time `json:"at"`
}

// Meta is what every tmux session carries in its @corral option, so that adoption restores all of it. Values are
// cleaned by the sender.
type Meta struct {
	ID           string   `json:"id"`
	Kind         string   `json:"kind"`
	Title        string   `json:"title"`
	Project      string   `json:"project,omitempty"`
	CWD          string   `json:"cwd"`
	Args         []string `json:"args,omitempty"`
	Conversation string   `json:"conversation,omitempty"`
	// Run counts the starts of the session: 1 at creation, one more at each restart. It tells the end of the present
	// run from the end of the one before.
	Run int `json:"run"`
	// Hooks says that the program tells the runtime what it does. The runtime sets it from LaunchRequest.Hooks.
	Hooks bool `json:"hooks,omitempty"`
}

// Terminal is one tmux session cr-<id> as tmux knows it now.
type Terminal struct {
	Meta
	PanePID   int       `json:"panePid"`
	Cols      int       `json:"cols"`
	Rows      int       `json:"rows"`
	CreatedAt time.Time `json:"createdAt"`
	// Dead is true when the program has ended; the pane and its history are kept. ExitCode or Signal is then set. A
	// terminal whose end tmux has not yet explained is reported as not dead.
	Dead     bool      `json:"dead"`
	ExitCode *int      `json:"exitCode,omitempty"` // as exited; absent after death by signal
	Signal   *int      `json:"signal,omitempty"`   // number of the signal that ended it
	DeadAt   time.Time `json:"deadAt,omitzero"`
	Attached int       `json:"attached"` // viewers that hold or held the keyboard
	Watching int       `json:"watching"` // viewers that only look
	// Agent is what is known of the agent that runs in it; nil without hooks, and while nothing is known.
	Agent *Agent `json:"agent,omitempty"`
}

// Inventory is everything the node's tmux server knows. Only a Complete one may be used to conclude that something is
// gone; "cannot reach tmux" is an error, never an empty inventory.
type Inventory struct {
	Complete  bool        `json:"complete"`
	At        time.Time   `json:"at"`
	Server    Incarnation `json:"server"`
	Terminals []Terminal  `json:"terminals"`
	// Ended lists former tmux servers of this data directory, newest first, at most 16.
	Ended []ServerEnd `json:"ended,omitempty"`
}

// EventType names a line of GET /v1/events.
type EventType string

// The events. A stream begins with one inventory event; later ones carry the whole inventory again whenever anything
// in it but viewer counts and agents changed. Events are hints: the inventory is the truth.
const (
	EventInventory EventType = "inventory"
	EventViewers   EventType = "viewers" // a terminal's viewer counts changed
	EventAgent     EventType = "agent"   // what is known of a terminal's agent changed
	EventTasks     EventType = "tasks"   // all tasks; the second event of a stream, once they are known
	EventTask      EventType = "task"    // a task is new or has changed
	EventTaskGone  EventType = "taskRemoved"
	EventRecording EventType = "recording" // what keeps the recorder from recording has changed
	EventAlive     EventType = "alive"     // nothing happened for 5 s
)

// Event is one line of GET /v1/events (newline-delimited JSON).
type Event struct {
	Type      EventType  `json:"type"`
	Inventory *Inventory `json:"inventory,omitempty"` // inventory
	Tasks     []Task     `json:"tasks,omitempty"`     // tasks
	Task      *Task      `json:"task,omitempty"`      // task
	ID        string     `json:"id,omitempty"`        // viewers, agent, taskRemoved
	Run       int        `json:"run,omitempty"`       // agent
	Agent     *Agent     `json:"agent,omitempty"`     // agent
	Attached  int        `json:"attached"`            // viewers
	Watching  int        `json:"watching"`            // viewers
	Warning   string     `json:"warning,omitempty"`   // recording: as Journal's
}

// LaunchRequest is the body of POST /v1/terminals (create) and POST /v1/terminals/{id}/respawn (a fresh process in the
// kept pane if there is one, else create). Creating a terminal that exists with the same Meta.Run is not an error: it
// answers what is there, so that a caller that lost the first answer may ask again.
type LaunchRequest struct {
	Meta Meta `json:"meta"`
	// Argv is the program. Empty means the user's login shell itself. See SettingsFile.
	Argv []string `json:"argv,omitempty"`
	// Hooks gives the program the session's token, so that it may tell the runtime what it is doing.
	Hooks bool `json:"hooks,omitempty"`
	// Env are K=V for the program only; they travel in a 0600 file, never in argv or tmux's environment.
	Env []string `json:"env,omitempty"`
	// KeepTmuxEnv leaves TMUX and TMUX_PANE in the program's environment (agents need them).
	KeepTmuxEnv bool `json:"keepTmuxEnv,omitempty"`
	// NoInputJournal leaves what is typed out of the journal, also after later starts.
	NoInputJournal bool `json:"noInputJournal,omitempty"`
	Cols           int  `json:"cols"` // 0 means 80
	Rows           int  `json:"rows"` // 0 means 24
}

// SignalRequest is the body of POST /v1/terminals/{id}/signal: the signal goes to the foreground process group of the
// pane's tty, and for HUP and KILL also to the pane's own process group: a shell that waits for its job must hear of a
// hang-up, and nothing of the terminal may stay after a kill. A program that has ended already is no error.
type SignalRequest struct {
	Signal string `json:"signal"` // HUP, TERM, KILL
	Run    int    `json:"run"`    // refused with conflict when the terminal is at another run
}

// InputRequest is the body of POST /v1/terminals/{id}/input: Text, then Keys (tmux key names), then Enter. With Paste the
// text comes as a paste, in brackets where the program asked for them, so that its line breaks are not taken for Enter.
type InputRequest struct {
	Text  string   `json:"text,omitempty"`
	Paste bool     `json:"paste,omitempty"`
	Keys  []string `json:"keys,omitempty"`
	Enter bool     `json:"enter,omitempty"`
}

// Screen is the answer of GET /v1/terminals/{id}/screen: from capture-pane, or, of a terminal that is gone, rebuilt from
// its journal.
type Screen struct {
	Cols         int       `json:"cols"`
	Rows         int       `json:"rows"`
	Text         string    `json:"text"`
	ANSI         string    `json:"ansi"`
	CursorRow    int       `json:"cursorRow"`
	CursorColumn int       `json:"cursorColumn"`
	Alternate    bool      `json:"alternate"`
	Modes        []string  `json:"modes,omitempty"` // as a snapshot in the journal names them
	Title        string    `json:"title"`
	At           time.Time `json:"at,omitzero"` // when it last looked so; zero while the program lives
}

// History is the answer of GET /v1/terminals/{id}/history?lines=N&before=M&ansi=true: the N rows that have left the
// screen before the M newest ones (N absent or 0: all of them), oldest first, soft-wrapped rows joined to lines. Total
// counts all rows.
type History struct {
	Lines []string `json:"lines"`
	Total int      `json:"total"`
}

// Status is the answer of GET /v1/status.
type Status struct {
	PID         int       `json:"pid"`
	Incarnation string    `json:"incarnation"` // random per life of the runtime
	StartedAt   time.Time `json:"startedAt"`
	Tmux        Tmux      `json:"tmux"`
	RecorderPID int       `json:"recorderPid"` // 0 while down
	Journal     Journal   `json:"journal"`
	Hooks       Hooks     `json:"hooks"`
}

// Journal is how much all sessions' records take.
type Journal struct {
	Bytes   int64     `json:"bytes"`
	Oldest  time.Time `json:"oldest,omitzero"`
	Warning string    `json:"warning,omitempty"` // why nothing is recorded at the moment
}

// Tmux describes the private tmux server.
type Tmux struct {
	Up             bool        `json:"up"`
	Server         Incarnation `json:"server"`
	Socket         string      `json:"socket"`
	Version        string      `json:"version"`
	Placement      string      `json:"placement"`      // unit, scope, session
	SurvivesLogout string      `json:"survivesLogout"` // true, false, unknown
}

// Error is the body of every failed request, with the codes of the sessions API.
type Error struct {
	Code    string `json:"code"` // not_found, conflict, invalid, runtime_unreachable, deadline, internal
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// The viewer's stream GET /v1/terminals/{id}/stream has the query and the frames of the sessions API's stream, save that
// the runtime knows no state: its attached frame carries none, and instead of ended it sends an exited frame and closes
// with 1000 when the program has ended. FrameExited names the frame that
// only the runtime sends, FrameDraining one that only the server does, while it waits for its viewer: the viewer reads,
// however slowly, and must not be given up.
const (
	FrameExited   = "exited"
	FrameDraining = "draining"
)

// ExitedFrame is that frame.
type ExitedFrame struct {
	Type     string `json:"type"`
	ExitCode *int   `json:"exitCode,omitempty"`
	Signal   *int   `json:"signal,omitempty"`
}
