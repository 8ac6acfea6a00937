package sessions

import "time"

// TaskState is where a task is in its life. The strings are sent; never change one.
type TaskState string

// The states of a task. They are not stored: the node concludes them from the task's directory, its lock and tmux.
const (
	TaskQueued    TaskState = "QUEUED"    // waits for another task or for room in its group
	TaskRunning   TaskState = "RUNNING"   // its runner lives
	TaskSucceeded TaskState = "SUCCEEDED" // exited 0
	TaskFailed    TaskState = "FAILED"    // exited non-zero, by a signal or by its timeout, or never started
	TaskCancelled TaskState = "CANCELLED" // ended because somebody asked for it
	TaskLost      TaskState = "LOST"      // its runner is gone without a word: nobody knows how it ended
)

// TaskStates lists every state in the order of a task's life.
func TaskStates() []TaskState {
	return []TaskState{TaskQueued, TaskRunning, TaskSucceeded, TaskFailed, TaskCancelled, TaskLost}
}

// Valid reports whether s is one of the states.
func (s TaskState) Valid() bool {
	for _, t := range TaskStates() {
		if s == t {
			return true
		}
	}
	return false
}

// Ended reports whether the task is over. An ended task never runs again.
func (s TaskState) Ended() bool {
	switch s {
	case TaskSucceeded, TaskFailed, TaskCancelled, TaskLost:
		return true
	case TaskQueued, TaskRunning:
		return false
	}
	return false
}

// Task is a program that runs to its end without a viewer; what it prints is kept as its log.
type Task struct {
	ID      ID       `json:"id"`
	Title   string   `json:"title"`
	CWD     string   `json:"cwd"`
	Command []string `json:"command"` // argv, or one shell line when Shell
	Shell   bool     `json:"shell"`
	TTY     bool     `json:"tty"`

	State    TaskState `json:"state"`
	Reason   string    `json:"reason"` // why it is in its state, where the code does not say it
	ExitCode *int      `json:"exitCode"`
	Signal   *int      `json:"signal"`

	CreatedAt time.Time  `json:"createdAt"`
	StartedAt *time.Time `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt"` // nil also when LOST: nobody knows

	After      ID     `json:"after,omitempty"`      // starts when that task has SUCCEEDED
	Group      string `json:"group,omitempty"`      // shares the limit of its group
	GroupLimit int    `json:"groupLimit,omitempty"` // tasks of the group that may run at once

	Usage       *Usage `json:"usage"`                 // of an ended task; TaskUsage has that of running ones
	CancelledBy string `json:"cancelledBy,omitempty"` // who asked for its end
	Strays      int    `json:"strays,omitempty"`      // processes it left behind, which were ended with it
	Seen        bool   `json:"seen,omitempty"`        // somebody has looked at it since it ended
	Node        string `json:"node"`
}

// Usage is what a task used, of all its processes that are known to have ended, or use now when it runs.
type Usage struct {
	WallSeconds   float64 `json:"wallSeconds"`
	UserSeconds   float64 `json:"userSeconds"`
	SystemSeconds float64 `json:"systemSeconds"`
	// MemoryBytes is the largest resident size of one process when it ended, the sum of all now when it runs.
	MemoryBytes int64 `json:"memoryBytes"`
	// ReadBytes and WrittenBytes went to disks, as the kernel counts blocks.
	ReadBytes    int64       `json:"readBytes"`
	WrittenBytes int64       `json:"writtenBytes"`
	Agent        *AgentUsage `json:"agent,omitempty"`
}

// AgentUsage is what `claude -p --output-format json` says of itself.
type AgentUsage struct {
	InputTokens    int64   `json:"inputTokens"`
	OutputTokens   int64   `json:"outputTokens"`
	CostUSD        float64 `json:"costUsd"`
	Turns          int     `json:"turns"`
	ConversationID string  `json:"conversationId"`
}

// CreateTaskRequest is the body of POST /v1/tasks.
type CreateTaskRequest struct {
	Title   string   `json:"title,omitempty"` // "" for the command
	CWD     string   `json:"cwd"`             // absolute
	Command []string `json:"command"`         // argv, or one shell line when Shell
	Shell   bool     `json:"shell,omitempty"`
	TTY     bool     `json:"tty,omitempty"` // give it a terminal
	Cols    int      `json:"cols,omitempty"`
	Rows    int      `json:"rows,omitempty"`
	Env     []string `json:"env,omitempty"` // K=V; kept in a 0600 file until the start

	Timeout  time.Duration `json:"timeout,omitempty"`  // in ns; 0: none
	Grace    time.Duration `json:"grace,omitempty"`    // in ns, between TERM and KILL; 0: 10 s
	LogLimit int64         `json:"logLimit,omitempty"` // bytes of log that are kept, half of them from the begin; 0: DefaultLogLimit, -1: all

	After      ID     `json:"after,omitempty"`
	Group      string `json:"group,omitempty"`
	GroupLimit int    `json:"groupLimit,omitempty"` // 0: 1 where a group is named
}

// Limits and defaults of tasks.
const (
	DefaultLogLimit  = 4 << 30
	DefaultTaskGrace = 10 * time.Second
	MaxGroup         = 100 // bytes of a group's name
)

// LogInfo describes a task's log at one moment. Offsets never change their meaning: bytes that a limit cut out of the
// middle leave a gap, and reading there gives an error.
type LogInfo struct {
	Size  int64 `json:"size"`
	Ended bool  `json:"ended"` // nothing will be added
	// CutFrom and CutTo enclose what the limit cut out; both 0 when nothing was.
	CutFrom int64 `json:"cutFrom"`
	CutTo   int64 `json:"cutTo"`
}

// LogMark says when the bytes from Offset on came.
type LogMark struct {
	Offset int64     `json:"offset"`
	At     time.Time `json:"at"`
}

// The headers that carry LogInfo with every answer of GET /v1/tasks/{id}/log?offset=N&limit=N&wait=true, whose body are
// the log's bytes. With wait the answer comes when there is a byte at offset or the task has ended.
const (
	LogSizeHeader  = "X-Corral-Log-Size"
	LogEndedHeader = "X-Corral-Log-Ended" // true or false
	LogCutHeader   = "X-Corral-Log-Cut"   // from-to; absent when nothing was cut
)

// MaxLogRead is the most bytes of a log that one request may ask for.
const MaxLogRead = 8 << 20

// LogPlace is the answer of GET /v1/tasks/{id}/log/find?text=T&from=N&to=N: where the text begins first among these bytes.
type LogPlace struct {
	At int64 `json:"at"` // negative: nowhere
}

// The most that one such request may look through, and look for, in bytes.
const (
	MaxLogFind     = 64 << 20
	MaxLogFindText = 4 << 10
)
