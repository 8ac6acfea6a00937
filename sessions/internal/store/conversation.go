package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"corral/sessions"
)

// Conversation is a change of the conversation that a session's agent is in.
type Conversation struct {
	ID       sessions.ID
	To       string
	At       time.Time
	Actor    sessions.Actor
	Evidence string // what was seen
}

const sqlUseConversation = `
UPDATE sessions SET conversation_used = true WHERE id = @id AND conversation_id = @conversation`

// UseConversation notes that something was said in a session's conversation, if it is in that one still. No state rests on
// it, so it raises no version and wakes no listener; an unknown session is no error.
func (s *Store) UseConversation(ctx context.Context, id sessions.ID, conversation string) error {
	_, err := s.pool.Exec(ctx, sqlUseConversation, pgx.StrictNamedArgs{"id": string(id), "conversation": conversation})
	return Explain(ctx, "note the use of a conversation in session "+id.Short(), err)
}

// sqlSetConversation locks the row first, so that the event names the conversation that was really left. To note the
// same again changes nothing and writes no event. A conversation that follows another one was used: agents go on from one
// to the next, and only a first one can be empty.
const sqlSetConversation = `
WITH old AS (
	SELECT id AS old_id, conversation_id AS was FROM sessions WHERE id = @id FOR UPDATE
), changed AS (
	UPDATE sessions SET conversation_id = @to, conversation_used = was <> '', updated_at = @at, version = version + 1
	FROM old WHERE id = old_id AND was <> @to
	RETURNING ` + sqlColumns + `, was
), event AS (
	INSERT INTO terminal_events (session_id, at, actor, kind, from_state, to_state, reason, evidence)
	SELECT id, @at, @actor, 'conversation', state, state, @reason,
		CASE WHEN was = '' THEN @to ELSE was || ' -> ' || @to END || @evidence
	FROM changed
)
SELECT ` + sqlColumns + ` FROM changed
UNION ALL
SELECT ` + sqlColumns + ` FROM sessions WHERE id = @id AND conversation_id = @to`

// SetConversation notes the conversation that the session's agent is in, and writes the event of it when it is another
// one than before. The version rises with it, so a Move from a row read before is a conflict.
func (s *Store) SetConversation(ctx context.Context, c Conversation) (Record, error) {
	evidence := sessions.CleanLine(c.Evidence, maxEvidence)
	if evidence != "" {
		evidence = "; " + evidence
	}
	r, err := s.one(ctx, sqlSetConversation, pgx.StrictNamedArgs{
		"id": string(c.ID), "to": c.To, "at": c.At.UTC(), "actor": string(c.Actor),
		"reason": sessions.ReasonConversation, "evidence": evidence,
	})
	return r, s.explainOne(ctx, "note the conversation of session", c.ID, err)
}
