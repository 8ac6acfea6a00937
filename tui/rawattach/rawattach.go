// Package rawattach shows one session on the whole terminal, without the dashboard: the bytes of the session go to the
// terminal as they are, and what is typed goes to the session.
package rawattach

import (
	"context"
	"os"

	"corral/sessions"
	"corral/tui/terminal"
)

// Stream is the part of a viewer's stream that is needed here.
type Stream interface {
	Send(p []byte) bool
	Paste(p []byte) bool
	Resize(cols, rows int)
	Own()
	Wake()
	Close()
}

// Attach opens a stream that reconnects by itself.
type Attach func(sessions.StreamOptions, sessions.StreamHandler) Stream

// Options are the rest of what Run needs.
type Options struct {
	Env       terminal.Env
	Title     string // what the session is called, for the lines that Run itself writes
	Replay    int    // lines of history to print first
	Client    string // sessions.StreamOptions.Client
	ReadOnly  bool
	StatePath string       // as terminal.Config.StatePath
	Prefix    terminal.Key // detaches; pressed twice it goes to the program
}

// How says how an attachment ended.
type How string

// The ways an attachment ends.
const (
	Detached How = "detached" // by the prefix key
	Exited   How = "exited"   // the session ended: Outcome.ExitCode, Outcome.State
	Cut      How = "cut"      // the stream ended for good for another reason: Outcome.Err
	HungUp   How = "hung up"  // the terminal is gone
)

// Outcome says how an attachment ended.
type Outcome struct {
	How      How
	State    sessions.State
	ExitCode *int
	Err      error
}

// Run attaches until the user detaches, the session ends, the stream is cut for good, or ctx ends. The terminal is
// restored when it returns. The error is about the terminal only; how the session fared is in Outcome.
func Run(ctx context.Context, in, out *os.File, attach Attach, o Options) (Outcome, error) {
	panic("to come")
}
