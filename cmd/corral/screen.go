package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

func (p *program) screenCommand() *cobra.Command {
	var colours bool
	cmd := &cobra.Command{
		Use:   "screen ID",
		Short: "print what a session shows now, or showed last",
		Args:  arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(cmd.Context(), args[0], func(ctx context.Context, client *sessionclient.Client, s sessions.Session) error {
				screen, err := client.Screen(ctx, s.ID)
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(screen)
				}
				if !screen.At.IsZero() && term.IsTerminal(p.stderr.Fd()) {
					_, _ = fmt.Fprintln(p.stderr, "as of "+screen.At.Local().Format(time.DateTime)+"; the session has ended")
				}
				text := screen.Text
				if colours {
					text = screen.ANSI
				}
				return p.printLines(strings.Split(text, "\n"), colours)
			})
		},
	}
	cmd.Flags().BoolVar(&colours, "ansi", false, "with colours")
	return cmd
}

func (p *program) historyCommand() *cobra.Command {
	var lines int
	var colours bool
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "print what has scrolled off a session's screen",
		Args:  arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 0 {
				return usage("--lines wants 0 or more", "0 means all there are")
			}
			return withSession(cmd.Context(), args[0], func(ctx context.Context, client *sessionclient.Client, s sessions.Session) error {
				h, err := client.History(ctx, s.ID, lines, 0)
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(h)
				}
				return p.printLines(h.Lines, colours)
			})
		},
	}
	cmd.Flags().IntVar(&lines, "lines", 0, "only the newest N lines; 0 means all there are")
	cmd.Flags().BoolVar(&colours, "ansi", false, "with colours")
	return cmd
}

// printLines prints lines of a terminal, without whatever could do more than show.
func (p *program) printLines(lines []string, colours bool) error {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(printable(l, colours))
		if colours {
			b.WriteString("\x1b[m")
		}
		b.WriteByte('\n')
	}
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}
