package rtapi

import "time"

// The states of a task, as the runtime concludes them from the task's directory, its lock and tmux.
const (
	TaskQueued    = "QUEUED"
	TaskRunning   = "RUNNING"
	TaskSucceeded = "SUCCEEDED"
	TaskFailed    = "FAILED"
	TaskCancelled = "CANCELLED"
	TaskLost      = "LOST"
)

// Task is one task as its directory, its lock and tmux show it; the fields mean what those of the sessions API do.
type Task struct {
	ID          string     `json:"id"`
	Title       string     `json:"title"`
	CWD         string     `json:"cwd"`
	Command     []string   `json:"command"`
	Shell       bool       `json:"shell,omitempty"`
	TTY         bool       `json:"tty,omitempty"`
	State       string     `json:"state"`
	Reason      string     `json:"reason,omitempty"`
	ExitCode    *int       `json:"exitCode,omitempty"` // 128+n after death by signal n
	Signal      *int       `json:"signal,omitempty"`
	CreatedAt   time.Time  `json:"createdAt"`
	StartedAt   *time.Time `json:"startedAt,omitempty"`
	EndedAt     *time.Time `json:"endedAt,omitempty"`
	After       string     `json:"after,omitempty"`
	Group       string     `json:"group,omitempty"`
	GroupLimit  int        `json:"groupLimit,omitempty"`
	Usage       *Usage     `json:"usage,omitempty"`
	CancelledBy string     `json:"cancelledBy,omitempty"`
	Strays      int        `json:"strays,omitempty"`
	Seen        bool       `json:"seen,omitempty"`
}

// Ended reports whether the task is over.
func (t Task) Ended() bool { return t.State != TaskQueued && t.State != TaskRunning }

// Usage is what a task used, or uses now.
type Usage struct {
	WallSeconds   float64     `json:"wallSeconds"`
	UserSeconds   float64     `json:"userSeconds"`
	SystemSeconds float64     `json:"systemSeconds"`
	MemoryBytes   int64       `json:"memoryBytes"`
	ReadBytes     int64       `json:"readBytes"`
	WrittenBytes  int64       `json:"writtenBytes"`
	Agent         *AgentUsage `json:"agent,omitempty"`
}

// AgentUsage is what an agent says of itself at its end.
type AgentUsage struct {
	InputTokens    int64   `json:"inputTokens"`
	OutputTokens   int64   `json:"outputTokens"`
	CostUSD        float64 `json:"costUsd"`
	Turns          int     `json:"turns"`
	ConversationID string  `json:"conversationId"`
}

// TaskRequest is the body of POST /v1/tasks. Asking again with the same id answers the task that is there, so that a
// caller that lost the first answer may.
type TaskRequest struct {
	ID         string        `json:"id"`
	Title      string        `json:"title"`
	CWD        string        `json:"cwd"`
	Command    []string      `json:"command"` // argv, or one line for the user's shell when Shell
	Shell      bool          `json:"shell,omitempty"`
	TTY        bool          `json:"tty,omitempty"`
	Cols       int           `json:"cols,omitempty"`
	Rows       int           `json:"rows,omitempty"`
	Env        []string      `json:"env,omitempty"`
	Timeout    time.Duration `json:"timeout,omitempty"`
	Grace      time.Duration `json:"grace"`
	LogLimit   int64         `json:"logLimit"` // negative: none
	After      string        `json:"after,omitempty"`
	Group      string        `json:"group,omitempty"`
	GroupLimit int           `json:"groupLimit,omitempty"`
}

// CancelRequest is the body of POST /v1/tasks/{id}/cancel.
type CancelRequest struct {
	By string `json:"by"`
}

// LogInfo describes a task's log at one moment; see the sessions API.
type LogInfo struct {
	Size    int64 `json:"size"`
	Ended   bool  `json:"ended"`
	CutFrom int64 `json:"cutFrom"`
	CutTo   int64 `json:"cutTo"`
}

// LogMark says when the bytes from Offset on came.
type LogMark struct {
	Offset int64     `json:"offset"`
	At     time.Time `json:"at"`
}

// LogPlace is a place in a log.
type LogPlace struct {
	At int64 `json:"at"` // negative: nowhere
}
