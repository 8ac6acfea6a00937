package sessions

import (
	"encoding/json"
	"errors"
	"time"
)

// ConversationChoice says which conversation a restarted agent goes on with.
type ConversationChoice string

// The choices. The latest one is taken from the session's directory, and never one that another session runs.
const (
	ConversationOwn    ConversationChoice = ""
	ConversationLatest ConversationChoice = "latest"
	ConversationFresh  ConversationChoice = "fresh"
)

// Choice is what can be had in place of a conversation that cannot be brought back.
type Choice struct {
	Conversation   ConversationChoice `json:"conversation"`
	ConversationID string             `json:"conversationId,omitempty"` // latest: where it is known which one that is
	LastPrompt     string             `json:"lastPrompt,omitempty"`     // latest: what its user said last; cleaned
	At             time.Time          `json:"at,omitzero"`              // latest: when it was last written
}

// DetailChoices is the key of Error.Details under which a refused restart has its []Choice.
const DetailChoices = "choices"

// ChoicesOf returns what a refused restart offers instead; nil for any other error.
func ChoicesOf(err error) []Choice {
	var e *Error
	if !errors.As(err, &e) || e.Details[DetailChoices] == nil {
		return nil
	}
	// Through JSON, because the error was made either here or behind the socket.
	raw, err := json.Marshal(e.Details[DetailChoices])
	if err != nil {
		return nil
	}
	var choices []Choice
	if json.Unmarshal(raw, &choices) != nil {
		return nil
	}
	return choices
}

// Recovery says what a restart of a lost session would do, before anything is done.
type Recovery struct {
	Session Session `json:"session"`
	// Way is how it would come back: plain (a fresh shell or command), resume (its own conversation), continue (the newest
	// one of its directory), fresh (a new conversation).
	Way            string `json:"way"`
	ConversationID string `json:"conversationId,omitempty"` // the one it would be in, as far as that is known
	LastPrompt     string `json:"lastPrompt,omitempty"`     // what its user said last there; cleaned
	// Argv is what would be run, without what Corral adds for itself.
	Argv []string `json:"argv,omitempty"`
	// Hooks says that the program tells by itself that it runs, and in which conversation.
	Hooks bool `json:"hooks,omitempty"`
	// Lost says in words what will not come back.
	Lost string `json:"lost,omitempty"`
	// Problem says why it cannot be brought back as it was; Choices what can be had instead.
	Problem string   `json:"problem,omitempty"`
	Choices []Choice `json:"choices,omitempty"`
	// Rebooted is true when it was lost with a boot of the machine, not only with its tmux server.
	Rebooted bool `json:"rebooted,omitempty"`
}

// PromptRequest is the body of POST /v1/sessions/{id}/prompt.
type PromptRequest struct {
	Text string `json:"text"`
	// Force types the text whatever the agent is doing, also into an open dialog.
	Force bool `json:"force,omitempty"`
}

// MaxPromptText bounds PromptRequest.Text in bytes.
const MaxPromptText = 1 << 20
