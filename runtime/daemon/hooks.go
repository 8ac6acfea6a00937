package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	posts "corral/runtime/hook"
	"corral/runtime/internal/agent"
	"corral/runtime/internal/hook"
	"corral/runtime/internal/journal"
	"corral/runtime/internal/tmux"
	"corral/runtime/launch"
	"corral/runtime/rtapi"
)

// maxEvidence bounds what a record of a hook says, in bytes.
const maxEvidence = 200

// hooks are the ways in which agents tell what they do: the directory they are started with, the receiver of their posts
// and the watcher of what they leave on disk.
type hooks struct {
	dir      string
	receiver *hook.Receiver
	watcher  *agent.Watcher
}

// newHooks makes the hooks of the runtime that listens on socket.
func newHooks(dataDir, socket string, inv *inventory, journals *journaling, log *slog.Logger) (hooks, error) {
	h := hooks{dir: filepath.Join(dataDir, "hooks")}
	if err := posts.Prepare(h.dir, socket); err != nil {
		return hooks{}, fmt.Errorf("make the hooks' directory: %w", err)
	}
	h.watcher = agent.New(agent.Config{Publish: inv.setAgent, Log: log})
	h.receiver = hook.New(hook.Config{
		Dir: h.dir, TokenFile: filepath.Join(dataDir, "hook-token"), Pane: inv.agentPane, Log: log,
		Deliver: func(ctx context.Context, id string, run int, post rtapi.HookPost) error {
			if err := h.watcher.Hook(ctx, id, run, post); err != nil {
				return err
			}
			journals.hook(id, post)
			return nil
		},
	})
	return h, nil
}

// listed is told of each listing: before it is booked the watcher learns of new terminals, so that no hook of them comes
// too early.
func (h hooks) listed(terminals []rtapi.Terminal) {
	targets := []agent.Target{}
	for _, t := range terminals {
		if t.Hooks {
			targets = append(targets, agent.Target{ID: t.ID, Run: t.Run, PID: t.PanePID, Dead: t.Dead, Conversation: t.Conversation})
		}
	}
	h.watcher.Set(targets)
}

// equip gives a program its token, and the step that finds the agent in the user's PATH and makes its settings.
func (h hooks) equip(ctx context.Context, self string, req rtapi.LaunchRequest, spec *launch.Spec) error {
	token, err := h.receiver.Token(ctx, req.Meta.ID, req.Meta.Run)
	if err != nil {
		return err
	}
	spec.Argv = append([]string{self, launch.AgentVerb, h.dir}, req.Argv...)
	spec.Env = append(append([]string(nil), req.Env...), posts.TokenVariable+"="+token)
	return nil
}

// hook records what an agent told.
func (j *journaling) hook(id string, post rtapi.HookPost) {
	ev := post.Event
	evidence := ev.Conversation
	for _, more := range []string{ev.Source, ev.Reason, ev.Tool, ev.Notification} {
		if more != "" {
			evidence += " " + more
		}
	}
	if len(evidence) > maxEvidence {
		evidence = evidence[:maxEvidence]
	}
	j.client.Record(id, journal.Record{Kind: journal.Hook, Details: journal.Details{Name: ev.Name, Evidence: evidence}})
}

// agents is what is known of agents, by session id.
type agents map[string]runAgent

type runAgent struct {
	run int
	rtapi.Agent
}

// setAgent is told by the watcher of a change.
func (inv *inventory) setAgent(id string, run int, a rtapi.Agent) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.ended {
		return
	}
	inv.agents[id] = runAgent{run, a}
	inv.publishLocked(rtapi.Event{Type: rtapi.EventAgent, ID: id, Run: run, Agent: &a})
}

// of returns what is known of a terminal's agent in its present run.
func (a agents) of(t rtapi.Terminal) *rtapi.Agent {
	known, ok := a[t.ID]
	if !ok || known.run != t.Run {
		return nil
	}
	return &known.Agent
}

// agentPane finds the pane of a session.
func (inv *inventory) agentPane(id string) (hook.Pane, bool) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	for _, t := range inv.known.Terminals {
		if t.ID == id {
			p := inv.panes[id]
			return hook.Pane{Run: t.Run, Pane: p.ID, PID: p.PID}, true
		}
	}
	return hook.Pane{}, false
}

// begin settles the hooks' token file after the first listing.
func (h hooks) begin(ctx context.Context, panes []tmux.Pane) error {
	alive := false
	for _, p := range panes {
		alive = alive || !p.Dead && len(p.Session) > len(sessionPrefix) && p.Session[:len(sessionPrefix)] == sessionPrefix
	}
	if err := h.receiver.Begin(ctx, alive); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
