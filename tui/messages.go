package tui

import (
	"corral/sessions"
	"corral/tui/dialog"
	"corral/tui/logview"
	"corral/tui/terminal"
	"corral/tui/termpane"
)

// Facts, as they come in.
type (
	// watchedMsg brings what the watch told since the last one.
	watchedMsg struct {
		changes []sessions.Change
		link    *sessions.Link // nil when unchanged
	}
	// paneChangedMsg says that a pane looks different.
	paneChangedMsg struct{ id sessions.ID }
	// toldMsg brings a frame of a stream that is not about the screen.
	toldMsg struct {
		id    sessions.ID
		frame sessions.Frame
	}
	// unseenMsg says that the runtime could not be told that a task was seen.
	unseenMsg struct{ id sessions.ID }
	// copiedMsg brings what is to be put into the clipboard.
	copiedMsg struct{ text []byte }
	// terminalMsg brings what the terminal says.
	terminalMsg struct{ event terminal.Event }
	// panickedMsg says that a goroutine of the dashboard panicked.
	panickedMsg struct {
		value any
		stack []byte
	}
)

// Answers to commands. Those for a dialog name it, and are dropped when it is no longer open.
type (
	createdMsg struct {
		form    *dialog.NewSession
		session sessions.Session
		err     error
	}
	renamedMsg struct {
		form    *dialog.Rename
		session sessions.Session
		err     error
	}
	directoriesMsg struct {
		form   dialog.Completer
		prefix string
		found  []string
		err    error
	}
	eventsMsg struct {
		page   *dialog.Details
		events []sessions.Event
		err    error
	}
	// unzoomedMsg says that a session has given the terminal back.
	unzoomedMsg struct {
		pane *termpane.Pane
		err  error
	}
	// doneMsg ends an operation on a session.
	doneMsg struct {
		op      operation
		id      sessions.ID
		session sessions.Session // as it is now; empty after a removal
		err     error
	}
)

// Answers about tasks.
type (
	taskRunMsg struct {
		form *dialog.NewTask
		task sessions.Task
		err  error
	}
	// taskDoneMsg ends an operation on a task.
	taskDoneMsg struct {
		op   operation
		id   sessions.ID
		task sessions.Task // as it is now; empty after a removal
		err  error
	}
	logClosedMsg struct{ viewer *logview.Pane }
	usageMsg     struct {
		usage map[sessions.ID]sessions.Usage
	}
)

// Clocks. Those that may be overtaken carry the generation of what they were set for.
type (
	toastExpiredMsg  struct{ generation int }
	countdownMsg     struct{}
	resizeSettledMsg struct{ generation int }
	openPaneMsg      struct{ id sessions.ID }
	removalDueMsg    struct{ id sessions.ID }
	taskTickMsg      struct{}
	sampleDueMsg     struct{}
)
