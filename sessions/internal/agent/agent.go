// Package agent knows which program a session's kind means: how it is started, started again, and asked to end. It is
// pure; nothing in it looks at the machine.
package agent

import (
	"corral/runtime/rtapi"
	"corral/sessions"
)

// Launch is how to start a session's program.
type Launch struct {
	// Argv is the program; empty means the user's login shell itself.
	Argv []string
	// KeepTmuxEnv leaves TMUX and TMUX_PANE in the program's environment: agents find their own pane by them, while in a
	// shell the user's tmux must never meet ours.
	KeepTmuxEnv bool
	// Hooks says that the program tells the runtime what it is doing; its argv then has rtapi.SettingsFile.
	Hooks bool
}

// First returns the launch of a new session. A claude session always has a conversation; resume says that the
// conversation existed before, given by the user, rather than being made for this session.
func First(s sessions.Session, resume bool) Launch {
	switch s.Kind {
	case sessions.KindClaude:
		flag := "--session-id"
		if resume {
			flag = "--resume"
		}
		return claude(s, flag, s.ConversationID)
	case sessions.KindCommand:
		return Launch{Argv: s.Args}
	case sessions.KindShell:
		return Launch{}
	}
	return Launch{}
}

// Again returns the launch that brings an ended session back: the same conversation for an agent, a fresh process for
// anything else.
func Again(s sessions.Session) Launch {
	if s.Kind != sessions.KindClaude {
		return First(s, false)
	}
	if s.ConversationID == "" {
		return claude(s, "--continue")
	}
	return claude(s, "--resume", s.ConversationID)
}

func claude(s sessions.Session, flags ...string) Launch {
	argv := append([]string{"claude"}, flags...)
	argv = append(argv, "--settings", rtapi.SettingsFile)
	return Launch{Argv: append(argv, s.Args...), KeepTmuxEnv: true, Hooks: true}
}

// StopSignal returns the signal that politely ends a program of kind k. Interactive shells ignore TERM, and take HUP as
// the loss of their terminal.
func StopSignal(k sessions.Kind) string {
	if k == sessions.KindShell {
		return "HUP"
	}
	return "TERM"
}
