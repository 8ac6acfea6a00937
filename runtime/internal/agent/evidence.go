package agent

import (
	"strings"
	"time"

	"corral/runtime/rtapi"
)

// The ages at which evidence changes its worth.
const (
	// noSign is how long a start may stay without any sign of the agent, which takes 0.8 to 1.2 s: then a dialog (trust,
	// login) is in the way, about which no agent tells.
	noSign = 10 * time.Second
	// edgeGrace is how long a hook outranks an older session file, which follows within 150 ms of the hook's end; the
	// agent waits for its hooks, and a busy machine is slow to run them.
	edgeGrace = 2 * time.Second
	// endGrace is the same for the end of a turn after which no other one can begin by itself.
	endGrace = 10 * time.Second
	// stopGrace is how long after an idle file the hook that explains it may come: Stop is sent at about the same moment.
	stopGrace = time.Second
	// workAge is how long a hook alone is believed that the agent works. No tool that reports in between lasts longer
	// without a word, and an agent older than session files may have been interrupted without one.
	workAge = 30 * time.Minute
	// maxAsks bounds the questions that are open at once; subagents ask at the same time.
	maxAsks = 64
)

// claim is what one piece of evidence says.
type claim struct {
	state  rtapi.AgentState
	why    rtapi.WaitingFor
	prompt string
	at     time.Time
	by     string // the evidence, for people
}

// ask is a question that an agent has put to its user.
type ask struct {
	agent string // the subagent that asks, "" for the agent itself
	claim
}

// evidence is everything known of one run of an agent.
type evidence struct {
	// started is when the process started, zero when it was running before anybody looked.
	started time.Time
	edge    claim          // of the newest hook that says something about the state
	asks    map[string]ask // open questions, by agent and call
	newest  time.Time      // the newest hook of any kind
	compact string         // what began the present compaction: manual or auto
	lately  string         // what the newest tool is to do
	queue   bool           // a prompt was given while the agent worked: another turn may begin without a hook
	more    bool           // so it was when the newest turn ended

	file *sessionFile // nil without a valid one
	tail tail
}

// asking names the tools that are a question by themselves.
func asking(tool string) (rtapi.WaitingFor, bool) {
	switch tool {
	case "AskUserQuestion":
		return rtapi.ForQuestion, true
	case "ExitPlanMode":
		return rtapi.ForPlan, true
	}
	return rtapi.ForPermission, false
}

// hook takes what a hook told. One that is older than what is known already, because it was spooled or overtaken, still
// counts for what only it says.
func (e *evidence) hook(p rtapi.HookPost) {
	ev := p.Event
	if p.At.After(e.newest) {
		e.newest = p.At
	}
	c := claim{at: p.At, by: "hook " + ev.Name, prompt: ev.Text}
	switch ev.Name {
	case "SessionStart":
		if ev.Source == "compact" && e.compact != "manual" {
			return // a compaction in the middle of a turn, which goes on
		}
		e.wait(c, rtapi.ForPrompt)
	case "UserPromptSubmit":
		e.queue = e.edge.state == rtapi.AgentWorking && p.At.After(e.edge.at)
		e.work(c)
	case "PreCompact":
		e.compact = ev.Source
		e.work(c)
	case "PreToolUse":
		e.lately = ev.Text
		if why, asks := asking(ev.Tool); asks {
			e.ask(ev, c, why)
			return
		}
		e.act(ev, c)
	case "PermissionRequest":
		why, _ := asking(ev.Tool)
		e.ask(ev, c, why)
	case "PostToolUse", "PostToolUseFailure":
		e.answer(ev, p.At, ev.Call)
		e.act(ev, c)
	case "PostToolBatch":
		e.answer(ev, p.At, "")
		e.act(ev, c)
	case "SubagentStop":
		e.answer(ev, p.At, "")
	case "Stop", "StopFailure":
		if ev.AgentID != "" {
			return
		}
		e.answer(ev, p.At, "")
		e.more, e.queue = e.queue, false
		switch {
		case ev.Name == "StopFailure":
			e.wait(c, rtapi.ForError)
		case ev.Subagents > 0:
			c.by += ", a subagent goes on"
			e.work(c)
		default:
			e.wait(c, rtapi.ForTurnEnd)
		}
	case "Notification":
		e.notify(ev, c)
	}
}

// notify takes a notification, which comes late: 6 s after a question that is still open, 60 s after a turn's end. It
// says that something waits; what, is known better from before.
func (e *evidence) notify(ev rtapi.HookEvent, c claim) {
	c.by += " " + ev.Notification
	switch {
	case len(e.asks) > 0:
	case ev.Notification == "idle_prompt", ev.Notification == "" && strings.Contains(ev.Text, "waiting for your input"):
		if e.edge.state != rtapi.AgentWaiting {
			c.prompt = ""
			e.wait(c, rtapi.ForPrompt)
		}
	case ev.Notification == "permission_prompt", ev.Notification == "" && strings.Contains(ev.Text, "permission"):
		if e.lately != "" {
			c.prompt = e.lately
		}
		e.ask(ev, c, rtapi.ForPermission)
	case ev.Notification == "auth_success":
	default:
		e.ask(ev, c, rtapi.ForDialog)
	}
}

// act notes work of the agent itself. A subagent's work says nothing about what the agent waits for.
func (e *evidence) act(ev rtapi.HookEvent, c claim) {
	if ev.AgentID == "" {
		c.by += " " + ev.Tool
		e.work(c)
	}
}

func (e *evidence) work(c claim) {
	c.state, c.prompt = rtapi.AgentWorking, ""
	e.take(c)
	if !strings.HasPrefix(c.by, "hook UserPromptSubmit") {
		return
	}
	// A prompt can only be given where no dialog of the agent itself is open.
	e.answer(rtapi.HookEvent{}, c.at, "")
}

func (e *evidence) wait(c claim, why rtapi.WaitingFor) {
	c.state, c.why = rtapi.AgentWaiting, why
	e.take(c)
}

func (e *evidence) take(c claim) {
	if !c.at.Before(e.edge.at) {
		c.by = strings.TrimSpace(c.by)
		e.edge = c
	}
}

// ask notes a question. One that comes after its own answer is not open any more.
func (e *evidence) ask(ev rtapi.HookEvent, c claim, why rtapi.WaitingFor) {
	if e.asks == nil {
		e.asks = map[string]ask{}
	}
	if ev.AgentID == "" && c.at.Before(e.edge.at) || len(e.asks) >= maxAsks {
		return
	}
	key := ev.AgentID + "\x00" + ev.Call
	if old, ok := e.asks[key]; ok {
		c.at = old.at
	}
	c.state, c.why = rtapi.AgentWaiting, why
	c.by = strings.TrimSpace(c.by + " " + ev.Tool)
	e.asks[key] = ask{agent: ev.AgentID, claim: c}
}

// answer closes the questions of one agent that were put before at: the one of call, or all of them. A question that came
// without a call is closed by any.
func (e *evidence) answer(ev rtapi.HookEvent, at time.Time, call string) {
	for key, a := range e.asks {
		known := strings.TrimPrefix(key, a.agent+"\x00")
		if a.agent == ev.AgentID && !a.at.After(at) && (call == "" || known == "" || known == call) {
			delete(e.asks, key)
		}
	}
}

// settle closes the questions that were put before at, whoever put them.
func (e *evidence) settle(at time.Time) {
	for key, a := range e.asks {
		if a.at.Before(at) {
			delete(e.asks, key)
		}
	}
}

// setFile takes what the session file says now; nil when there is none, or none of a living process.
func (e *evidence) setFile(f *sessionFile) {
	e.file = f
	if f != nil && f.Status != "waiting" {
		e.settle(f.since())
	}
}

// setTail takes what the transcript says.
func (e *evidence) setTail(t tail) {
	e.tail = t
	if !t.interrupted.IsZero() {
		e.settle(t.interrupted)
	}
}
