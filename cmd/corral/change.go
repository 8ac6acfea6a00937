package main

import (
	"context"

	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

// The verbs that change one session: restart, stop, close, rename, rm.

func (p *program) restartCommand() *cobra.Command {
	var latest, fresh bool
	cmd := p.changeCommand("restart ID", "start an ended session again: same id, title, directory and conversation, a fresh process",
		func(ctx context.Context, client *sessionclient.Client, s sessions.Session) (sessions.Session, error) {
			choice := sessions.ConversationOwn
			switch {
			case latest && fresh:
				return s, usage("--latest and --fresh exclude each other", "give one of them")
			case latest:
				choice = sessions.ConversationLatest
			case fresh:
				choice = sessions.ConversationFresh
			}
			return client.RestartIn(ctx, s.ID, choice)
		})
	cmd.Flags().BoolVar(&latest, "latest", false, "an agent: go on with the newest conversation of its directory that no other session runs")
	cmd.Flags().BoolVar(&fresh, "fresh", false, "an agent: begin a new conversation")
	return cmd
}

func (p *program) stopCommand() *cobra.Command {
	return p.changeCommand("stop ID", "ask a session's program to end; after 10 s it is killed",
		func(ctx context.Context, client *sessionclient.Client, s sessions.Session) (sessions.Session, error) {
			return client.Stop(ctx, s.ID)
		})
}

func (p *program) closeCommand() *cobra.Command {
	return p.changeCommand("close ID", "give up a RECOVERABLE session: it becomes STOPPED and nothing is started",
		func(ctx context.Context, client *sessionclient.Client, s sessions.Session) (sessions.Session, error) {
			return client.Close(ctx, s.ID)
		})
}

// changeCommand is a verb that changes one session and answers with it.
func (p *program) changeCommand(use, short string, change func(context.Context, *sessionclient.Client, sessions.Session) (sessions.Session, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(cmd.Context(), args[0], func(ctx context.Context, client *sessionclient.Client, s sessions.Session) error {
				s, err := change(ctx, client, s)
				if err != nil {
					return err
				}
				return p.sayState(s)
			})
		},
	}
}

func (p *program) renameCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rename ID TITLE", Short: "give a session another title", Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(cmd.Context(), args[0], func(ctx context.Context, client *sessionclient.Client, s sessions.Session) error {
				s, err := client.Update(ctx, s.ID, sessions.UpdateRequest{Title: &args[1]})
				if err != nil {
					return err
				}
				return p.sayState(s)
			})
		},
	}
}

func (p *program) rmCommand() *cobra.Command {
	var force, keepJournal bool
	cmd := &cobra.Command{
		Use: "rm ID", Short: "remove an ended session, with its screen, history and journal", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(cmd.Context(), args[0], func(ctx context.Context, client *sessionclient.Client, s sessions.Session) error {
				remove := client.Remove
				if keepJournal {
					remove = client.RemoveKeepingJournal
				}
				if err := remove(ctx, s.ID, force); err != nil {
					return err
				}
				return p.say(map[string]any{"id": s.ID, "removed": true}, "%s  %s removed", s.ID.Short(), sessions.CleanTitle(s.Title))
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also when it is alive: kill its program")
	cmd.Flags().BoolVar(&keepJournal, "keep-journal", false, "leave its journal in the data directory")
	return cmd
}

// sayState prints a session in one line.
func (p *program) sayState(s sessions.Session) error {
	return p.say(s, "%s  %s  %s", s.ID.Short(), stateWord(s), sessions.CleanTitle(s.Title))
}
