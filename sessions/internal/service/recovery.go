package service

import (
	"context"
	"errors"
	"slices"

	"corral/sessions"
	"corral/sessions/internal/agent"
	"corral/sessions/internal/store"
)

// Recovery returns, for every lost session, what a restart would do: oldest first, of one project or, with "", of all. It
// changes nothing.
func (s *Service) Recovery(ctx context.Context, project string) ([]sessions.Recovery, error) {
	st, err := s.Store()
	if err != nil {
		return nil, err
	}
	rows, err := st.List(ctx)
	if err != nil {
		return nil, err
	}
	status, err := s.Runtime.Status(ctx)
	if err != nil {
		return nil, runtimeError(err)
	}
	boot := status.Tmux.Server.BootID
	c := s.comebacks()
	plan := []sessions.Recovery{}
	for _, rec := range rows {
		if rec.State != sessions.Recoverable || rec.Node != s.Node || project != "" && rec.Project != project {
			continue
		}
		r := c.plan(ctx, rec)
		r.Rebooted = rec.Tmux.BootID != "" && boot != "" && rec.Tmux.BootID != boot
		plan = append(plan, r)
	}
	return s.withoutDoubles(plan), ctx.Err()
}

// plan says what a restart of one session would do.
func (c comebacks) plan(ctx context.Context, rec store.Record) sessions.Recovery {
	r := sessions.Recovery{Session: c.shown(rec), Lost: neverBack(rec.Kind)}
	how, t, err := c.of(ctx, rec, sessions.ConversationOwn)
	if err == nil {
		err = c.alone(how.Conversation, rec.ID)
	}
	if err == nil {
		err = checkCWD(&sessions.CreateRequest{CWD: rec.CWD})
	}
	if err != nil {
		var e *sessions.Error
		if !errors.As(err, &e) {
			e = &sessions.Error{Message: "it cannot be told what a restart would do"}
			c.Log.Warn("session not planned", "session", rec.ID, "error", err)
		}
		r.Problem, r.Choices = e.Error(), sessions.ChoicesOf(err)
		return r
	}
	r.Way, r.ConversationID, r.Hooks = string(how.Way), how.Conversation, how.Hooks
	r.Argv = slices.Clone(how.Argv)
	if i := slices.Index(r.Argv, agent.SettingsFlag); i >= 0 && how.Hooks && i+1 < len(r.Argv) {
		r.Argv = slices.Delete(r.Argv, i, i+2)
	}
	if t.Path != "" {
		r.LastPrompt = agent.LastPrompt(t.Path)
	}
	return r
}

// neverBack says what of a session of kind k does not come back.
func neverBack(k sessions.Kind) string {
	switch k {
	case sessions.KindShell:
		return "what the shell was doing, its variables and its screen"
	case sessions.KindCommand:
		return "what the command had done so far: it begins anew"
	}
	return "a turn that was cut off, what was typed and not sent, and what it ran in the background"
}

// withoutDoubles lets only the first of several sessions come back into one conversation.
func (s *Service) withoutDoubles(plan []sessions.Recovery) []sessions.Recovery {
	first := map[string]sessions.Session{}
	for i := range plan {
		r := &plan[i]
		if r.ConversationID == "" || r.Problem != "" {
			continue
		}
		other, taken := first[r.ConversationID]
		if !taken {
			first[r.ConversationID] = r.Session
			continue
		}
		r.Problem = `"` + other.Title + `" (` + other.ID.Short() + ") is to run this conversation"
		r.Choices = []sessions.Choice{{Conversation: sessions.ConversationFresh}}
	}
	return plan
}
