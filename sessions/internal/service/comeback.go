package service

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"corral/sessions"
	"corral/sessions/internal/agent"
	"corral/sessions/internal/store"
)

// comebacks decides how sessions are started again. It remembers, for as long as one request takes, what the user's login
// scripts said, because they may be slow.
type comebacks struct {
	*Service
	variables func(ctx context.Context, id string, names []string, login bool) (map[string]string, error)
	login     map[string]map[string]string // by the variable that was asked for
}

func (s *Service) comebacks() comebacks {
	return comebacks{s, s.Runtime.Variables, map[string]map[string]string{}}
}

// of decides how an ended session is started again. What cannot be brought back is refused, with the choices there are;
// nothing has been changed then. The transcript is the one of the launch's conversation, where there is one.
func (c comebacks) of(ctx context.Context, rec store.Record, choice sessions.ConversationChoice) (agent.Launch, agent.Transcript, error) {
	var none agent.Transcript
	if rec.Kind == sessions.KindShell || rec.Kind == sessions.KindCommand {
		if choice != sessions.ConversationOwn {
			return agent.Launch{}, none, invalid("conversation", "only an agent's session has a conversation to choose", "restart it without --latest and --fresh")
		}
		return agent.Plain(rec.Session), none, nil
	}
	p, ok := c.Agents[rec.Kind]
	if !ok {
		return agent.Launch{}, none, unknownAgent(rec)
	}
	switch choice {
	case sessions.ConversationFresh:
		return agent.Start(p, rec.Session, c.NewID()), none, nil
	case sessions.ConversationLatest:
		return c.latest(ctx, rec, p)
	case sessions.ConversationOwn:
		return c.own(ctx, rec, p)
	}
	return agent.Launch{}, none, invalid("conversation",
		fmt.Sprintf("%q is no choice of a conversation", sessions.CleanLine(string(choice), 40)), "give latest or fresh")
}

// own brings back the conversation that the session was in last.
func (c comebacks) own(ctx context.Context, rec store.Record, p sessions.Profile) (agent.Launch, agent.Transcript, error) {
	id := rec.ConversationID
	switch {
	case id == "" || p.Resume == nil:
		return c.withoutID(ctx, rec, p)
	case p.Transcript == "":
		return agent.Resume(p, rec.Session, id), agent.Transcript{}, nil
	}
	t, found, where, err := c.find(ctx, rec, p)
	switch {
	case err != nil:
		return agent.Launch{}, agent.Transcript{}, err
	case found:
		return agent.Resume(p, rec.Session, id), t, nil
	case !rec.ConversationUsed && p.ID == sessions.IDGiven:
		// An agent keeps nothing of a conversation in which nobody said anything: there is nothing to lose.
		return agent.Start(p, rec.Session, id), agent.Transcript{}, nil
	}
	return agent.Launch{}, agent.Transcript{}, c.gone(ctx, rec, p, where)
}

// withoutID starts a session of which no conversation is known.
func (c comebacks) withoutID(ctx context.Context, rec store.Record, p sessions.Profile) (agent.Launch, agent.Transcript, error) {
	if strings.Contains(p.Transcript, sessions.ProfileCWD) && p.Resume != nil {
		t, found, err := c.newest(ctx, rec, p)
		if err != nil {
			return agent.Launch{}, agent.Transcript{}, err
		}
		if found {
			return agent.Resume(p, rec.Session, t.ID), t, nil
		}
		return agent.Start(p, rec.Session, c.NewID()), agent.Transcript{}, nil
	}
	if p.Continue == nil {
		return agent.Start(p, rec.Session, c.NewID()), agent.Transcript{}, nil
	}
	return c.goOn(rec, p)
}

// latest goes on with the newest conversation of the directory.
func (c comebacks) latest(ctx context.Context, rec store.Record, p sessions.Profile) (agent.Launch, agent.Transcript, error) {
	if !strings.Contains(p.Transcript, sessions.ProfileCWD) || p.Resume == nil {
		if p.Continue == nil {
			return agent.Launch{}, agent.Transcript{}, invalid("conversation",
				fmt.Sprintf("%s cannot go on with the latest conversation of a directory", rec.Kind), "restart it with --fresh")
		}
		return c.goOn(rec, p)
	}
	t, found, err := c.newest(ctx, rec, p)
	if err != nil {
		return agent.Launch{}, agent.Transcript{}, err
	}
	if !found {
		return agent.Launch{}, agent.Transcript{}, &sessions.Error{
			Code:    sessions.CodeConflict,
			Message: fmt.Sprintf("there is no conversation in %s that no other session runs", sessions.CleanLine(rec.CWD, 200)),
			Hint:    "restart it with --fresh for a new one",
			Details: map[string]any{sessions.DetailChoices: []sessions.Choice{{Conversation: sessions.ConversationFresh}}},
		}
	}
	return agent.Resume(p, rec.Session, t.ID), t, nil
}

// goOn has the agent itself find the newest conversation of the directory. Which one that is cannot be seen, so another
// session of the same agent in the same directory forbids it.
func (c comebacks) goOn(rec store.Record, p sessions.Profile) (agent.Launch, agent.Transcript, error) {
	for _, other := range c.Board.List() {
		if other.ID == rec.ID || other.Kind != rec.Kind || !other.State.Live() || other.CWD != rec.CWD {
			continue
		}
		return agent.Launch{}, agent.Transcript{}, &sessions.Error{
			Code:    sessions.CodeConflict,
			Message: fmt.Sprintf("%q (%s) runs %s in the same directory, and its conversation may be the newest one there", other.Title, other.ID.Short(), rec.Kind),
			Hint:    "restart it with --fresh for a new conversation, or stop the other one",
			Details: map[string]any{sessions.DetailChoices: []sessions.Choice{{Conversation: sessions.ConversationFresh}}},
		}
	}
	return agent.Continue(p, rec.Session), agent.Transcript{}, nil
}

// find looks for the session's own conversation, and says where it looked.
func (c comebacks) find(ctx context.Context, rec store.Record, p sessions.Profile) (t agent.Transcript, found bool, where string, err error) {
	for _, login := range []bool{false, true} {
		kept, root, err := c.transcripts(ctx, rec, p, login)
		if err != nil {
			return agent.Transcript{}, false, "", err
		}
		if root == where {
			break // the login scripts have nothing to say about it
		}
		where = root
		if t, found, err = kept.Find(rec.ConversationID); err != nil || found {
			return t, found, where, err
		}
	}
	return agent.Transcript{}, false, where, nil
}

// newest looks for the newest conversation of the session's directory that no other session runs.
func (c comebacks) newest(ctx context.Context, rec store.Record, p sessions.Profile) (agent.Transcript, bool, error) {
	kept, _, err := c.transcripts(ctx, rec, p, true)
	if err != nil {
		return agent.Transcript{}, false, err
	}
	return kept.Latest(func(id string) bool {
		_, taken := c.runs(id, rec.ID)
		return !taken
	})
}

// transcripts finds where the session's agent keeps its conversations: it depends on the environment of the session, which
// the runtime keeps, and with login also on the user's login scripts.
func (c comebacks) transcripts(ctx context.Context, rec store.Record, p sessions.Profile, login bool) (agent.Transcripts, string, error) {
	variable, otherwise, _ := p.TranscriptRoot()
	names := []string{"HOME"}
	if variable != "" {
		names = append(names, variable)
	}
	vars, err := c.variables(ctx, string(rec.ID), names, false)
	if err != nil {
		return agent.Transcripts{}, "", runtimeError(err)
	}
	if login && variable != "" && vars[variable] == "" {
		said, known := c.login[variable]
		if !known {
			if said, err = c.variables(ctx, string(rec.ID), names, true); err != nil {
				return agent.Transcripts{}, "", runtimeError(err)
			}
			c.login[variable] = said
		}
		vars[variable] = said[variable]
	}
	root := vars[variable]
	if !filepath.IsAbs(root) {
		root = otherwise
	}
	if rest, home := strings.CutPrefix(root, "~/"); home {
		root = filepath.Join(vars["HOME"], rest)
	}
	return agent.NewTranscripts(p, root, rec.CWD), root, nil
}

// gone refuses to bring back a conversation whose transcript is not there, and offers what there is.
func (c comebacks) gone(ctx context.Context, rec store.Record, p sessions.Profile, where string) error {
	choices := []sessions.Choice{{Conversation: sessions.ConversationFresh}}
	hint := "restart it with --fresh for a new conversation"
	if t, found, err := c.newest(ctx, rec, p); err == nil && found {
		choices = append([]sessions.Choice{{
			Conversation: sessions.ConversationLatest, ConversationID: t.ID, LastPrompt: agent.LastPrompt(t.Path), At: t.At,
		}}, choices...)
		hint = "restart it with --latest for the newest conversation of its directory, or with --fresh for a new one"
	}
	return &sessions.Error{
		Code:    sessions.CodeConflict,
		Message: fmt.Sprintf("the conversation %s is not in %s any more", sessions.CleanLine(rec.ConversationID, 100), sessions.CleanLine(where, 200)),
		Hint:    hint,
		Details: map[string]any{sessions.DetailChoices: choices, "conversationId": rec.ConversationID},
	}
}

func unknownAgent(rec store.Record) error {
	return &sessions.Error{
		Code:    sessions.CodeConflict,
		Message: fmt.Sprintf("the configuration has no agent called %s any more", rec.Kind),
		Hint:    fmt.Sprintf("add [agents.%s] with its start line", rec.Kind),
	}
}

// runs returns the live session, other than except, that is in a conversation.
func (s *Service) runs(conversation string, except sessions.ID) (sessions.Session, bool) {
	if conversation == "" {
		return sessions.Session{}, false
	}
	for _, other := range s.Board.List() {
		if other.ID != except && other.State.Live() &&
			(other.ConversationID == conversation || other.Agent != nil && other.Agent.ConversationID == conversation) {
			return other, true
		}
	}
	return sessions.Session{}, false
}

// alone refuses a conversation that another session runs: both would write into the same transcript. The caller holds
// s.claims until the session that it speaks for is on the board.
func (s *Service) alone(conversation string, id sessions.ID) error {
	other, taken := s.runs(conversation, id)
	if !taken {
		return nil
	}
	return &sessions.Error{
		Code:    sessions.CodeConflict,
		Message: fmt.Sprintf("%q (%s) runs this conversation", other.Title, other.ID.Short()),
		Hint:    "attach to it, or restart this one with --fresh for a conversation of its own",
		Details: map[string]any{
			"sessionId": other.ID, sessions.DetailChoices: []sessions.Choice{{Conversation: sessions.ConversationFresh}},
		},
	}
}
