package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"corral/cmd/internal/config"
	"corral/sessions"
	"corral/sessions/sessionclient"
	"corral/tui/rawattach"
	"corral/tui/terminal"
)

func (p *program) attachCommand() *cobra.Command {
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "attach [ID]",
		Short: "give the whole terminal to a session; the prefix key (ctrl+\\) detaches",
		Args:  arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withServer(cmd.Context(), func(ctx context.Context, c *corral, client *sessionclient.Client) error {
				s, err := c.toAttach(ctx, client, args)
				if err != nil {
					return err
				}
				return p.attach(ctx, c, s, readOnly)
			})
		},
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "look only")
	return cmd
}

// toAttach finds the named session, or without a name the one that the user looked at last, or used last.
func (c *corral) toAttach(ctx context.Context, client *sessionclient.Client, args []string) (sessions.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := client.List(ctx)
	if err != nil {
		return sessions.Session{}, err
	}
	if len(args) == 0 {
		return latest(list, c.focus())
	}
	s, err := sessions.Resolve(list, args[0])
	if err == nil && s.State.Ended() {
		err = &sessions.Error{
			Code:    sessions.CodeConflict,
			Message: fmt.Sprintf("%s is %s: nothing runs in it", s.ID.Short(), s.State),
			Hint:    "corral restart " + s.ID.Short() + " starts it again",
		}
	}
	return s, err
}

func latest(list []sessions.Session, focus sessions.ID) (sessions.Session, error) {
	var best sessions.Session
	for _, s := range list {
		if !s.State.Live() {
			continue
		}
		if s.ID == focus {
			return s, nil
		}
		if best.ID == "" || s.LastActivityAt.After(best.LastActivityAt) {
			best = s
		}
	}
	if best.ID == "" {
		return best, &sessions.Error{Code: sessions.CodeNotFound, Message: "no session is running", Hint: "make one with: corral new"}
	}
	return best, nil
}

func (p *program) attach(ctx context.Context, c *corral, s sessions.Session, readOnly bool) error {
	prefix, err := prefixKey(c.config)
	if err != nil {
		return err
	}
	log, closeLog := c.log(dashboardLog)
	defer closeLog()
	client := c.client(c.ensure)
	defer client.CloseIdleConnections()
	out, err := rawattach.Run(ctx, p.stdin, p.stdout, func(o sessions.StreamOptions, h sessions.StreamHandler) rawattach.Stream {
		return client.Attach(s.ID, o, h)
	}, rawattach.Options{
		Env: c.terminalEnv(), Replay: c.replay(), Client: c.viewer("attach"), ReadOnly: readOnly,
		StatePath: c.paths.Terminals(), Prefix: prefix, Clipboard: rawattach.Clipboard(c.config.Clipboard), Log: log,
	})
	if err != nil {
		return err
	}
	return p.parted(s, out)
}

// parted says how an attachment ended.
func (p *program) parted(s sessions.Session, out rawattach.Outcome) error {
	switch out.How {
	case rawattach.Detached:
		return p.say(map[string]any{"id": s.ID, "ended": false}, "detached from %s, which runs on; come back with: corral attach %s",
			sessions.CleanTitle(s.Title), s.ID.Short())
	case rawattach.Exited:
		how := string(out.State)
		if out.ExitCode != nil {
			how = fmt.Sprintf("%s with exit code %d", how, *out.ExitCode)
		}
		return p.say(map[string]any{"id": s.ID, "ended": true, "state": out.State, "exitCode": out.ExitCode},
			"%s is %s; start it again with: corral restart %s", sessions.CleanTitle(s.Title), how, s.ID.Short())
	case rawattach.Cut:
		if out.Err == nil {
			return errors.New("the connection to the session was cut")
		}
		return out.Err
	case rawattach.HungUp:
		return nil // nobody reads it
	}
	return nil
}

func prefixKey(c config.Config) (terminal.Key, error) {
	key, err := terminal.ParseKey(c.Prefix)
	if err != nil {
		return terminal.Key{}, usage("the configured prefix cannot be used: "+err.Error(), "change prefix in the configuration file")
	}
	return key, nil
}

func (c *corral) terminalEnv() terminal.Env {
	return terminal.Env{Term: c.env.Term, ColorTerm: c.env.ColorTerm, NoColor: c.env.NoColor, Locale: c.env.Locale}
}

// focus returns the session that the dashboard showed last, "" when it is not known.
func (c *corral) focus() sessions.ID {
	b, err := os.ReadFile(c.paths.Focus())
	if err != nil || len(b) > 64 {
		return ""
	}
	return sessions.ID(b)
}

// saveFocus remembers the session that the dashboard showed last. It is a convenience: when it cannot be written the
// next dashboard starts at the top.
func (c *corral) saveFocus(id sessions.ID) {
	tmp := fmt.Sprintf("%s.%d", c.paths.Focus(), time.Now().UnixNano())
	if err := os.WriteFile(tmp, []byte(id), 0o600); err != nil {
		return
	}
	if err := os.Rename(tmp, c.paths.Focus()); err != nil {
		_ = os.Remove(tmp)
	}
}
