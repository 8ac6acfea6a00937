package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

const aboutTasks = `A task is a program that runs to its end without a viewer. It runs in tmux like a session, under a runner that needs
neither server nor runtime nor database; what it prints is kept as its log, byte by byte.

States: QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED, LOST. A LOST task was running when tmux or the machine went down: nobody
knows how it would have ended, and it is never run again by itself. An ID is a task's id, any unique beginning of one, or a
unique title.`

func (p *program) taskCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "task", Short: "run programs that outlive everything but the machine", Long: aboutTasks,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("corral task wants a verb", "see corral task --help")
			}
			hint := "see corral task --help"
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "did you mean corral task " + near[0] + "?"
			}
			return usage(fmt.Sprintf("there is no verb corral task %q", sessions.CleanLine(args[0], 40)), hint)
		},
		RunE:                       func(*cobra.Command, []string) error { return nil }, // Args never lets it
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(p.taskRunCommand(), p.taskLsCommand(), p.taskShowCommand(), p.taskLogsCommand(), p.taskCancelCommand(),
		p.taskWaitCommand(), p.taskRmCommand())
	return cmd
}

func (p *program) taskRunCommand() *cobra.Command {
	var r sessions.CreateTaskRequest
	var after, limit string
	cmd := &cobra.Command{
		Use:   "run [--] command...",
		Short: "run a command as a task",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("corral task run needs a command", "as in: corral task run -- make test")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Command = args
			if r.Shell {
				r.Command = []string{strings.Join(args, " ")}
			}
			var err error
			if limit != "" {
				if r.LogLimit, err = parseSize(limit); err != nil {
					return err
				}
			}
			return p.runTask(cmd.Context(), r, after)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command's name is the command's
	f.StringVar(&r.Title, "title", "", "title (default: the command)")
	f.StringVar(&r.CWD, "cwd", "", "working directory (default: this one)")
	f.BoolVar(&r.Shell, "shell", false, "the command is a line for your login shell")
	f.BoolVar(&r.TTY, "tty", false, "give it a terminal")
	f.StringArrayVar(&r.Env, "env", nil, "K=V for the program; may be given several times")
	f.DurationVar(&r.Timeout, "timeout", 0, "end it after this time, as 90m (default: never)")
	f.DurationVar(&r.Grace, "grace", 0, "time between asking it to end and killing it (default 10s)")
	f.StringVar(&after, "after", "", "start when that task has SUCCEEDED")
	f.StringVar(&r.Group, "group", "", "run no more than --limit tasks of this group at once")
	f.IntVar(&r.GroupLimit, "limit", 0, "tasks of the group that may run at once (default 1)")
	f.StringVar(&limit, "log-limit", "", "how much of the log to keep, half from its begin and half from its end, or none (default 4GiB)")
	return cmd
}

// parseSize reads a number of bytes as people write it.
func parseSize(text string) (int64, error) {
	if text == "none" {
		return -1, nil
	}
	bad := usage(fmt.Sprintf("%q is no size", sessions.CleanLine(text, 40)), "as in: 64KiB, 100MiB, 4GiB, or none")
	digits := strings.TrimRight(text, "BbiKkMmGgTt")
	unit := strings.ToUpper(strings.TrimRight(strings.ToLower(text[len(digits):]), "ib"))
	shift, ok := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !ok || n <= 0 || n > 1<<60>>shift {
		return 0, bad
	}
	return n << shift, nil
}

func (p *program) runTask(ctx context.Context, r sessions.CreateTaskRequest, after string) error {
	for _, kv := range r.Env {
		if k, _, ok := strings.Cut(kv, "="); !ok || k == "" {
			return usage("--env wants K=V", "as in: --env LANG=C.UTF-8") // the value may be a secret: do not show it
		}
	}
	var err error
	if r.CWD, err = filepath.Abs(r.CWD); err != nil {
		return usage("this directory does not exist any more", "change to another one, or name one with --cwd")
	}
	if cols, rows, err := term.GetSize(p.stdout.Fd()); err == nil {
		r.Cols, r.Rows = cols, rows
	}
	c, err := open()
	if err != nil {
		return err
	}
	if err := c.raise(); err != nil {
		return err
	}
	return c.withTasks(ctx, func(ctx context.Context, client *sessionclient.Client) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		if after != "" {
			t, err := findTask(ctx, client, after)
			if err != nil {
				return err
			}
			r.After = t.ID
		}
		t, err := client.RunTask(ctx, r)
		if err != nil {
			return err
		}
		return p.say(t, "%s  %s  %s; follow it with: corral task logs -f %s", t.ID.Short(), taskStateWord(t), sessions.CleanTitle(t.Title), t.ID.Short())
	})
}

// withTasks connects and calls do. Tasks need the runtime and no database.
func (c *corral) withTasks(ctx context.Context, do func(context.Context, *sessionclient.Client) error) error {
	if err := c.ensure(ctx); err != nil {
		return err
	}
	client := c.client(nil)
	defer client.CloseIdleConnections()
	if err := c.settleRuntime(ctx, client); err != nil {
		return err
	}
	return do(ctx, client)
}

// settleRuntime is settle for what needs the runtime alone.
func (c *corral) settleRuntime(ctx context.Context, client *sessionclient.Client) error {
	left := runtimePatience - c.serverAge()
	if left <= 0 || !c.config.Autostart {
		return nil
	}
	patience, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	up := false
	watching, stop := context.WithCancel(patience)
	defer stop()
	client.Watch(watching, func(ch sessions.Change) {
		for _, n := range ch.Nodes {
			up = up || n.State == sessions.Up
		}
		if up {
			stop()
		}
	}, func(sessions.Link) {})
	return ctx.Err()
}

// withTaskServer is withServer for the verbs of tasks.
func withTaskServer(ctx context.Context, do func(context.Context, *corral, *sessionclient.Client) error) error {
	c, err := open()
	if err != nil {
		return err
	}
	return c.withTasks(ctx, func(ctx context.Context, client *sessionclient.Client) error { return do(ctx, c, client) })
}

func findTask(ctx context.Context, client *sessionclient.Client, name string) (sessions.Task, error) {
	list, err := client.Tasks(ctx)
	if err != nil {
		return sessions.Task{}, err
	}
	return sessions.ResolveTask(list, name)
}

func (p *program) taskCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID...", Short: "ask tasks to end; what has not after its grace is killed", Args: arguments(1, maxTaskArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.eachTask(cmd.Context(), args, func(ctx context.Context, client *sessionclient.Client, t sessions.Task) (any, string, error) {
				t, err := client.CancelTask(ctx, t.ID)
				return t, fmt.Sprintf("%s  %s  %s", t.ID.Short(), taskStateWord(t), sessions.CleanTitle(t.Title)), err
			})
		},
	}
}

func (p *program) taskRmCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm ID...", Short: "remove ended tasks with their logs", Args: arguments(1, maxTaskArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.eachTask(cmd.Context(), args, func(ctx context.Context, client *sessionclient.Client, t sessions.Task) (any, string, error) {
				err := client.RemoveTask(ctx, t.ID)
				return map[string]any{"id": t.ID, "removed": true}, fmt.Sprintf("%s  %s removed", t.ID.Short(), sessions.CleanTitle(t.Title)), err
			})
		},
	}
}

// maxTaskArgs is how many tasks a verb takes at once.
const maxTaskArgs = 1000

// eachTask does something with every named task. All names are looked up before anything is done.
func (p *program) eachTask(ctx context.Context, names []string, do func(context.Context, *sessionclient.Client, sessions.Task) (any, string, error)) error {
	return withTaskServer(ctx, func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		list, err := client.Tasks(ctx)
		if err != nil {
			return err
		}
		var tasks []sessions.Task
		for _, name := range names {
			t, err := sessions.ResolveTask(list, name)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(tasks, func(have sessions.Task) bool { return have.ID == t.ID }) {
				tasks = append(tasks, t)
			}
		}
		var failed error
		var answers []any
		for _, t := range tasks {
			v, line, err := do(ctx, client, t)
			switch {
			case err != nil && failed == nil:
				failed = err
			case err != nil:
				_ = p.fail(err) // the last one decides the code
			case p.json:
				answers = append(answers, v)
			default:
				if _, err := fmt.Fprintln(p.stdout, line); err != nil {
					return err
				}
			}
		}
		if p.json && len(answers) == 1 && len(tasks) == 1 {
			return errors.Join(p.printJSON(answers[0]), failed)
		}
		if p.json && len(answers) > 0 {
			return errors.Join(p.printJSON(answers), failed)
		}
		return failed
	})
}
