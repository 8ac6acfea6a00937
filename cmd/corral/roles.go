package main

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"corral/cmd/internal/paths"
	"corral/cmd/internal/sock"
	"corral/runtime/daemon"
	"corral/runtime/recorder"
	"corral/sessions/server"
)

func (p *program) serverCommand() *cobra.Command {
	return p.roleCommand(paths.Server, "the server: metadata and the API", nil, runServer)
}

func (p *program) runtimeCommand() *cobra.Command {
	return p.roleCommand(paths.Runtime, "the runtime: this machine's terminals", checkRuntime, runRuntime)
}

// recorderCommand is started by the runtime and by nobody else.
func (p *program) recorderCommand() *cobra.Command {
	cmd := p.roleCommand(paths.Recorder, "the recorder: takes what the terminals print", nil, runRecorder)
	cmd.Hidden = true
	_ = cmd.Flags().Set("foreground", "true") // it exists
	return cmd
}

func runServer(ctx context.Context, c *corral, l *sock.Listener, log *slog.Logger) error {
	var startRuntime func(context.Context) error
	if c.config.Autostart {
		startRuntime = c.role(paths.Runtime).Ensure
	}
	return server.Run(ctx, server.Config{
		Listener: l, Socket: c.paths.Socket(paths.Server), RuntimeSocket: c.paths.Socket(paths.Runtime),
		StartRuntime: startRuntime, DownMarker: c.down, Database: c.database(), ReplayLines: c.replay(),
		EventsKept: time.Duration(c.config.Events.RetentionDays) * 24 * time.Hour,
		Agents:     c.config.Profiles(), Node: c.node(), Version: version, Log: log,
	})
}

func runRuntime(ctx context.Context, c *corral, l *sock.Listener, log *slog.Logger) error {
	return fromRuntime(daemon.Run(ctx, c.runtimeConfig(l, log)))
}

// checkRuntime refuses a start that cannot succeed, before anybody is told that the runtime is there.
func checkRuntime(ctx context.Context, c *corral) error {
	return fromRuntime(daemon.Check(ctx, c.runtimeConfig(nil, slog.New(slog.DiscardHandler))))
}

func (c *corral) runtimeConfig(l net.Listener, log *slog.Logger) daemon.Config {
	return daemon.Config{
		Listener: l, DataDir: c.paths.Data, RunDir: c.paths.Run, Self: c.self,
		HistoryLimit: historyLimit(c.config.History.Lines), Env: c.paths.Environ(c.env), Log: log,
		JournalDir: c.paths.Journal(), JournalInput: c.config.Journal.Input,
	}
}

func runRecorder(ctx context.Context, c *corral, l *sock.Listener, log *slog.Logger) error {
	return recorder.Run(ctx, recorder.Config{Listener: l, Self: c.self, Env: c.paths.Environ(c.env), Log: log})
}

// workerCommand is started by the recorder and by nobody else.
func (p *program) workerCommand() *cobra.Command {
	return &cobra.Command{
		Use: recorder.WorkerVerb, Hidden: true, Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := open()
			if err != nil {
				return err
			}
			log, closeLog := c.log(paths.Recorder)
			defer closeLog()
			err = recorder.RunWorker(cmd.Context(), c.worker(log))
			if err != nil {
				log.Error("worker ended", "error", err)
			}
			return err
		},
	}
}

func (c *corral) worker(log *slog.Logger) recorder.WorkerConfig {
	j := c.config.Journal
	return recorder.WorkerConfig{
		Dir: c.paths.Journal(), Enabled: j.Enabled, Segment: int64(j.Segment), Self: c.self, Log: log,
		Limits: recorder.Limits{
			Age: time.Duration(j.RetentionDays) * 24 * time.Hour, Total: int64(j.MaxTotal),
			MinFree: int64(j.MinFree.Bytes), MinShare: j.MinFree.Percent,
		},
	}
}

// historyLimit is what tmux must be told so that it always has so many lines: at its limit it cuts a tenth at a time.
func historyLimit(lines int) int {
	const round = 100
	return (lines*10/9 + round) / round * round
}
