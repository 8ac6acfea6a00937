package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

func (p *program) sendCommand() *cobra.Command {
	var r sessions.InputRequest
	cmd := &cobra.Command{
		Use:   "send ID [TEXT]",
		Short: "type text and keys into a session",
		Args:  arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Text = strings.Join(args[1:], "")
			if r.Text == "" && len(r.Keys) == 0 && !r.Enter {
				return usage("there is nothing to send", "give a text, --key or --enter")
			}
			return withSession(cmd.Context(), args[0], func(ctx context.Context, client *sessionclient.Client, s sessions.Session) error {
				if err := client.Input(ctx, s.ID, r); err != nil || !p.json {
					return err
				}
				return p.printJSON(map[string]any{"id": s.ID, "sent": true})
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&r.Enter, "enter", false, "press Enter after the text and the keys")
	f.StringArrayVar(&r.Keys, "key", nil, "a key by tmux's name, as C-c or Up; may be given several times")
	return cmd
}
