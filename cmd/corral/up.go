package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (p *program) upCommand() *cobra.Command {
	return &cobra.Command{
		Use: "up", Short: "start everything, and wait until it runs", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), startPatience)
			defer cancel()
			c, err := open()
			if err != nil {
				return err
			}
			if err := c.raise(); err != nil {
				return err
			}
			if err := c.ensure(ctx); err != nil {
				return err
			}
			client := c.client(nil)
			defer client.CloseIdleConnections()
			if err := untilReady(ctx, client, allUp); err != nil {
				return err
			}
			return p.status(cmd.Context(), c)
		},
	}
}
