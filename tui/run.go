package tui

import (
	"context"
	"errors"
	"log/slog"

	"corral/sessions"
)

// Config is what the dashboard is handed. Backend and Terminal are needed; the rest has defaults.
type Config struct {
	Backend  Backend
	Terminal Terminal
	Log      *slog.Logger

	// Theme is "dark", "light" or "" (what the terminal answers; dark until it does).
	Theme string
	// Prefix names the key that gives the keyboard back, for people, as "ctrl+\". The Terminal recognises it.
	Prefix string
	// Version is shown in the help.
	Version string
	// CWD is the directory that a new session is offered when no session is selected.
	CWD string
	// Client names this viewer to others, as "dashboard on ssh 10.0.0.7".
	Client string
	// StartSelected is the session to select at first, when it exists.
	StartSelected sessions.ID
	// SaveFocus, when set, is called with the selected session when the dashboard closes.
	SaveFocus func(sessions.ID)
	// Start starts the server again after `corral down` (the key u); nil offers no such key.
	Start func(context.Context) error
}

// Outcome says what the dashboard left behind.
type Outcome struct {
	Sessions []sessions.Session // as last seen
	Selected sessions.ID
}

// Run shows the dashboard until the user quits, ctx ends or something breaks. When it returns nothing of it runs any more;
// the terminal is still open and is the caller's to close.
func Run(ctx context.Context, cfg Config) (Outcome, error) {
	return Outcome{}, errors.New("the dashboard is not there yet")
}
