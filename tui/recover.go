package tui

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"corral/sessions"
	"corral/sessions/recovery"
	"corral/tui/dialog"
)

// recovering is the way of lost sessions back.
type recovering struct {
	looked  bool                   // sessions were lost, and their plan was asked for
	page    *dialog.Recover        // of the run that goes on, nil when none does
	results <-chan recovery.Result // of that run; its end is the run's
	stop    context.CancelFunc     // ends that run
	summary *recovery.Summary      // filled in when results is closed
}

// Messages of a recovery.
type (
	// recoveryPlannedMsg brings a plan; asked says that the user wanted it, and did not only open the dashboard.
	recoveryPlannedMsg struct {
		plan  []sessions.Recovery
		asked bool
		err   error
	}
	// lostSettledMsg says that some time ago so many sessions were lost.
	lostSettledMsg struct{ count int }
	// recoveryResultMsg brings one result; over says that it was the last and the run has ended.
	recoveryResultMsg struct {
		result recovery.Result
		over   bool
	}
)

// lost counts the sessions that can be recovered.
func (a *App) lost() int {
	n := 0
	for _, s := range a.sessions {
		if s.State == sessions.Recoverable {
			n++
		}
	}
	return n
}

// lostSettle is how long the number of lost sessions must have been the same before their plan is asked for: after a
// reboot the server finds them one after the other.
const lostSettle = 500 * time.Millisecond

// lookForLost asks, the first time that sessions are lost, how they would come back.
func (a *App) lookForLost() tea.Cmd {
	if a.recovering.looked || !a.listed || a.lost() == 0 {
		return nil
	}
	a.recovering.looked = true
	return a.work.after(lostSettle, lostSettledMsg{count: a.lost()})
}

func (a *App) lostSettled(m lostSettledMsg) tea.Cmd {
	switch now := a.lost(); now {
	case 0:
		a.recovering.looked = false // somebody else was faster
		return nil
	case m.count:
		return a.planRecovery(false)
	default:
		return a.work.after(lostSettle, lostSettledMsg{count: now})
	}
}

func (a *App) planRecovery(asked bool) tea.Cmd {
	return a.work.do(recoveryDeadline, func(ctx context.Context) tea.Msg {
		plan, err := a.backend.Recovery(ctx, "")
		return recoveryPlannedMsg{plan: plan, asked: asked, err: err}
	})
}

// recoverKey opens the page of the run that goes on, or asks for a plan.
func (a *App) recoverKey() tea.Cmd {
	if page := a.recovering.page; page != nil {
		a.overlay.Open(page)
		return nil
	}
	return tea.Batch(a.planRecovery(true), a.say("looking at what was lost...", false))
}

// recoveryPlanned shows a plan: when it was asked for, and by itself after a reboot, unless the user is in the middle of
// something.
func (a *App) recoveryPlanned(m recoveryPlannedMsg) tea.Cmd {
	rebooted := 0
	for _, r := range m.plan {
		if r.Rebooted {
			rebooted++
		}
	}
	switch {
	case m.err != nil && m.asked:
		return a.complain("look at what was lost", m.err)
	case m.err != nil:
		a.log.Warn("lost sessions not looked at", "error", m.err)
		return nil
	case len(m.plan) == 0 && m.asked:
		return a.say("no session is lost", false)
	case len(m.plan) == 0:
		return nil
	case m.asked, rebooted > 0 && a.overlay.Top() == nil && !a.focused && !a.tasks.reading && !a.history.reading:
		a.overlay.Open(dialog.NewRecover(a.keys, m.plan, rebooted > 0))
		a.dirty = true
		return nil
	}
	return a.say(fmt.Sprintf("%d lost; B says how to bring them back", len(m.plan)), false)
}

// beginRecovery carries out the plan of a page.
func (a *App) beginRecovery(page *dialog.Recover) tea.Cmd {
	if a.recovering.page != nil {
		return nil
	}
	plan := page.Begin()
	results := make(chan recovery.Result, len(plan))
	summary := new(recovery.Summary)
	ctx, stop := context.WithCancel(a.work.ctx)
	a.recovering.page, a.recovering.results, a.recovering.stop, a.recovering.summary = page, results, stop, summary
	carryOut := a.work.do(0, func(context.Context) tea.Msg {
		*summary = recovery.Run(ctx, plan, recovery.Config{Client: a.backend, Each: func(r recovery.Result) { results <- r }})
		close(results)
		return nil
	})
	return tea.Batch(carryOut, a.nextResult())
}

// nextResult waits for the next result of the run.
func (a *App) nextResult() tea.Cmd {
	results := a.recovering.results
	return a.work.do(0, func(context.Context) tea.Msg {
		r, ok := <-results
		return recoveryResultMsg{result: r, over: !ok}
	})
}

func (a *App) recoveryResult(m recoveryResultMsg) tea.Cmd {
	page := a.recovering.page
	a.dirty = true
	if !m.over {
		page.SetResult(m.result.Session.ID, string(m.result.Outcome), m.result.Reason)
		return a.nextResult()
	}
	a.recovering.stop()
	summary := *a.recovering.summary
	a.recovering.page, a.recovering.results, a.recovering.stop = nil, nil, nil
	page.Over(summary.String())
	return a.say(summary.String(), summary.Failed > 0)
}

// stopRecovery starts nothing more; what was started is still seen to.
func (a *App) stopRecovery() {
	if a.recovering.stop != nil {
		a.recovering.stop()
	}
}

// restartIn restarts a session in another conversation than its own.
func (a *App) restartIn(id sessions.ID, choice sessions.ConversationChoice) tea.Cmd {
	return a.work.do(requestDeadline, func(ctx context.Context) tea.Msg {
		s, err := a.backend.RestartIn(ctx, id, choice)
		return doneMsg{op: opRestart, id: id, session: s, err: err}
	})
}

// chooseConversation opens the choice that a refused restart offers, and reports whether there is one.
func (a *App) chooseConversation(m doneMsg) bool {
	choices := sessions.ChoicesOf(m.err)
	if m.op != opRestart || len(choices) == 0 {
		return false
	}
	a.overlay.Open(dialog.NewChoice(a.keys, a.sessions[m.id], explain(m.op, m.err), choices))
	a.dirty = true
	return true
}
