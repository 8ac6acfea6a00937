package agent

import (
	"time"

	"corral/runtime/rtapi"
)

// status says what the evidence comes to at a moment, and when it must be asked again at the latest; zero when only new
// evidence can change it.
func (e *evidence) status(now time.Time) (c claim, next time.Time) {
	if e.file == nil && e.newest.IsZero() {
		return e.silence(now)
	}
	told, next := e.told(now)
	if e.file == nil {
		return told, next
	}
	grace := told.at.Add(edgeGrace)
	if (told.why == rtapi.ForTurnEnd || told.why == rtapi.ForError) && !e.more {
		grace = told.at.Add(endGrace)
	}
	if told.state != "" && told.at.After(e.file.since()) && now.Before(grace) {
		return told, grace // the file has not followed yet
	}
	return e.filed(now, told)
}

// silence is what no evidence says.
func (e *evidence) silence(now time.Time) (claim, time.Time) {
	if e.started.IsZero() {
		return claim{}, time.Time{}
	}
	due := e.started.Add(noSign)
	if now.Before(due) {
		return claim{}, due
	}
	return claim{
		state: rtapi.AgentWaiting, why: rtapi.ForStart, at: due,
		by: "no sign of the agent " + noSign.String() + " after its start",
	}, time.Time{}
}

// told is what hooks and transcript say.
func (e *evidence) told(now time.Time) (claim, time.Time) {
	c := e.edge
	for _, a := range e.asks {
		// The newest question is what the agent shows; what the agent itself did after it does not answer it.
		if c.state != rtapi.AgentWaiting || c.why.AtPrompt() && !a.at.Before(c.at) || !c.why.AtPrompt() && a.at.After(c.at) {
			c = a.claim
		}
	}
	t := e.tail
	switch {
	case t.interrupted.After(c.at):
		return claim{state: rtapi.AgentWaiting, why: rtapi.ForInterruption, at: t.interrupted, by: "the transcript says so"}, time.Time{}
	case c.state == rtapi.AgentWaiting && c.why.AtPrompt() && t.queued > 0:
		return claim{state: rtapi.AgentWorking, at: c.at, by: "the transcript has a prompt in the queue"}, time.Time{}
	case c.state == rtapi.AgentWaiting && c.why.AtPrompt() && t.answered.After(c.at):
		return claim{state: rtapi.AgentWorking, at: t.answered, by: "the transcript goes on"}, time.Time{}
	}
	if c.state != rtapi.AgentWorking {
		return c, time.Time{}
	}
	last := c.at
	if t.answered.After(last) {
		last = t.answered
	}
	if due := last.Add(workAge); now.Before(due) {
		return c, due
	}
	return claim{at: last, by: "nothing was heard of it for " + workAge.String()}, time.Time{}
}

// filed is what the session file says, with the words that only hooks have.
func (e *evidence) filed(now time.Time, told claim) (claim, time.Time) {
	f := e.file
	c := claim{at: f.since(), by: "session file: " + f.Status}
	switch f.Status {
	case "busy":
		c.state = rtapi.AgentWorking
		return c, time.Time{}
	case "waiting":
		c.state, c.why = rtapi.AgentWaiting, f.why()
		c.by += ", " + f.WaitingFor
		switch {
		case told.state == rtapi.AgentWaiting && !told.why.AtPrompt():
			c.prompt = told.prompt
			if c.why == rtapi.ForPermission || c.why == rtapi.ForQuestion {
				c.why = told.why // the hook knows a plan from a permission
			}
		case c.why == rtapi.ForPermission:
			c.prompt = e.lately
		}
		return c, time.Time{}
	case "idle", "shell":
		c.state = rtapi.AgentWaiting
		return e.idle(now, c)
	}
	return told, time.Time{} // a newer version has a word that is not known
}

// idle says why the agent is at its prompt. Nothing tells of an interruption; but a turn that ends otherwise is told by a
// hook at the same time.
func (e *evidence) idle(now time.Time, c claim) (claim, time.Time) {
	if e.edge.state == rtapi.AgentWaiting && e.edge.why.AtPrompt() {
		c.why, c.prompt = e.edge.why, e.edge.prompt
		return c, time.Time{}
	}
	if e.edge.state == "" {
		c.why = rtapi.ForPrompt
		return c, time.Time{}
	}
	if due := c.at.Add(stopGrace); now.Before(due) {
		c.why = rtapi.ForTurnEnd
		return c, due
	}
	c.why = rtapi.ForInterruption
	return c, time.Time{}
}
