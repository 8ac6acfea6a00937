package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"corral/cmd/internal/paths"
	"corral/cmd/internal/sock"
	"corral/cmd/internal/spawn"
	"corral/sessions"
)

// body is what makes a role itself. It returns when ctx ends.
type body func(ctx context.Context, c *corral, l *sock.Listener, log *slog.Logger) error

// check says why a role cannot run here, before it listens; nil: nothing speaks against it.
type check func(ctx context.Context, c *corral) error

// roleCommand is the verb of a background role: it starts the role, or with --foreground is the role.
func (p *program) roleCommand(name paths.Role, short string, check check, run body) *cobra.Command {
	var foreground bool
	var starterFD int
	cmd := &cobra.Command{
		Use: string(name), Short: short, Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !foreground {
				return p.startRole(cmd.Context(), name)
			}
			var starter *spawn.Starter
			if starterFD >= 0 {
				var err error
				if starter, err = spawn.NewStarter(starterFD); err != nil {
					return err
				}
			}
			err := p.runRole(cmd.Context(), name, starter, check, run)
			if err != nil {
				starter.Failed(err)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&foreground, "foreground", false, "run here instead of in the background")
	flag := strings.TrimLeft(spawn.StarterFlag, "-")
	cmd.Flags().IntVar(&starterFD, flag, -1, "descriptor to report the start to")
	_ = cmd.Flags().MarkHidden(flag) // it exists
	return cmd
}

// startRole starts a role in the background, also where autostart is off: somebody asked for it.
func (p *program) startRole(ctx context.Context, name paths.Role) error {
	c, err := open()
	if err != nil {
		return err
	}
	if err := c.paths.Prepare(); err != nil {
		return err
	}
	if err := c.role(name).Ensure(ctx); err != nil {
		return err
	}
	pid, err := sock.Holder(c.paths.Lock(name))
	if err != nil {
		return err
	}
	return p.say(map[string]any{"role": name, "pid": pid}, "the %s runs as process %d", name, pid)
}

// runRole is a role: one per data directory, on its socket, with its log, until it is told to end.
func (p *program) runRole(ctx context.Context, name paths.Role, starter *spawn.Starter, check check, run body) error {
	// A role outlives the terminal it was started from. The signal is caught, not ignored: ignoring it would be
	// inherited by tmux and every shell in it, and those could then not be hung up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	c, err := open()
	if err != nil {
		return err
	}
	if err := c.paths.Prepare(); err != nil {
		return err
	}
	lock, err := sock.Acquire(c.paths.Lock(name))
	if held := (*sock.HeldError)(nil); errors.As(err, &held) {
		starter.Held()
		return p.say(map[string]any{"role": name, "pid": held.PID}, "the %s runs already, as process %d", name, held.PID)
	}
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // the process ends
	if starter != nil && c.down() {
		return &sessions.Error{
			Code: sessions.CodeUnreachable, Message: "this Corral was stopped by corral down", Hint: "start it again with: corral up",
		}
	}
	log, closeLog := c.log(name)
	defer closeLog()
	if check != nil {
		if err := check(ctx, c); err != nil {
			log.Error("not started", "error", err)
			return err
		}
	}
	listener, err := sock.Listen(c.paths.Socket(name), log)
	if err != nil {
		log.Error("not started", "error", err)
		return err
	}
	defer listener.Close()
	log.Info("started", "version", version, "socket", c.paths.Socket(name))
	starter.Ready()
	if err := run(ctx, c, listener, log); err != nil && ctx.Err() == nil {
		log.Error("ended", "error", err)
		return fmt.Errorf("run the %s: %w", name, err)
	}
	log.Info("ended")
	return nil
}
