package rtapi

import "time"

// SettingsFile, as an element of LaunchRequest.Argv, stands for the settings file that the runtime makes for the agent:
// it makes the agent run `corral hook` on its events. Only a launch with Hooks may have it.
const SettingsFile = "{corral-settings}"

// AgentState says what an agent is doing.
type AgentState string

// The states of an agent. "" means that nothing is known, which is no reason to change what was known before.
const (
	AgentWorking AgentState = "working"
	AgentWaiting AgentState = "waiting"
)

// WaitingFor says why an agent waits for its user. The strings are sent and shown; never change one.
type WaitingFor string

// What agents wait for. The first four are at the agent's own prompt: a text typed now is the next one it works on.
// The others are dialogs, in which a typed text would choose something.
const (
	ForPrompt       WaitingFor = "prompt"        // started, or at its prompt for a reason nobody told
	ForTurnEnd      WaitingFor = "turn ended"    // it has answered
	ForInterruption WaitingFor = "interrupted"   // its user stopped it or refused what it asked
	ForError        WaitingFor = "error"         // its turn was ended by an error
	ForPermission   WaitingFor = "permission"    // may it use a tool
	ForQuestion     WaitingFor = "question"      // it asks something
	ForPlan         WaitingFor = "plan approval" // may it do what it planned
	ForDialog       WaitingFor = "dialog"        // a menu or another dialog is open
	ForStart        WaitingFor = "start"         // it gave no sign since its start: it may ask for trust or a login
)

// AtPrompt reports whether an agent that waits for w takes a text as its next prompt.
func (w WaitingFor) AtPrompt() bool {
	switch w {
	case ForPrompt, ForTurnEnd, ForInterruption, ForError:
		return true
	case ForPermission, ForQuestion, ForPlan, ForDialog, ForStart:
	}
	return false
}

// Agent is what the evidence says about the agent that runs in a terminal.
type Agent struct {
	State AgentState `json:"state,omitempty"`
	// For, Prompt and Since are set while it waits. Prompt is what it asks or last said, cleaned and cut; it is shown to
	// the user and never stored.
	For    WaitingFor `json:"for,omitempty"`
	Prompt string     `json:"prompt,omitempty"`
	Since  time.Time  `json:"since,omitzero"`
	// Evidence says what was seen that led here, in words for people.
	Evidence string `json:"evidence,omitempty"`

	// Conversation is the newest conversation that was seen in this run, "" while none was. Change says how it came to
	// be that one: startup, resume, clear, fork.
	Conversation string `json:"conversation,omitempty"`
	Change       string `json:"change,omitempty"`
	// Transcript is the file of that conversation, "" when it is not known.
	Transcript string `json:"transcript,omitempty"`
	// ConfigDir is the agent's configuration directory, "" while it is not known.
	ConfigDir string `json:"configDir,omitempty"`
	// PID is the agent's process, 0 while it is not known.
	PID int `json:"pid,omitempty"`
	// HookAt is the time of the newest hook of this run: the agent has started, and it is ours.
	HookAt time.Time `json:"hookAt,omitzero"`
}

// MaxHook is the largest body of POST /v1/hooks in bytes. `corral hook` sends far less, whatever it was given.
const MaxHook = 256 << 10

// HookPost is the body of POST /v1/hooks. The session's token comes in the header Authorization, as Bearer; the
// session and its run come from the token alone. A post that the runtime could not be given is kept in a file of the
// spool directory, with its token, and taken from there once.
type HookPost struct {
	// ID is random: a post that comes twice counts once.
	ID string    `json:"id"`
	At time.Time `json:"at"` // when the hook began
	// Pane is tmux's name of the pane (TMUX_PANE), AgentPID the agent's own pid as it told its hooks.
	Pane     string `json:"pane,omitempty"`
	AgentPID int    `json:"agentPid,omitempty"`
	// Ancestors are the hook's parent, its parent and so on. The pane's process must be among them.
	Ancestors []int `json:"ancestors,omitempty"`
	// Background is true in a session of the agent's own daemon, which is nobody's terminal.
	Background bool      `json:"background,omitempty"`
	ConfigDir  string    `json:"configDir,omitempty"`
	Event      HookEvent `json:"event"`
}

// HookEvent is what matters of what the agent told its hook. All of it is hostile.
type HookEvent struct {
	Name         string `json:"name"`
	Conversation string `json:"conversation,omitempty"`
	Transcript   string `json:"transcript,omitempty"`
	CWD          string `json:"cwd,omitempty"`
	Source       string `json:"source,omitempty"`  // SessionStart: startup, resume, clear, compact, fork
	Reason       string `json:"reason,omitempty"`  // SessionEnd
	AgentID      string `json:"agentId,omitempty"` // set in a subagent
	Tool         string `json:"tool,omitempty"`
	// Call tells one call of a tool from another: a hash of the tool and its input.
	Call string `json:"call,omitempty"`
	// Text is the tool's input in short, the notification's message, the last answer, the prompt or the error.
	Text         string `json:"text,omitempty"`
	Notification string `json:"notification,omitempty"` // its type
	// Subagents counts the subagents that go on working after a Stop.
	Subagents int `json:"subagents,omitempty"`
}

// Hooks counts the posts since the runtime's start.
type Hooks struct {
	Accepted  int64 `json:"accepted"`
	Doubled   int64 `json:"doubled"`   // came twice, counted once
	Spooled   int64 `json:"spooled"`   // of the accepted ones: came by the spool
	Refused   int64 `json:"refused"`   // no valid token, or not readable
	Foreign   int64 `json:"foreign"`   // a valid token, but another process than the session's agent
	Oversized int64 `json:"oversized"` // larger than MaxHook
}
