package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"corral/cmd/internal/clipboard"
	"corral/cmd/internal/config"
	"corral/cmd/internal/paths"
	"corral/sessions"
	"corral/sessions/sessionclient"
	"corral/tui"
	"corral/tui/keys"
	"corral/tui/rawattach"
	"corral/tui/terminal"
)

// backend is the client as the dashboard wants it.
type backend struct {
	*sessionclient.Client
	corral *corral
}

// Create waits for a server that is still starting: the dashboard is there at once, PostgreSQL a little later.
func (b backend) Create(ctx context.Context, r sessions.CreateRequest) (sessions.Session, error) {
	if err := b.corral.settle(ctx, b.Client); err != nil {
		return sessions.Session{}, err
	}
	return b.Client.Create(ctx, r)
}

// Attach implements tui.Attacher.
func (b backend) Attach(id sessions.ID, o sessions.StreamOptions, h sessions.StreamHandler) tui.Stream {
	return b.Client.Attach(id, o, h)
}

// RunTask waits for a runtime that is still starting.
func (b backend) RunTask(ctx context.Context, r sessions.CreateTaskRequest) (sessions.Task, error) {
	if err := b.corral.settleRuntime(ctx, b.Client); err != nil {
		return sessions.Task{}, err
	}
	return b.Client.RunTask(ctx, r)
}

// OpenLog implements tui.TaskService.
func (b backend) OpenLog(id sessions.ID) tui.TaskLog { return b.Client.TaskLog(id) }

// dashboard shows the dashboard until the user leaves it.
func (p *program) dashboard(ctx context.Context) error {
	// A closed terminal is a way out like any other; what runs must be told to stop, not be killed by the signal.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	c, err := open()
	if err != nil {
		return err
	}
	prefix, err := prefixKey(c.config)
	if err != nil {
		return err
	}
	keymap, err := keys.Custom(prefix.String(), c.config.Keys)
	if err != nil {
		return usage("the configured keys cannot be used: "+err.Error(), "change [keys] in the configuration file; docs/keys.md lists them")
	}
	if err := c.raise(); err != nil {
		return err
	}
	// A server that may not be started is shown as such; one that cannot be started is an error to read at the prompt.
	if c.config.Autostart {
		if err := c.ensure(ctx); err != nil {
			return err
		}
	} else if err := c.paths.Prepare(); err != nil {
		return err
	}
	log, closeLog := c.log(dashboardLog)
	defer closeLog()
	c.linkAgent(log)
	term, err := terminal.Open(terminal.Config{
		In: p.stdin, Out: p.stdout, Env: c.terminalEnv(), StatePath: c.paths.Terminals(),
		Mouse: c.config.Mouse, Prefix: prefix, Log: log,
	})
	if err != nil {
		return err
	}
	defer term.Close()
	client := c.client(c.ensure)
	defer client.CloseIdleConnections()
	out, err := tui.Run(ctx, p.dashboardConfig(c, client, term, prefix, keymap, log))
	if closeErr := term.Close(); err == nil {
		err = closeErr
	}
	if ctx.Err() != nil {
		return nil // told to stop by a signal; the terminal is restored
	}
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(p.stdout, tui.Farewell(out.Sessions)) // the terminal may have hung up
	return nil
}

// dashboardLog names the dashboard's log beside those of the roles.
const dashboardLog = paths.Role("dashboard")

func (p *program) dashboardConfig(c *corral, client *sessionclient.Client, term *terminal.Terminal, prefix terminal.Key, keymap *keys.Map, log *slog.Logger) tui.Config {
	theme := c.config.Theme
	if theme == "auto" {
		theme = ""
	}
	cwd, err := os.Getwd()
	if err != nil {
		cwd = c.env.Home
	}
	var clip func(context.Context, []byte) error
	if tool := clipboard.Find(clipboard.Desktop{Wayland: c.env.Wayland, X11: c.env.X11}); tool != nil {
		clip = tool.Copy
	}
	return tui.Config{
		Raw:  func(ctx context.Context, id sessions.ID) error { return p.zoom(ctx, c, client, id, prefix, log) },
		Keys: keymap, Replay: c.replay(), Clip: clip, Clipboard: tui.Clipboard(c.config.Clipboard),
		Backend: backend{client, c}, Terminal: term, Log: log, Theme: theme,
		Prefix: prefix, Version: version, Notify: notice(c.config.Notify),
		Agents: slices.Collect(maps.Keys(c.config.Profiles())),
		CWD:    cwd, Client: c.viewer("dashboard"), StartSelected: c.focus(), SaveFocus: c.saveFocus,
		Start: func(ctx context.Context) error {
			if err := c.raise(); err != nil {
				return err
			}
			return c.ensure(ctx)
		},
	}
}

// notice is how the dashboard calls for attention, as configured.
func notice(n config.Notify) terminal.Notice {
	osc := terminal.NoOSC
	switch n.Desktop {
	case config.DesktopOSC9:
		osc = terminal.OSC9
	case config.DesktopOSC777:
		osc = terminal.OSC777
	case config.DesktopOff:
	}
	return terminal.Notice{Bell: n.Bell, OSC: osc}
}

// zoom shows a session on the whole terminal, in place of the dashboard, until the prefix key is pressed.
func (p *program) zoom(ctx context.Context, c *corral, client *sessionclient.Client, id sessions.ID, prefix terminal.Key, log *slog.Logger) error {
	out, err := rawattach.Run(ctx, p.stdin, p.stdout, func(o sessions.StreamOptions, h sessions.StreamHandler) rawattach.Stream {
		return client.Attach(id, o, h)
	}, rawattach.Options{
		Env: c.terminalEnv(), Client: c.viewer("zoom"), StatePath: c.paths.Terminals(), Prefix: prefix, Log: log,
		Alternate: true, Clipboard: rawattach.Clipboard(c.config.Clipboard),
	})
	if err == nil && out.How == rawattach.Cut && ctx.Err() == nil {
		err = out.Err
	}
	return err
}
