package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"corral/cmd/internal/config"
	"corral/cmd/internal/doctor"
	"corral/cmd/internal/paths"
	"corral/cmd/internal/sock"
	"corral/runtime/daemon"
	"corral/sessions/server"
)

// doctorTimeout bounds all questions together.
const doctorTimeout = 20 * time.Second

func (p *program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "check everything that Corral depends on, and say how to mend it; starts nothing",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), doctorTimeout)
			defer cancel()
			return p.report(doctor.Examine(p.facts(ctx)))
		},
	}
}

// errUnwell ends doctor with exit code 1 when everything has been said.
var errUnwell = errors.New("there are problems; mend them from the top")

func (p *program) report(checks []doctor.Check) error {
	if p.json {
		if err := p.printJSON(checks); err != nil {
			return err
		}
	} else {
		for _, c := range checks {
			line := fmt.Sprintf("%-8s %-14s %s", c.Level, c.Name, c.Message)
			if c.Fix != "" {
				line += "\n" + fmt.Sprintf("%24s", "-> ") + c.Fix
			}
			if _, err := fmt.Fprintln(p.stdout, line); err != nil {
				return err
			}
		}
	}
	if doctor.Worst(checks) == doctor.Problem {
		return errUnwell
	}
	return nil
}

// facts finds out what doctor looks at. What cannot be found out because something before it is broken is left out.
func (p *program) facts(ctx context.Context) doctor.Facts {
	f := doctor.Facts{User: strconv.Itoa(os.Getuid())}
	if u, err := user.Current(); err == nil {
		f.User = u.Username
	}
	env, err := paths.Read()
	if err != nil {
		f.Config.Err = err
		f.Clock = doctor.ClockOf()
		f.Tmux.Err, f.Database.Err = err, err
		return f
	}
	c := &corral{env: env, config: config.Default()}
	t := c.terminalEnv()
	f.Terminal = doctor.Terminal{
		Term: env.Term, Locale: env.Locale, TermErr: t.CheckTerm(), LocaleErr: t.CheckLocale(),
		Interactive: term.IsTerminal(p.stdout.Fd()),
	}
	if c.paths, err = env.Paths(); err != nil {
		f.Data.Err = err
		f.Clock = doctor.ClockOf()
		f.Tmux.Err, f.Database.Err = err, err
		return f
	}
	f.Config.Path = c.paths.Config
	if _, err := os.Stat(c.paths.Config); err == nil {
		f.Config.Found = true
	}
	if loaded, err := config.Load(c.paths.Config, c.paths.ConfigGiven); err != nil {
		f.Config.Err = err
	} else {
		c.config = loaded
	}
	c.places(&f)
	f.Tmux = c.tmuxFacts(ctx)
	f.Database = c.databaseFacts(ctx)
	f.Roles = c.roleFacts(ctx)
	f.Down = c.down()
	return f
}

// places fills in the facts about directories, sockets, disks and the clock.
func (c *corral) places(f *doctor.Facts) {
	_, err := os.Stat(c.paths.Data)
	f.Data = doctor.Data{
		Path: c.paths.Data, Exists: err == nil, Err: c.paths.Check(), WriteErr: doctor.CanWrite(c.paths.Data),
	}
	for _, r := range []paths.Role{paths.Server, paths.Runtime, paths.Recorder, paths.Tmux} {
		f.Sockets = append(f.Sockets, doctor.Socket{Path: c.paths.Socket(r), Most: paths.MaxSocket})
	}
	f.Disks = []doctor.Disk{doctor.DiskOf("disk", c.paths.Data)}
	if c.env.DatabaseURL == "" {
		f.Sockets = append(f.Sockets, doctor.Socket{Path: c.paths.Postgres.SocketDir, Most: paths.MaxPostgresSocket})
	}
	if c.env.DatabaseURL == "" && c.paths.Postgres.RunAs != "" { // else it lies in the data directory
		f.Disks = append(f.Disks, doctor.DiskOf("database disk", c.paths.Postgres.Dir))
	}
	f.Clock = doctor.ClockOf(filepath.Join(c.paths.Data, "tmux.json"), c.paths.Log(paths.Server), c.paths.Log(paths.Runtime))
}

func (c *corral) tmuxFacts(ctx context.Context) doctor.Tmux {
	found, err := daemon.Inspect(ctx, c.runtimeConfig(nil, slog.New(slog.DiscardHandler)))
	return doctor.Tmux{
		Binary: found.Binary, Version: found.Version, PID: found.PID, Wrong: found.Wrong, Placement: found.Placement,
		SurvivesLogout: found.SurvivesLogout, CanLinger: found.CanLinger, Err: fromRuntime(err),
	}
}

func (c *corral) databaseFacts(ctx context.Context) doctor.Database {
	cfg := server.Config{Database: c.database(), Log: slog.New(slog.DiscardHandler)}
	found, err := server.Inspect(ctx, cfg)
	return doctor.Database{
		Kind: cfg.Database.Kind(), Version: found.Version, Dir: found.Dir, Made: found.Made, PID: found.PID, Err: err,
	}
}

func (c *corral) roleFacts(ctx context.Context) []doctor.Role {
	var out []doctor.Role
	for _, name := range []paths.Role{paths.Server, paths.Runtime, paths.Recorder} {
		r := doctor.Role{Name: string(name), Socket: c.paths.Socket(name), Ours: version}
		r.Lock, r.LockErr = sock.Holder(c.paths.Lock(name))
		if held := (*sock.HeldError)(nil); errors.As(r.LockErr, &held) {
			r.LockErr = nil // somebody has it who has not written who it is yet
		}
		r.Listens = sock.Listening(ctx, r.Socket)
		if _, err := os.Lstat(r.Socket); err == nil && r.Listens == 0 {
			r.Stale = true
		}
		if name == paths.Server && r.Listens != 0 && r.Listens == r.Lock {
			r.Version = c.serverVersion(ctx)
		}
		out = append(out, r)
	}
	return out
}

// serverVersion asks the server for its version; "" when it does not say.
func (c *corral) serverVersion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	client := c.client(nil)
	defer client.CloseIdleConnections()
	st, err := client.Status(ctx)
	if err != nil {
		return ""
	}
	return st.Server.Version
}
