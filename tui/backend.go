package tui

import (
	"context"
	"errors"

	"corral/sessions"
)

// ErrDown is in the chain of a link's error while the server is not running because `corral down` stopped it.
var ErrDown = errors.New("stopped by corral down")

// Backend is everything the dashboard needs from outside. It is handed in; the dashboard knows no sockets.
type Backend interface {
	SessionService
	TaskService
	Watcher
	Attacher
}

// SessionService changes sessions. Every call has a deadline and may block until then; none is made from Update or View.
type SessionService interface {
	Create(ctx context.Context, r sessions.CreateRequest) (sessions.Session, error)
	Restart(ctx context.Context, id sessions.ID) (sessions.Session, error)
	// RestartIn restarts an agent in the conversation that choice names.
	RestartIn(ctx context.Context, id sessions.ID, choice sessions.ConversationChoice) (sessions.Session, error)
	// Recovery returns what a restart of each lost session would do, of one project or, with "", of all.
	Recovery(ctx context.Context, project string) ([]sessions.Recovery, error)
	Stop(ctx context.Context, id sessions.ID) (sessions.Session, error)
	Close(ctx context.Context, id sessions.ID) (sessions.Session, error)
	Update(ctx context.Context, id sessions.ID, r sessions.UpdateRequest) (sessions.Session, error)
	Remove(ctx context.Context, id sessions.ID, force bool) error
	Events(ctx context.Context, id sessions.ID) ([]sessions.Event, error)
	// History returns lines of history that end before lines above the newest, and how many rows of it there are in all.
	History(ctx context.Context, id sessions.ID, lines, before int) (sessions.History, error)
	// Directories returns the directories on the node whose path begins with prefix, for completion; at most 50.
	Directories(ctx context.Context, prefix string) ([]string, error)
}

// TaskService changes tasks and reads what they print. As with SessionService every call may block until its deadline.
type TaskService interface {
	RunTask(ctx context.Context, r sessions.CreateTaskRequest) (sessions.Task, error)
	// CancelTask asks for the task's end and returns before it has come.
	CancelTask(ctx context.Context, id sessions.ID) (sessions.Task, error)
	// RemoveTask deletes an ended task with its log.
	RemoveTask(ctx context.Context, id sessions.ID) error
	// TaskUsage looks what the running tasks use now. It is to be asked only while somebody looks at the answer.
	TaskUsage(ctx context.Context) (map[sessions.ID]sessions.Usage, error)
	// OpenLog returns the log of a task. It asks nobody yet and needs no closing.
	OpenLog(id sessions.ID) TaskLog
}

// TaskLog reads a task's log wherever it is. It is safe for concurrent use.
type TaskLog interface {
	// ReadAt fills p from off on as far as the log reaches, up to sessions.MaxLogRead, and says how the log was then.
	// Less than len(p) means its end at that moment. Inside what the log's limit cut out it reads nothing.
	ReadAt(ctx context.Context, p []byte, off int64) (int, sessions.LogInfo, error)
	// Wait returns when the log is longer than size or will not grow any more.
	Wait(ctx context.Context, size int64) (sessions.LogInfo, error)
	// Marks returns when the bytes came, in rising order, of those marks that lie at or after from.
	Marks(ctx context.Context, from int64) ([]sessions.LogMark, error)
}

// Watcher follows the lists of sessions and tasks.
type Watcher interface {
	// Watch calls change for a snapshot and then every change, and link whenever the connection's state changes, until
	// ctx ends. It reconnects by itself; a new snapshot follows each reconnect. Both are called from one goroutine.
	Watch(ctx context.Context, change func(sessions.Change), link func(sessions.Link))
}

// Attacher opens streams.
type Attacher interface {
	// Attach opens a stream that reconnects by itself until it is closed or ends for good. It returns at once.
	Attach(id sessions.ID, o sessions.StreamOptions, h sessions.StreamHandler) Stream
}

// Stream is one viewer's connection to a session. No method blocks.
type Stream interface {
	// Send queues terminal input. It reports false when the input was dropped: not connected, or the queue is full.
	Send(p []byte) bool
	// Paste queues a paste, taken whole or refused whole.
	Paste(p []byte) bool
	// Resize tells the size of the viewer's pane.
	Resize(cols, rows int)
	// Own takes the keyboard, Release gives it back.
	Own()
	Release()
	// Resync asks for a fresh restore.
	Resync()
	// Replay asks for a fresh restore with up to so many lines of the history above it.
	Replay(lines int)
	// Wake makes a waiting reconnect start at once (after a suspend, on focus).
	Wake()
	// Close ends the stream and waits for its goroutines.
	Close()
}
