package reconcile

import (
	"testing"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

func agentIs(state rtapi.AgentState, why rtapi.WaitingFor) func(*rtapi.Terminal) {
	return func(t *rtapi.Terminal) {
		t.Hooks, t.Agent = true, &rtapi.Agent{State: state, For: why, Evidence: "hook"}
	}
}

func plan(state sessions.State, t *rtapi.Terminal) Plan {
	return NewPlan(Observation{
		Rows: []store.Record{row(state)}, Inventory: rtapi.Inventory{Complete: true, At: now, Server: server, Terminals: []rtapi.Terminal{*t}},
		Now: now, Node: node, Owner: owner,
	})
}

func TestPlanOfAgents(t *testing.T) {
	t.Parallel()
	const stays = sessions.State("")
	tests := []struct {
		name   string
		from   sessions.State
		term   *rtapi.Terminal
		to     sessions.State
		reason string
	}{
		{"begins to wait", sessions.Detached, alive(agentIs(rtapi.AgentWaiting, rtapi.ForPermission)), sessions.WaitingForInput, "permission"},
		{"begins to wait, watched by somebody", sessions.Running, alive(attached(1), agentIs(rtapi.AgentWaiting, rtapi.ForTurnEnd)), sessions.WaitingForInput, "turn ended"},
		{"waits from its start on", sessions.Starting, alive(agentIs(rtapi.AgentWaiting, rtapi.ForPrompt)), sessions.WaitingForInput, "prompt"},
		{"starts with work", sessions.Starting, alive(agentIs(rtapi.AgentWorking, "")), sessions.Detached, "started"},
		{"goes on", sessions.WaitingForInput, alive(agentIs(rtapi.AgentWorking, "")), sessions.Detached, "works"},
		{"goes on, attached", sessions.WaitingForInput, alive(attached(1), agentIs(rtapi.AgentWorking, "")), sessions.Running, "works"},
		{"waits still, for something else", sessions.WaitingForInput, alive(agentIs(rtapi.AgentWaiting, rtapi.ForDialog)), stays, ""},
		{"waits, as far as was known", sessions.WaitingForInput, alive(agentIs("", "")), stays, ""},
		{"waits, and the runtime is new", sessions.WaitingForInput, alive(), stays, ""},
		{"works, and somebody attaches", sessions.Detached, alive(attached(1), agentIs(rtapi.AgentWorking, "")), sessions.Running, "attached"},
		{"is being stopped", sessions.Stopping, alive(agentIs(rtapi.AgentWaiting, rtapi.ForPrompt)), stays, ""},
		{"waits in a former run", sessions.Detached, alive(run(1), agentIs(rtapi.AgentWaiting, rtapi.ForPrompt)), sessions.Recoverable, ""},
		{"was killed a moment ago", sessions.WaitingForInput, killed(9, ago(0), agentIs("", "")), sessions.Failed, "killed by signal 9"},
		{"got TERM a moment ago", sessions.WaitingForInput, killed(15, ago(0), agentIs("", "")), stays, ""},
	}
	for _, test := range tests {
		p := plan(test.from, test.term)
		switch {
		case test.to == stays && len(p.Actions) > 0:
			t.Errorf("%s: %+v", test.name, p.Actions[0])
		case test.to == stays:
		case len(p.Actions) != 1 || p.Actions[0].Move == nil || p.Actions[0].Move.To != test.to || test.reason != "" && p.Actions[0].Move.Reason != test.reason:
			t.Errorf("%s: %+v", test.name, p.Actions)
		default:
			checkMove(t, row(test.from), *p.Actions[0].Move)
		}
	}
}

// A conversation is noted in the row and in the terminal, after the move: that compares with the version.
func TestPlanFollowsTheConversation(t *testing.T) {
	t.Parallel()
	term := alive(agentIs(rtapi.AgentWaiting, rtapi.ForPrompt))
	term.Conversation, term.Agent.Conversation, term.Agent.Change = "old", "new", "hook SessionStart clear"
	p := plan(sessions.Detached, term)
	if len(p.Actions) != 2 || p.Actions[0].Move == nil || p.Actions[1].Learned == nil {
		t.Fatalf("got %+v", p.Actions)
	}
	l := p.Actions[1].Learned
	if l.Conversation.ID != id || l.Conversation.To != "new" || l.Conversation.Evidence != term.Agent.Change || l.Meta.Conversation != "new" || l.Meta.Title != "t" {
		t.Errorf("got %+v", l)
	}
	dead := exited(0, agentIs("", ""))
	dead.Agent.Conversation = "last"
	if p := plan(sessions.Stopped, dead); len(p.Actions) != 1 || p.Actions[0].Learned == nil {
		t.Errorf("what an ended run told last: %+v", p.Actions)
	}
}
