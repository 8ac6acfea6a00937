package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

// taskStateWord is the state with the code that explains it, as FAILED 7.
func taskStateWord(t sessions.Task) string {
	if t.State == sessions.TaskFailed && t.ExitCode != nil {
		return fmt.Sprintf("%s %d", t.State, *t.ExitCode)
	}
	return string(t.State)
}

// runTime says how long a task has run; nothing where nobody knows.
func runTime(t sessions.Task, now time.Time) string {
	switch {
	case t.StartedAt == nil || t.State == sessions.TaskLost:
		return ""
	case t.EndedAt != nil:
		now = *t.EndedAt
	}
	d := max(0, now.Sub(*t.StartedAt))
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func (p *program) taskShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "explain a task: what it is, how it ended, what it used", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTaskServer(cmd.Context(), func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
				ctx, cancel := context.WithTimeout(ctx, callTimeout)
				defer cancel()
				t, err := findTask(ctx, client, args[0])
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(t)
				}
				_, err = fmt.Fprint(p.stdout, explainTask(t, time.Now()))
				return err
			})
		},
	}
}

// explainTask tells a person all about a task.
func explainTask(t sessions.Task, now time.Time) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-13s %s\n", name, value)
		}
	}
	stamp := func(at *time.Time) string {
		if at == nil {
			return ""
		}
		return at.Local().Format(time.DateTime)
	}
	fmt.Fprintln(&b, sessions.CleanTitle(t.Title))
	line("id", string(t.ID))
	state := taskStateWord(t)
	if t.Reason != "" {
		state += ": " + sessions.CleanLine(t.Reason, 500)
	}
	line("state", state)
	if t.Signal != nil {
		line("signal", fmt.Sprint(*t.Signal))
	}
	line("cancelled by", sessions.CleanLine(t.CancelledBy, 200))
	line("command", printable(strings.Join(t.Command, " "), false))
	line("directory", sessions.CleanLine(t.CWD, sessions.MaxPath))
	line("after", string(t.After))
	if t.Group != "" {
		line("group", fmt.Sprintf("%s, %d at once", sessions.CleanTitle(t.Group), t.GroupLimit))
	}
	line("node", t.Node)
	line("made", stamp(&t.CreatedAt))
	line("started", stamp(t.StartedAt))
	line("ended", stamp(t.EndedAt))
	line("ran for", runTime(t, now))
	if u := t.Usage; u != nil {
		line("cpu", fmt.Sprintf("%.2f s user, %.2f s system", u.UserSeconds, u.SystemSeconds))
		line("memory", fmt.Sprintf("%.1f MiB at most", float64(u.MemoryBytes)/(1<<20)))
		if a := u.Agent; a != nil {
			line("agent", fmt.Sprintf("%d tokens in, %d out, %d turns, $%.4f", a.InputTokens, a.OutputTokens, a.Turns, a.CostUSD))
			line("conversation", sessions.CleanLine(a.ConversationID, 100))
		}
	}
	if t.Strays > 0 {
		line("left behind", fmt.Sprintf("%d processes, which were ended", t.Strays))
	}
	fmt.Fprintln(&b, "\nnext: "+nextOfTask(t))
	return b.String()
}

func nextOfTask(t sessions.Task) string {
	id := t.ID.Short()
	if t.State.Ended() {
		return "corral task logs " + id + ", or corral task rm " + id
	}
	return "corral task logs -f " + id + ", or corral task cancel " + id
}

// The exit codes of task wait that are not the task's own, as timeout(1) and env(1) have them.
const (
	exitWaitTimeout = 124
	exitWaitFailed  = 125
)

// exitStatus is an end with a code that is no error: nothing is printed.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func (p *program) taskWaitCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait ID", Short: "wait for a task's end and exit with its code", Args: arguments(1, 1),
		Long: "wait for a task's end and exit with its code; 124 when --timeout passes first, 125 when there is no code to give",
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout < 0 {
				return usage("--timeout wants a time that is not negative", "as in: --timeout 30s")
			}
			err := p.waitTask(cmd.Context(), args[0], timeout)
			var status exitStatus
			switch {
			case err == nil || errors.As(err, &status) || errors.Is(err, context.Canceled):
				return err
			case errors.Is(err, sessions.ErrDeadline):
				_ = p.fail(err)
				return exitStatus(exitWaitTimeout)
			}
			_ = p.fail(err) // said here; the code is another one than usual
			return exitStatus(exitWaitFailed)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this time, as 30s (default: never)")
	return cmd
}

func (p *program) waitTask(ctx context.Context, name string, timeout time.Duration) error {
	return withTaskServer(ctx, func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		t, err := findTask(ctx, client, name)
		if err != nil {
			return err
		}
		if t, err = client.WaitTask(ctx, t.ID); err != nil {
			return err
		}
		if err := p.say(t, "%s  %s  %s", t.ID.Short(), taskStateWord(t), sessions.CleanTitle(t.Title)); err != nil {
			return err
		}
		return waitStatus(t)
	})
}

// waitStatus is the task's own code; one that says nothing of how it ended, as 0 of a cancelled task, is not given.
func waitStatus(t sessions.Task) error {
	switch {
	case t.State == sessions.TaskSucceeded:
		return nil
	case t.ExitCode != nil && *t.ExitCode != 0:
		return exitStatus(*t.ExitCode)
	}
	return exitStatus(exitWaitFailed)
}
