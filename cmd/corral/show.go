package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

func (p *program) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "explain a session: what it is, what happened, what to do next",
		Args:  arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(cmd.Context(), args[0], func(ctx context.Context, client *sessionclient.Client, s sessions.Session) error {
				if p.json {
					return p.printJSON(s)
				}
				events, err := client.Events(ctx, s.ID)
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(p.stdout, explain(s, events, time.Now()))
				return err
			})
		},
	}
}

// explain tells a person all about a session.
func explain(s sessions.Session, events []sessions.Event, now time.Time) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-13s %s\n", name, value)
		}
	}
	fmt.Fprintln(&b, sessions.CleanTitle(s.Title))
	line("id", string(s.ID))
	since := s.StateSince
	if since.IsZero() { // a server of an earlier version
		since = s.UpdatedAt
	}
	state := fmt.Sprintf("%s for %s", stateWord(s), age(now, since))
	if s.StateReason != "" {
		state += ": " + sessions.CleanLine(s.StateReason, 300)
	}
	line("state", state)
	line("since", since.Local().Format(time.DateTime))
	line("seen", sessions.CleanLine(s.StateEvidence, 300))
	line("means", meaning(s.State))
	line("kind", string(s.Kind))
	line("command", printable(strings.Join(s.Args, " "), false))
	line("directory", sessions.CleanLine(s.CWD, sessions.MaxPath))
	line("project", sessions.CleanTitle(s.Project))
	line("conversation", sessions.CleanLine(s.ConversationID, 100))
	line("node", s.Node)
	line("viewers", fmt.Sprintf("%d attached, %d watching", s.Attached, s.Watching))
	line("made", s.CreatedAt.Local().Format(time.DateTime))
	if len(events) > 0 {
		fmt.Fprintln(&b, "\nwhat happened")
		for _, e := range events {
			fmt.Fprintln(&b, "  "+eventLine(e, false))
		}
	}
	fmt.Fprintln(&b, "\nnext: "+next(s))
	return b.String()
}

// meaning says what a state is, in words.
func meaning(s sessions.State) string {
	switch s {
	case sessions.Starting:
		return "asked for; its process is not confirmed yet"
	case sessions.Running:
		return "alive, and somebody is attached"
	case sessions.Detached:
		return "alive, and nobody is attached"
	case sessions.WaitingForInput:
		return "the agent waits for you"
	case sessions.Stopping:
		return "asked to stop; killed after 10 s"
	case sessions.Stopped:
		return "ended by itself with exit code 0, or stopped or closed by you"
	case sessions.Failed:
		return "ended with another exit code or by a signal, or never started"
	case sessions.Recoverable:
		return "its process was lost with the tmux server or the machine; title, directory and arguments are kept"
	}
	return ""
}

// next says what a person would do with a session in this state.
func next(s sessions.Session) string {
	id := s.ID.Short()
	switch s.State {
	case sessions.Running, sessions.Detached, sessions.WaitingForInput:
		return "corral attach " + id
	case sessions.Starting, sessions.Stopping:
		return "corral wait " + id + " --state " + string(s.State.Next()[0])
	case sessions.Stopped, sessions.Failed:
		return "corral restart " + id + ", or corral rm " + id
	case sessions.Recoverable:
		return "corral restart " + id + " starts it again, corral close " + id + " gives it up"
	}
	return "corral ls"
}
