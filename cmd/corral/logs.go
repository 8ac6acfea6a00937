package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"corral/cmd/internal/logtail"
	"corral/cmd/internal/paths"
	"corral/sessions"
	"corral/tui"
	"corral/tui/terminal"
)

const defaultLogLines = 50

func (p *program) logsCommand() *cobra.Command {
	var follow bool
	lines := defaultLogLines
	cmd := &cobra.Command{
		Use:   "logs server|runtime|recorder",
		Short: "show a daemon's log, also when it does not run",
		Long: "show a daemon's log, also when it does not run: on a terminal in a viewer that scrolls, searches and follows, " +
			"else, or with a flag, as text",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := arguments(1, 1)(cmd, args); err != nil {
				return err
			}
			switch paths.Role(args[0]) {
			case paths.Server, paths.Runtime, paths.Recorder, dashboardLog:
				return nil
			}
			return usage(fmt.Sprintf("there is no log of %q", sessions.CleanLine(args[0], 40)), "take server, runtime or recorder")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 0 {
				return usage("--lines wants 0 or more", "as in: --lines 100")
			}
			view := !follow && !p.json && !cmd.Flags().Changed("lines") && term.IsTerminal(p.stdin.Fd()) && term.IsTerminal(p.stdout.Fd())
			return p.logs(cmd.Context(), paths.Role(args[0]), lines, follow, view)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is written next, until interrupted")
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "how many of the newest lines")
	return cmd
}

func (p *program) logs(ctx context.Context, role paths.Role, lines int, follow, view bool) error {
	c, err := open()
	if err != nil {
		return err
	}
	if err := c.paths.Check(); err != nil {
		return err
	}
	path := c.paths.Log(role)
	if view {
		if _, err := os.Stat(path); err == nil {
			return p.viewLog(ctx, c, role)
		}
	}
	show := func(line []byte) error {
		if !p.json {
			line = []byte(logLine(line))
		}
		_, err := fmt.Fprintf(p.stdout, "%s\n", line)
		return err
	}
	if !follow {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return &sessions.Error{
				Code: sessions.CodeNotFound, Message: fmt.Sprintf("the %s has no log yet: %s", role, path), Hint: "it has not run in this data directory",
			}
		}
		return logtail.Tail(path, lines, show)
	}
	if _, err := os.Stat(filepath.Dir(path)); os.IsNotExist(err) {
		return &sessions.Error{
			Code: sessions.CodeNotFound, Message: "there are no logs yet: " + filepath.Dir(path), Hint: "start this Corral with: corral up",
		}
	}
	return logtail.Follow(ctx, path, lines, show)
}

// daemonLogs are the logs that the viewer offers; none where the daemons run elsewhere.
func (c *corral) daemonLogs() []tui.DaemonLog {
	if c.remote != "" {
		return nil
	}
	var all []tui.DaemonLog
	for _, role := range []paths.Role{paths.Server, paths.Runtime, paths.Recorder, dashboardLog} {
		all = append(all, tui.DaemonLog{Name: string(role), Open: func() tui.TaskLog {
			return logtail.NewText(c.paths.Log(role), spellLog)
		}})
	}
	return all
}

// viewLog shows a daemon's log on the whole terminal.
func (p *program) viewLog(ctx context.Context, c *corral, role paths.Role) error {
	prefix, err := prefixKey(c.config)
	if err != nil {
		return err
	}
	log, closeLog := c.log(dashboardLog)
	defer closeLog()
	screen, err := terminal.Open(terminal.Config{
		In: p.stdin, Out: p.stdout, Env: c.terminalEnv(), StatePath: c.paths.Terminals(), Mouse: c.config.Mouse, Prefix: prefix, Log: log,
	})
	if err != nil {
		return err
	}
	err = tui.ShowLogs(ctx, tui.LogsConfig{
		Terminal: screen, Logs: c.daemonLogs(), First: string(role), Log: log, Theme: c.theme(), Prefix: prefix,
	})
	return errors.Join(err, screen.Close())
}

// logLine is a line of a log for people.
func logLine(line []byte) string {
	text, _ := spellLog(line)
	return text
}

// spellLog is a line of a log for people: time, level, message and the rest as k=v; and when it was written. A line that
// is no JSON is shown cleaned of what could act on the terminal.
func spellLog(line []byte) (text string, written time.Time) {
	var fields map[string]any
	if json.Unmarshal(line, &fields) != nil {
		return sessions.CleanLine(string(line), 4000), time.Time{}
	}
	take := func(k string) string {
		v, ok := fields[k]
		if !ok {
			return ""
		}
		delete(fields, k)
		return fmt.Sprint(v)
	}
	at := take("time")
	if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
		at, written = t.Local().Format("2006-01-02 15:04:05.000"), t
	}
	head := fmt.Sprintf("%s %-5s %s", at, take("level"), take("msg"))
	rest := make([]string, 0, len(fields))
	for k := range fields {
		rest = append(rest, k)
	}
	sort.Strings(rest)
	for _, k := range rest {
		v, err := json.Marshal(fields[k])
		if err != nil {
			continue
		}
		head += " " + k + "=" + strings.Trim(string(v), `"`)
	}
	return sessions.CleanLine(head, 4000), written
}
