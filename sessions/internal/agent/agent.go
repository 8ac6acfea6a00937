// Package agent knows how the program of a session's kind is started, started again in the same conversation, and asked to
// end. Command lines come from profiles; Transcripts looks where an agent keeps its conversations, and is the only part
// that looks at the machine.
package agent

import (
	"slices"
	"strings"

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
	// Hooks says that the program tells the runtime what it is doing.
	Hooks bool
	// Conversation is the conversation that the program will be in, as far as that is known.
	Conversation string
	// Way says how it gets there.
	Way Way
}

// SettingsFlag gives Claude Code the file that makes it run our hooks, beside those of the user. No other agent has such a
// flag; in theirs the user names `corral hook`.
const SettingsFlag = "--settings"

// Way is how a session gets to its conversation.
type Way string

// The ways. They are shown to people and sent to clients.
const (
	WayPlain    Way = "plain"    // there is no conversation: a shell, a command
	WayFresh    Way = "fresh"    // a new conversation
	WayResume   Way = "resume"   // the one that is known
	WayContinue Way = "continue" // the newest one of the directory, as the agent sees it
)

// Plain returns the launch of a program without a conversation.
func Plain(s sessions.Session) Launch {
	if s.Kind == sessions.KindCommand {
		return Launch{Argv: s.Args, Way: WayPlain}
	}
	return Launch{Way: WayPlain}
}

// Start returns the launch that begins a conversation; id counts only for an agent that is given one.
func Start(p sessions.Profile, s sessions.Session, id string) Launch {
	if p.ID != sessions.IDGiven {
		id = ""
	}
	return launch(p, p.Start, s, id, WayFresh)
}

// Resume returns the launch that goes on with a conversation.
func Resume(p sessions.Profile, s sessions.Session, id string) Launch {
	return launch(p, p.Resume, s, id, WayResume)
}

// Continue returns the launch that goes on with the newest conversation of the directory, whichever that is.
func Continue(p sessions.Profile, s sessions.Session) Launch {
	return launch(p, p.Continue, s, "", WayContinue)
}

func launch(p sessions.Profile, line []string, s sessions.Session, id string, way Way) Launch {
	argv := slices.Clone(line)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], sessions.ProfileID, id)
	}
	hooks := p.Waiting == sessions.WaitingHooks
	if s.Kind == sessions.KindClaude && hooks {
		argv = append(argv, SettingsFlag, rtapi.SettingsFile)
	}
	return Launch{Argv: append(argv, s.Args...), KeepTmuxEnv: true, Hooks: hooks, Conversation: id, Way: way}
}

// StopSignal returns the signal that politely ends a program of kind k. Interactive shells ignore TERM, and take HUP as
// the loss of their terminal.
func StopSignal(k sessions.Kind) string {
	if k == sessions.KindShell {
		return "HUP"
	}
	return "TERM"
}
