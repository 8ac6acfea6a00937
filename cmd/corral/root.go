package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"corral/sessions"
)

// version is set by the linker: -ldflags "-X main.version=...".
var version = "0.1.0-dev" //nolint:gochecknoglobals // the linker can only set a variable

const about = `corral keeps terminal sessions alive on this machine and shows them in one dashboard.

Without a verb it opens the dashboard. An ID is a session's id, any unique beginning of one, or a unique title.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 unreachable.`

// run is main without the process around it.
func run(args []string, stdin, stdout, stderr *os.File) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, json: wantsJSON(args)}
	root := p.command()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	return p.fail(err)
}

// wantsJSON looks for --json by itself, so that an error of the command line, which is found before flags are known, is
// JSON too.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// command builds the tree of verbs.
func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "corral",
		Short: "the dashboard of your terminal sessions",
		Long:  about,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := "see corral --help"
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "did you mean corral " + near[0] + "?"
			}
			return usage(fmt.Sprintf("there is no verb %q", sessions.CleanLine(args[0], 40)), hint)
		},
		RunE:                       func(cmd *cobra.Command, _ []string) error { return p.dashboard(cmd.Context()) },
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
	}
	root.PersistentFlags().BoolVar(&p.json, "json", p.json, "print JSON")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(sentence(err), "see "+cmd.CommandPath()+" --help")
	})
	root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		p.newCommand(), p.lsCommand(), p.showCommand(), p.attachCommand(), p.sendCommand(), p.screenCommand(),
		p.historyCommand(), p.restartCommand(), p.stopCommand(), p.closeCommand(), p.rmCommand(), p.renameCommand(),
		p.eventsCommand(), p.journalCommand(), p.waitCommand(), p.statusCommand(), p.upCommand(), p.downCommand(), p.versionCommand(),
		p.recoverCommand(), p.promptCommand(), p.taskCommand(), p.doctorCommand(), p.logsCommand(), p.backupCommand(), p.restoreCommand(),
		p.serverCommand(), p.runtimeCommand(), p.recorderCommand(), p.workerCommand(),
	)
	return root
}

// arguments checks the number of arguments, and says which ones the verb takes.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		_, wants, _ := strings.Cut(cmd.Use, " ")
		message := fmt.Sprintf("corral %s takes %s", cmd.Name(), wants)
		if wants == "" {
			message = fmt.Sprintf("corral %s takes no argument", cmd.Name())
		}
		return usage(message, "see "+cmd.CommandPath()+" --help")
	}
}
