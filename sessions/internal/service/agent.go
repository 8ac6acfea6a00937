package service

import (
	"corral/runtime/rtapi"
	"corral/sessions"
)

// Agent notes what is known of the agent in one run of a terminal.
func (b *Board) Agent(id sessions.ID, run int, a rtapi.Agent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.term[id]
	if !ok || t.Run != run {
		return // an inventory with it follows
	}
	t.Terminal.Agent = &a
	b.term[id] = t
	b.showLocked(id)
}

// withAgent adds what is known of the agent in a live terminal. Why it waits may change while the session stays
// WAITING_FOR_INPUT: the row then has the first reason, and people see the present one.
func withAgent(s *sessions.Session, t rtapi.Terminal) {
	a := t.Agent
	if a == nil || t.Dead || !s.State.Live() {
		return
	}
	s.Agent = &sessions.Agent{
		State:          sessions.AgentState(a.State),
		For:            string(a.For),
		AtPrompt:       a.State == rtapi.AgentWaiting && a.For.AtPrompt(),
		Prompt:         sessions.CleanLine(a.Prompt, sessions.MaxPrompt),
		Since:          a.Since,
		Evidence:       sessions.CleanLine(a.Evidence, maxReason),
		HookAt:         a.HookAt,
		ConversationID: a.Conversation,
	}
	if s.State == sessions.WaitingForInput && a.State == rtapi.AgentWaiting && a.For != "" {
		s.StateReason = string(a.For)
	}
}
