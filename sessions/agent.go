package sessions

import "time"

// AgentState says what a session's agent is doing.
type AgentState string

// The states of an agent; "" when nothing is known.
const (
	AgentWorking AgentState = "working"
	AgentWaiting AgentState = "waiting"
)

// Agent is what is known of the agent in a session. It is evidence of this moment, never stored: a session has none
// while its runtime is away or nothing was seen of the agent.
type Agent struct {
	State AgentState `json:"state"`
	// For says why it waits: prompt, turn ended, interrupted, error, permission, question, plan approval, dialog, start.
	For string `json:"for,omitempty"`
	// AtPrompt is true while a text that is typed becomes its next prompt, false while a dialog is open.
	AtPrompt bool `json:"atPrompt,omitempty"`
	// Prompt is what it asks, or what it said last; cleaned.
	Prompt string    `json:"prompt,omitempty"`
	Since  time.Time `json:"since,omitzero"` // when it began to wait
	// Evidence says what was seen that led here.
	Evidence string `json:"evidence,omitempty"`
	// HookAt is the time of the newest sign of life that it gave itself in this run.
	HookAt time.Time `json:"hookAt,omitzero"`
	// ConversationID is the conversation that it was last seen in, in this run.
	ConversationID string `json:"conversationId,omitempty"`
}

// MaxPrompt bounds Agent.Prompt in bytes.
const MaxPrompt = 1000

// ReasonConversation is the reason of the event that records another conversation.
const ReasonConversation = "conversation changed"
