package main

import (
	"context"
	"log/slog"
	"net"

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
		Node: hostname(), Version: version, Log: log,
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
	}
}

func runRecorder(ctx context.Context, _ *corral, l *sock.Listener, log *slog.Logger) error {
	return recorder.Run(ctx, recorder.Config{Listener: l, Log: log})
}

// historyLimit is what tmux must be told so that it always has so many lines: at its limit it cuts a tenth at a time.
func historyLimit(lines int) int {
	const round = 100
	return (lines*10/9 + round) / round * round
}
