package tui

import (
	"slices"

	"corral/sessions"
)

// asAgent makes of a command that begins with the name of an agent a session of that agent: it then has a conversation,
// which a restart brings back.
func (a *App) asAgent(r sessions.CreateRequest) sessions.CreateRequest {
	if r.Kind == sessions.KindCommand && len(r.Args) > 0 && slices.Contains(a.agents, sessions.Kind(r.Args[0])) {
		r.Kind, r.Args = sessions.Kind(r.Args[0]), r.Args[1:]
	}
	return r
}
