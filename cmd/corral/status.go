package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"corral/cmd/internal/paths"
	"corral/cmd/internal/sock"
	"corral/runtime/rtclient"
	"corral/sessions"
)

// statusTimeout bounds the question how everything is. A server that takes longer hangs, and is reported as down.
const statusTimeout = 3 * time.Second

func (p *program) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "say which parts run; starts nothing", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := open()
			if err != nil {
				return err
			}
			return p.status(cmd.Context(), c)
		},
	}
}

func (p *program) status(ctx context.Context, c *corral) error {
	st, err := c.status(ctx)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(st)
	}
	if err := printTable(p.stdout, statusColumns(), statusRows(st), p.width()); err != nil {
		return err
	}
	if c.remote == "" && st.Server.State != sessions.Up {
		_, err = fmt.Fprintln(p.stdout, c.whyDown())
	}
	return err
}

func (c *corral) whyDown() string {
	switch {
	case c.down():
		return "stopped by corral down; start it again with: corral up"
	case !c.config.Autostart:
		return "autostart is off; start it with: corral server"
	}
	return "start it with: corral up"
}

// status asks the server, and looks for itself when that does not answer.
func (c *corral) status(ctx context.Context) (sessions.Status, error) {
	if err := c.paths.Check(); err != nil && c.remote == "" {
		return sessions.Status{}, err
	}
	client := c.client(nil)
	defer client.CloseIdleConnections()
	ask, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	st, err := client.Status(ask)
	if err == nil {
		return st, nil
	}
	silent := errors.Is(err, sessions.ErrUnreachable) || ask.Err() != nil
	if c.remote != "" || !silent || ctx.Err() != nil {
		return sessions.Status{}, err
	}
	ask, cancel = context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	return c.look(ask)
}

// look finds out what runs without a server: the locks and the sockets know.
func (c *corral) look(ctx context.Context) (sessions.Status, error) {
	st := sessions.Status{Sessions: map[sessions.State]int{}, Tasks: map[sessions.TaskState]int{}}
	for _, r := range []struct {
		name paths.Role
		to   *sessions.RoleStatus
	}{{paths.Server, &st.Server}, {paths.Runtime, &st.Runtime}, {paths.Recorder, &st.Recorder}} {
		pid, err := sock.Holder(c.paths.Lock(r.name))
		var held *sock.HeldError
		if err != nil && !errors.As(err, &held) {
			return st, err
		}
		*r.to = sessions.RoleStatus{State: sessions.Down, PID: pid, Socket: c.paths.Socket(r.name)}
	}
	if st.Recorder.PID != 0 {
		st.Recorder.State = sessions.Up
	}
	c.lookAtRuntime(ctx, &st)
	c.lookAtDatabase(ctx, &st)
	return st, nil
}

func (c *corral) lookAtRuntime(ctx context.Context, st *sessions.Status) {
	node := sessions.NodeStatus{Name: c.node(), State: sessions.Offline}
	runtime := rtclient.New(c.paths.Socket(paths.Runtime))
	defer runtime.Close()
	if r, err := runtime.Status(ctx); err == nil {
		st.Runtime.State, st.Runtime.PID = sessions.Up, r.PID
		st.Journal = sessions.JournalStatus(r.Journal)
		node.State = sessions.Up
		st.Tmux = sessions.TmuxStatus{
			State: sessions.Down, PID: r.Tmux.Server.PID, Socket: r.Tmux.Socket, Version: r.Tmux.Version,
			Placement: r.Tmux.Placement, SurvivesLogout: r.Tmux.SurvivesLogout,
		}
		if r.Tmux.Up {
			st.Tmux.State = sessions.Up
		}
	} else {
		st.Tmux = sessions.TmuxStatus{State: sessions.Down, Socket: c.paths.Socket(paths.Tmux)}
		if pid := sock.Listening(ctx, st.Tmux.Socket); pid != 0 {
			st.Tmux.State, st.Tmux.PID = sessions.Up, pid
		}
	}
	st.Nodes = []sessions.NodeStatus{node}
}

func (c *corral) lookAtDatabase(ctx context.Context, st *sessions.Status) {
	if c.env.DatabaseURL != "" {
		st.Database = sessions.DatabaseStatus{State: sessions.Down, Kind: "external", Message: "only the server asks it"}
		return
	}
	st.Database = sessions.DatabaseStatus{State: sessions.Down, Kind: "private"}
	if sock.Listening(ctx, filepath.Join(c.paths.Postgres.SocketDir, ".s.PGSQL.5432")) != 0 {
		st.Database.State = sessions.Up
	}
}

// node is the name under which the sessions of this data directory are kept. A private database has only those. In one
// that several share, two data directories of a machine must never take each other's sessions for lost.
func (c *corral) node() string {
	if c.env.DatabaseURL == "" {
		return hostname()
	}
	return hostname() + "-" + c.paths.ID()[:6]
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

func statusColumns() []column {
	return []column{{title: "PART"}, {title: "STATE"}, {title: "PROCESS"}, {title: "DETAILS", least: 20}}
}

func statusRows(st sessions.Status) [][]string {
	pid := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	words := func(parts ...string) string {
		var set []string
		for _, p := range parts {
			if p != "" {
				set = append(set, sessions.CleanLine(p, 300))
			}
		}
		return strings.Join(set, ", ")
	}
	survives := ""
	if st.Tmux.SurvivesLogout != "" {
		survives = "survives logout: " + st.Tmux.SurvivesLogout
	}
	var counts []string
	for _, s := range sessions.States() {
		if n := st.Sessions[s]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	rows := [][]string{
		{"server", string(st.Server.State), pid(st.Server.PID), words(st.Server.Version, st.Server.Socket)},
		{"runtime", string(st.Runtime.State), pid(st.Runtime.PID), words(st.Runtime.Version, st.Runtime.Socket)},
		{"recorder", string(st.Recorder.State), pid(st.Recorder.PID), words(st.Recorder.Socket)},
		{"tmux", string(st.Tmux.State), pid(st.Tmux.PID), words(st.Tmux.Version, st.Tmux.Placement, survives)},
		{"database", string(st.Database.State), "", words(st.Database.Kind, st.Database.Version, st.Database.Message)},
	}
	if j := st.Journal; j.Bytes > 0 || j.Warning != "" {
		since := ""
		if !j.Oldest.IsZero() {
			since = "since " + j.Oldest.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{"journal", "", "", words(j.Warning, fmt.Sprintf("%.1f MiB", float64(j.Bytes)/(1<<20)), since)})
	}
	for _, n := range st.Nodes {
		rows = append(rows, []string{"node", string(n.State), "", words(n.Name, n.Message)})
	}
	if len(counts) > 0 {
		rows = append(rows, []string{"sessions", "", "", strings.Join(counts, ", ")})
	}
	counts = nil
	for _, s := range sessions.TaskStates() {
		if n := st.Tasks[s]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(counts) > 0 {
		rows = append(rows, []string{"tasks", "", "", strings.Join(counts, ", ")})
	}
	return rows
}
