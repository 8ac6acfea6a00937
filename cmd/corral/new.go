package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"corral/sessions"
)

func (p *program) newCommand() *cobra.Command {
	var r sessions.CreateRequest
	var kind string
	cmd := &cobra.Command{
		Use:   "new [-- command...]",
		Short: "make a session and start it",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return usage("corral new takes its command after --", "as in: corral new -- "+strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Args, r.Kind = args, sessions.Kind(kind)
			return p.create(cmd.Context(), r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&kind, "kind", "", "shell, command, or an agent: claude, codex, gemini, opencode, aider or one of the configuration (default: shell, or command when one is given)")
	f.StringVar(&r.Title, "title", "", "title (default: the name of the directory)")
	f.StringVar(&r.CWD, "cwd", "", "working directory (default: this one)")
	f.StringVar(&r.Project, "project", "", "project, to group sessions by")
	f.StringVar(&r.ConversationID, "conversation", "", "conversation to go on with (an agent)")
	f.BoolVar(&r.NoInputJournal, "no-input-journal", false, "keep nothing of what is typed in the journal")
	f.StringArrayVar(&r.Env, "env", nil, "K=V for the program; may be given several times")
	return cmd
}

func (p *program) create(ctx context.Context, r sessions.CreateRequest) error {
	switch {
	case r.Kind == "" && len(r.Args) > 0:
		r.Kind = sessions.KindCommand
	case r.Kind == "":
		r.Kind = sessions.KindShell
	}
	for _, kv := range r.Env {
		if k, _, ok := strings.Cut(kv, "="); !ok || k == "" {
			return usage("--env wants K=V", "as in: --env LANG=C.UTF-8") // the value may be a secret: do not show it
		}
	}
	var err error
	if r.CWD, err = filepath.Abs(r.CWD); err != nil {
		return usage("this directory does not exist any more", "change to another one, or name one with --cwd")
	}
	if cols, rows, err := term.GetSize(p.stdout.Fd()); err == nil {
		r.Cols, r.Rows = cols, rows
	}
	c, err := open()
	if err != nil {
		return err
	}
	if err := c.raise(); err != nil {
		return err
	}
	client, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	c.linkAgent(slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s, err := client.Create(ctx, r)
	if err != nil {
		return err
	}
	return p.say(s, "%s  %s in %s; attach with: corral attach %s", s.ID.Short(), s.Title, s.CWD, s.ID.Short())
}
