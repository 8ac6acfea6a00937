package reconcile

import (
	"syscall"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

// Learned is a conversation that a session's agent was seen in.
type Learned struct {
	Conversation store.Conversation
	// Meta is what the terminal is to carry from now on, for adoption.
	Meta rtapi.Meta
}

// agent decides by what is known of the agent in a live terminal, and reports whether that gave the row a state. An
// agent of which nothing is known changes nothing: what was known before may still be true.
func (p *planner) agent(row store.Record, t rtapi.Terminal) bool {
	a := t.Agent
	if a == nil || t.Run < row.Run {
		return false
	}
	defer p.conversation(row, t)
	p.used(row, a)
	m := store.Move{Tmux: &p.o.Inventory.Server, Evidence: a.Evidence}
	if t.Run != row.Run {
		m.Run = &t.Run
	}
	if m.Evidence == "" {
		m.Evidence = "its agent said so"
	}
	switch {
	case a.State == rtapi.AgentWaiting && row.State != sessions.WaitingForInput:
		m.To, m.Reason = sessions.WaitingForInput, string(a.For)
		if m.Reason == "" {
			m.Reason = string(rtapi.ForPrompt)
		}
		p.move("agent waits", row, m)
		return true
	case a.State == rtapi.AgentWorking && row.State == sessions.WaitingForInput:
		m.To, m.Reason = sessions.Detached, "works"
		if t.Attached > 0 {
			m.To = sessions.Running
		}
		p.move("agent works", row, m)
		return true
	}
	return row.State == sessions.WaitingForInput
}

// conversation notes a conversation that is not the row's. It comes after the move, which compares with the version.
func (p *planner) conversation(row store.Record, t rtapi.Terminal) {
	to := t.Agent.Conversation
	if to == "" || to == row.ConversationID && to == t.Conversation {
		return
	}
	meta := t.Meta
	meta.Conversation = to
	p.plan.Actions = append(p.plan.Actions, Action{Name: "conversation", Learned: &Learned{
		Conversation: store.Conversation{
			ID: row.ID, To: to, At: p.o.Now, Actor: sessions.ActorReconciler, Evidence: t.Agent.Change,
		},
		Meta: meta,
	}})
}

// agentKilled reports an agent that somebody killed. Its end is written at once, not late as other deaths that a host's
// shutdown could have caused: who waits for the agent must hear of it, and a host that goes down sends TERM before. If it
// was the host after all, the row is corrected.
func agentKilled(t rtapi.Terminal) bool {
	return t.Hooks && t.Signal != nil && *t.Signal == int(syscall.SIGKILL)
}
