package reconcile

import (
	"corral/runtime/rtapi"
	"corral/sessions/internal/store"
)

// used notes that something was said in a conversation: from then on its agent keeps it, and a restart must find it.
func (p *planner) used(row store.Record, a *rtapi.Agent) {
	if row.ConversationUsed || a.Conversation == "" || a.Conversation != row.ConversationID || !said(a) {
		return
	}
	p.plan.Actions = append(p.plan.Actions, Action{Name: "conversation used", Used: &Used{row.ID, row.ConversationID}})
}

// said reports whether what an agent does can only come after its user said something.
func said(a *rtapi.Agent) bool {
	if a.State == rtapi.AgentWorking {
		return true
	}
	switch a.For {
	case rtapi.ForTurnEnd, rtapi.ForInterruption, rtapi.ForError, rtapi.ForPermission, rtapi.ForQuestion, rtapi.ForPlan:
		return true
	case rtapi.ForPrompt, rtapi.ForDialog, rtapi.ForStart:
	}
	return false
}
