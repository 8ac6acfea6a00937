package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

func (p *program) waitCommand() *cobra.Command {
	var states []string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait ID",
		Short: "wait until a session is in a state",
		Args:  arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := parseStates(states, sessions.States())
			if err != nil {
				return err
			}
			if len(want) == 0 {
				return usage("corral wait needs a state to wait for", "as in: corral wait ID --state STOPPED")
			}
			if timeout < 0 {
				return usage("--timeout wants a time that is not negative", "as in: --timeout 30s")
			}
			return withServer(cmd.Context(), func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
				s, err := find(ctx, client, args[0])
				if err != nil {
					return err
				}
				s, err = client.Wait(ctx, s.ID, sessions.WaitRequest{States: want, Timeout: timeout})
				if err != nil {
					return err
				}
				return p.sayState(s)
			})
		},
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "the state to wait for; any of several")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this time, as 30s (default: never)")
	return cmd
}
