package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

func (p *program) eventsCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "events [ID]",
		Short: "print what happened to the sessions, or to one",
		Args:  arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withServer(cmd.Context(), func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
				var id sessions.ID
				if len(args) == 1 {
					s, err := find(ctx, client, args[0])
					if err != nil {
						return err
					}
					id = s.ID
				}
				return p.events(ctx, client, id, follow)
			})
		},
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "go on with what happens next, until interrupted")
	return cmd
}

func (p *program) events(ctx context.Context, client *sessionclient.Client, id sessions.ID, follow bool) error {
	all := []sessions.Event{} // [], not null
	err := client.EventsFollow(ctx, id, 0, follow, func(e sessions.Event) error {
		switch {
		case p.json && follow:
			return p.printLine(e)
		case p.json:
			all = append(all, e)
			return nil
		}
		_, err := fmt.Fprintln(p.stdout, eventLine(e, id == ""))
		return err
	})
	if err != nil || !p.json || follow {
		return err
	}
	return p.printJSON(all)
}

// eventLine is an event for people.
func eventLine(e sessions.Event, withSession bool) string {
	line := e.At.Local().Format(time.DateTime)
	if withSession {
		line += "  " + e.SessionID.Short()
	}
	from := string(e.From)
	if from == "" {
		from = "(new)"
	}
	if e.From == e.To {
		line += "  " + from // something else than the state changed
	} else {
		line += fmt.Sprintf("  %s -> %s", from, e.To)
	}
	if e.ExitCode != nil {
		line += fmt.Sprintf(" %d", *e.ExitCode)
	}
	if e.Reason != "" {
		line += "  " + sessions.CleanLine(e.Reason, 300)
	}
	if e.Evidence != "" {
		line += " (" + sessions.CleanLine(e.Evidence, 300) + ")"
	}
	return line
}
