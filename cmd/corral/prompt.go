package main

import (
	"context"

	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

func (p *program) promptCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "prompt ID TEXT", Short: "give an agent that waits at its prompt the next one", Args: arguments(2, 2),
		Long: `Give an agent its next prompt. It is given only while the agent waits at its prompt; corral prompt returns when
the agent has begun with it. While it works, or asks something, the text is refused: typed into a dialog it would
choose something. Line breaks in the text stay line breaks.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(cmd.Context(), args[0], func(ctx context.Context, client *sessionclient.Client, s sessions.Session) error {
				s, err := client.Prompt(ctx, s.ID, sessions.PromptRequest{Text: args[1], Force: force})
				if err != nil {
					return err
				}
				return p.sayState(s)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "type the text whatever the agent is doing, also into an open dialog")
	return cmd
}
