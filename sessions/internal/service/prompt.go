package service

import (
	"context"
	"fmt"
	"strings"
	"time"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

// takenWithin is how long an agent has to show that it took a prompt. Claude Code tells within 0.2 s; a loaded machine gets
// more. It is shorter than a request may take.
const takenWithin = 6 * time.Second

// Prompt gives a live agent its next prompt, and returns when the agent has begun with it. It is given only to an agent
// that waits at its prompt: a text that is typed into a dialog would choose something. With force it is typed whatever the
// agent does, and nothing is waited for.
func (s *Service) Prompt(ctx context.Context, id sessions.ID, r sessions.PromptRequest) (sessions.Session, error) {
	seen, ok := s.Board.Get(id)
	if !ok {
		return sessions.Session{}, notFound(id)
	}
	if err := s.promptable(seen, r); err != nil {
		return sessions.Session{}, err
	}
	if !r.Force {
		if err := atPrompt(seen); err != nil {
			return sessions.Session{}, err
		}
	}
	sub := s.Board.SubscribeTo(id)
	defer s.Board.Unsubscribe(sub)
	err := s.Runtime.Input(ctx, string(id), rtapi.InputRequest{Text: r.Text, Paste: true, Enter: true})
	if err != nil {
		return sessions.Session{}, s.terminalError(err)
	}
	if r.Force {
		return seen, nil
	}
	return s.taken(ctx, seen, sub)
}

func (s *Service) promptable(seen sessions.Session, r sessions.PromptRequest) error {
	_, isAgent := s.Agents[seen.Kind]
	switch {
	case !isAgent:
		return invalid("id", fmt.Sprintf("%q is a %s and takes no prompt", seen.Title, seen.Kind), "type into it with corral send")
	case strings.TrimSpace(r.Text) == "":
		return invalid("text", "there is nothing to say", "give a text")
	case len(r.Text) > sessions.MaxPromptText:
		return &sessions.Error{
			Code: sessions.CodeTooLarge, Message: fmt.Sprintf("a prompt of %d bytes is longer than %d", len(r.Text), sessions.MaxPromptText),
			Hint: "write it into a file and name that",
		}
	case strings.ContainsFunc(r.Text, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }):
		return invalid("text", "a prompt has no control characters but line breaks and tabs", "type keys with corral send --key")
	case !seen.State.Live():
		return stateConflict(store.Record{Session: seen}, "there is no agent that could take a prompt", "restart it first")
	}
	return nil
}

// atPrompt refuses an agent that does not wait at its prompt.
func atPrompt(seen sessions.Session) error {
	conflict := func(message, hint string) error {
		return &sessions.Error{
			Code: sessions.CodeConflict, Message: fmt.Sprintf("%q %s", seen.Title, message), Hint: hint,
			Details: map[string]any{"state": seen.State, "agent": seen.Agent},
		}
	}
	a := seen.Agent
	switch {
	case a == nil || a.State == "":
		return conflict("has not told what it is doing", "look at it with corral screen "+seen.ID.Short()+"; --force types the text even so")
	case a.State == sessions.AgentWorking:
		return conflict("is at work", "wait for it with corral wait "+seen.ID.Short()+" --state WAITING_FOR_INPUT")
	case !a.AtPrompt:
		what := "has a dialog open"
		if a.For != "" {
			what += " (" + a.For + ")"
		}
		if a.Prompt != "" {
			what += ": " + sessions.CleanLine(a.Prompt, 200)
		}
		return conflict(what, "answer it with corral attach "+seen.ID.Short()+"; --force types the text into it")
	}
	return nil
}

// taken waits for the sign that the agent took its prompt: it works, or waits anew.
func (s *Service) taken(ctx context.Context, before sessions.Session, sub *Subscription) (sessions.Session, error) {
	bound := time.NewTimer(takenWithin)
	defer bound.Stop()
	now := before
	if len(sub.Snapshot.Sessions) == 1 {
		now = sub.Snapshot.Sessions[0]
	}
	for {
		switch {
		case !now.State.Live():
			return now, stateConflict(store.Record{Session: now}, "it ended before it took the prompt", "see corral screen "+now.ID.Short())
		case now.Agent != nil && (now.Agent.State == sessions.AgentWorking || now.Agent.Since.After(before.Agent.Since)):
			return now, nil
		}
		select {
		case c, ok := <-sub.Changes:
			if !ok || c.Type == sessions.ChangeRemoved {
				return sessions.Session{}, notFound(before.ID)
			}
			if c.Session != nil {
				now = *c.Session
			}
		case <-bound.C:
			return now, &sessions.Error{
				Code:    sessions.CodeDeadline,
				Message: fmt.Sprintf("the text was typed into %q, but the agent did not begin with it", before.Title),
				Hint:    "look at it with corral screen " + before.ID.Short(),
			}
		case <-ctx.Done():
			return now, context.Cause(ctx)
		}
	}
}
