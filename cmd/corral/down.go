package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"corral/cmd/internal/paths"
	"corral/cmd/internal/sock"
	"corral/cmd/internal/spawn"
	"corral/runtime/rtclient"
	"corral/sessions"
	"corral/sessions/server"
)

const (
	downTimeout = time.Minute
	// endGrace is how long a role that was asked over its API may take; then it gets a signal, and later a kill.
	endGrace = 10 * time.Second
)

func (p *program) downCommand() *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "stop server, runtime and private PostgreSQL; the sessions run on", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), downTimeout)
			defer cancel()
			c, err := open()
			if err != nil {
				return err
			}
			if c.remote != "" {
				return usage("corral down stops only the Corral of this data directory", "unset CR_SERVER")
			}
			if err := c.stop(ctx); err != nil {
				return err
			}
			if p.json {
				return p.status(ctx, c)
			}
			return p.say(nil, "stopped; the sessions run on, corral up brings everything back")
		},
	}
}

// stop ends the roles in the order in which they start each other, so that nobody starts anybody again. The marker comes
// first: a role that is just being started sees it and ends.
func (c *corral) stop(ctx context.Context) error {
	if err := c.paths.Check(); err != nil {
		return err
	}
	if _, err := os.Stat(c.paths.Data); errors.Is(err, os.ErrNotExist) {
		return nil // nothing was ever started here
	}
	if err := os.WriteFile(c.paths.DownMarker(), nil, 0o600); err != nil {
		return fmt.Errorf("leave the mark of corral down: %w", err)
	}
	client := c.client(nil)
	defer client.CloseIdleConnections()
	runtime := rtclient.New(c.paths.Socket(paths.Runtime))
	defer runtime.Close()
	err := c.end(ctx, paths.Server, func(ctx context.Context) error {
		return client.Shutdown(ctx, sessions.ShutdownRequest{Database: true, Runtime: true})
	})
	if err != nil {
		return err
	}
	if err := c.end(ctx, paths.Runtime, runtime.Shutdown); err != nil {
		return err
	}
	log, closeLog := c.log(paths.Server)
	defer closeLog()
	return server.StopCluster(ctx, server.Config{Database: c.database(), Log: log})
}

// end asks the process that holds a role's lock to end, waits for it, and ends it by signals when it does not.
func (c *corral) end(ctx context.Context, name paths.Role, ask func(context.Context) error) error {
	process, err := spawn.Find(func() (int, error) { return sock.Holder(c.paths.Lock(name)) })
	if err != nil || process == nil {
		return err
	}
	defer process.Close()
	patience, cancel := context.WithTimeout(ctx, endGrace)
	defer cancel()
	if err := ask(patience); err == nil && process.Wait(patience) == nil {
		return nil
	}
	if err := process.End(ctx, endGrace); err != nil {
		return fmt.Errorf("end the %s: %w", name, err)
	}
	return nil
}

func (c *corral) database() server.Database {
	return server.Database{
		URL: c.env.DatabaseURL, Dir: c.paths.Postgres.Dir, SocketDir: c.paths.Postgres.SocketDir,
		LogDir: c.paths.Postgres.LogDir, RunAsUser: c.paths.Postgres.RunAs,
	}
}
