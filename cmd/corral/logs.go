package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"corral/cmd/internal/logtail"
	"corral/cmd/internal/paths"
	"corral/sessions"
)

const defaultLogLines = 50

func (p *program) logsCommand() *cobra.Command {
	var follow bool
	lines := defaultLogLines
	cmd := &cobra.Command{
		Use:   "logs server|runtime|recorder",
		Short: "print a daemon's log, also when it does not run",
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
			return p.logs(cmd.Context(), paths.Role(args[0]), lines, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is written next, until interrupted")
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "how many of the newest lines")
	return cmd
}

func (p *program) logs(ctx context.Context, role paths.Role, lines int, follow bool) error {
	c, err := open()
	if err != nil {
		return err
	}
	if err := c.paths.Check(); err != nil {
		return err
	}
	path := c.paths.Log(role)
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

// logLine is a line of a log for people: time, level, message and the rest as k=v. A line that is no JSON is shown
// cleaned of what could act on the terminal.
func logLine(line []byte) string {
	var fields map[string]any
	if json.Unmarshal(line, &fields) != nil {
		return sessions.CleanLine(string(line), 4000)
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
		at = t.Local().Format("2006-01-02 15:04:05.000")
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
	return sessions.CleanLine(head, 4000)
}
