package tui

// Terminal is the user's terminal as the dashboard needs it; tui/terminal has the real one.
type Terminal interface{}
