package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"corral/cmd/internal/config"
	"corral/cmd/internal/paths"
	"corral/cmd/internal/sock"
	"corral/cmd/internal/spawn"
	"corral/sessions"
	"corral/sessions/sessionclient"
	"corral/tui"
)

const (
	// callTimeout bounds what a verb asks of a server that runs. The server has shorter deadlines and explains them.
	callTimeout = 30 * time.Second
	// startPatience bounds the wait for a server that has just been started. At its very first start it makes a database
	// cluster, which takes 2 s on an idle machine and was seen to take 17 s on a busy one.
	startPatience = time.Minute
	// runtimePatience is the same for its runtime, which starts at the same time and takes half a second.
	runtimePatience = 15 * time.Second
)

// program is what every verb is handed.
type program struct {
	stdin, stdout, stderr *os.File
	json                  bool
}

// corral is one Corral as this process sees it: where it lies and how it is configured.
type corral struct {
	env    paths.Environment
	paths  paths.Paths
	config config.Config
	self   string // path of this binary
	remote string // socket that CR_SERVER names; "" for the server of our own data directory
}

// open finds this process's Corral. It creates and starts nothing.
func open() (*corral, error) {
	env, err := paths.Read()
	if err != nil {
		return nil, err
	}
	c := &corral{env: env}
	if c.paths, err = env.Paths(); err != nil {
		return nil, err
	}
	if c.config, err = config.Load(c.paths.Config, c.paths.ConfigGiven); err != nil {
		return nil, err
	}
	if c.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("find the corral binary: %w", err)
	}
	c.remote, err = remoteSocket(env.Server)
	return c, err
}

// remoteSocket reads CR_SERVER.
func remoteSocket(server string) (string, error) {
	if server == "" {
		return "", nil
	}
	path, isUnix := strings.CutPrefix(server, "unix://")
	if !isUnix || !filepath.IsAbs(path) {
		return "", usage("CR_SERVER names a server that this version cannot reach", "set it to unix:///path/of/server.sock, or unset it")
	}
	return path, nil
}

// connect returns a client of a server that answers, after starting one where that is allowed.
func (c *corral) connect(ctx context.Context) (*sessionclient.Client, error) {
	if err := c.ensure(ctx); err != nil {
		return nil, err
	}
	client := c.client(c.ensure) // a server that dies while it is waited for is started again
	return client, c.settle(ctx, client)
}

// settle gives a server that was just started the time to become ready: it answers before its PostgreSQL and its runtime
// do. What is still missing afterwards the request itself finds out and explains; not every request needs everything.
func (c *corral) settle(ctx context.Context, client *sessionclient.Client) error {
	for _, w := range []struct {
		patience time.Duration
		ready    func(sessions.Status) bool
	}{{startPatience, databaseUp}, {runtimePatience, allUp}} {
		left := w.patience - c.serverAge()
		if left <= 0 || !c.config.Autostart && w.patience == runtimePatience {
			continue // with autostart off nobody brings the runtime
		}
		patience, cancel := context.WithTimeout(ctx, left)
		_ = untilReady(patience, client, w.ready)
		cancel()
	}
	return ctx.Err()
}

// serverAge says how long ago the server started: its lock's file was written then. A server that is none of ours, or
// whose age is not known, is as old as can be.
func (c *corral) serverAge() time.Duration {
	info, err := os.Stat(c.paths.Lock(paths.Server))
	if err != nil || c.remote != "" {
		return math.MaxInt64
	}
	return time.Since(info.ModTime())
}

// client returns a client that calls ensure when nobody listens; nil starts nothing.
func (c *corral) client(ensure func(context.Context) error) *sessionclient.Client {
	return sessionclient.New(sessionclient.Config{
		Socket: c.socket(), EnsureServer: ensure, ClientName: c.viewer("corral"), Log: slog.New(slog.DiscardHandler),
	})
}

func (c *corral) socket() string {
	if c.remote != "" {
		return c.remote
	}
	return c.paths.Socket(paths.Server)
}

// ensure makes sure that the server answers.
func (c *corral) ensure(ctx context.Context) error {
	r := c.role(paths.Server)
	switch {
	case c.remote != "":
		return nil // whoever runs it starts it; the first request says whether it answers
	case r.Answers(ctx):
		if err := c.paths.Check(); err != nil {
			return err
		}
		return c.genuine(ctx)
	case c.down():
		return &sessions.Error{
			Code: sessions.CodeUnreachable, Message: "this Corral was stopped by corral down", Hint: "start it again with: corral up",
			Cause: tui.ErrDown,
		}
	case !c.config.Autostart:
		return &sessions.Error{
			Code: sessions.CodeUnreachable, Message: "the server does not run and autostart is off", Hint: "start it with: corral server",
		}
	}
	if err := c.paths.Prepare(); err != nil {
		return err
	}
	return r.Ensure(ctx)
}

// genuine refuses another program that listens on our socket: whoever listens holds the server's lock, or at least
// answers like a server (somebody may have deleted the lock's file).
func (c *corral) genuine(ctx context.Context) error {
	listens := sock.Listening(ctx, c.socket())
	holds, err := sock.Holder(c.paths.Lock(paths.Server))
	if err == nil && (listens == holds || listens == 0) {
		return nil
	}
	client := c.client(nil)
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	if _, err := client.Status(ctx); err == nil {
		return nil
	}
	return &sessions.Error{
		Code:    sessions.CodeUnreachable,
		Message: fmt.Sprintf("process %d listens on %s and is no Corral server", listens, c.socket()),
		Hint:    "end it, or set CR_RUN_DIR to another directory",
	}
}

// role describes how a role of this Corral is started.
func (c *corral) role(name paths.Role) spawn.Role {
	return spawn.Role{
		Name: string(name), Binary: c.self, Args: []string{string(name), "--foreground"},
		Socket: c.paths.Socket(name), Output: c.paths.Output(name), Env: c.paths.Environ(c.env),
	}
}

// down reports whether `corral down` left its marker.
func (c *corral) down() bool {
	_, err := os.Stat(c.paths.DownMarker())
	return err == nil
}

// raise removes the marker of `corral down`.
func (c *corral) raise() error {
	if err := os.Remove(c.paths.DownMarker()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the mark of corral down: %w", err)
	}
	return nil
}

// replay is how many history lines an attach asks for.
func (c *corral) replay() int {
	if c.env.ReplayLines >= 0 {
		return c.env.ReplayLines
	}
	return c.config.Replay.Lines
}

// viewer names this client to others.
func (c *corral) viewer(what string) string {
	if c.env.SSHClient != "" {
		return what + " on ssh " + sessions.CleanLine(c.env.SSHClient, 60)
	}
	return what
}

// find finds the session that the user named.
func find(ctx context.Context, client *sessionclient.Client, name string) (sessions.Session, error) {
	list, err := client.List(ctx)
	if err != nil {
		return sessions.Session{}, err
	}
	return sessions.Resolve(list, name)
}

// withServer opens this Corral, connects, and calls do, which may take as long as it likes.
func withServer(ctx context.Context, do func(context.Context, *corral, *sessionclient.Client) error) error {
	c, err := open()
	if err != nil {
		return err
	}
	client, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	c.linkAgent(slog.New(slog.DiscardHandler))
	return do(ctx, c, client)
}

// withSession opens this Corral, connects, and calls do with the named session, within the time of one call.
func withSession(ctx context.Context, name string, do func(context.Context, *sessionclient.Client, sessions.Session) error) error {
	return withServer(ctx, func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		s, err := find(ctx, client, name)
		if err != nil {
			return err
		}
		return do(ctx, client, s)
	})
}
