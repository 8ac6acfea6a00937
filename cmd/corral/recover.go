package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/recovery"
	"corral/sessions/sessionclient"
)

// recoverFlags say what is to be brought back, and whether that has been confirmed.
type recoverFlags struct {
	all, dryRun, yes bool
	project          string
}

func (p *program) recoverCommand() *cobra.Command {
	var f recoverFlags
	cmd := &cobra.Command{
		Use: "recover", Short: "bring lost sessions back, after saying what that does", Args: arguments(0, 0),
		Long: `Show, for every session that was lost with its tmux server or with the machine, how it would come back and what
would not. With --all or --project, and once that is confirmed, restart them a few at a time, and say for each what
proves that it runs: its process, a word from its agent, the right conversation. Ctrl-C stops it: what was started
runs on, nothing more is started. It halts by itself after three failures in a row.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.all && f.project != "" {
				return usage("--all and --project exclude each other", "give one of them")
			}
			return withServer(cmd.Context(), func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
				return p.recover(ctx, client, f)
			})
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "bring back every lost session")
	cmd.Flags().StringVar(&f.project, "project", "", "bring back the lost sessions of one project")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only show the plan")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask: the plan is confirmed")
	return cmd
}

func (p *program) recover(ctx context.Context, client *sessionclient.Client, f recoverFlags) error {
	plan, err := client.Recovery(ctx, f.project)
	if err != nil {
		return err
	}
	only := f.dryRun || !f.all && f.project == ""
	possible := len(plan)
	for _, r := range plan {
		if r.Problem != "" {
			possible--
		}
	}
	switch {
	case p.json && only:
		return p.printJSON(plan)
	case !p.json:
		if err := printPlan(p.stdout, plan); err != nil {
			return err
		}
	}
	switch {
	case len(plan) == 0 && p.json:
		return p.printJSON(recovered{Results: []recovery.Result{}})
	case possible == 0:
		if p.json {
			break // the results say why
		}
		return nil
	case only:
		if f.dryRun {
			return nil
		}
		_, err := fmt.Fprintln(p.stdout, "nothing was started; corral recover --all brings them back, --project P those of one project")
		return err
	}
	if err := p.confirm(ctx, f, possible); err != nil {
		return err
	}
	return p.bringBack(ctx, client, plan)
}

// confirm asks before anything is started.
func (p *program) confirm(ctx context.Context, f recoverFlags, n int) error {
	if f.yes || n == 0 {
		return nil
	}
	unconfirmed := func(message string) error {
		return &sessions.Error{Code: sessions.CodeConflict, Message: message + "; nothing was started", Hint: "look at the plan and confirm it with --yes"}
	}
	if p.json || !term.IsTerminal(p.stdin.Fd()) {
		return unconfirmed("the plan is not confirmed")
	}
	if _, err := fmt.Fprintf(p.stdout, "restart %s? [y/N] ", plural(n, "session")); err != nil {
		return err
	}
	answer := make(chan string, 1)
	go func() { // ends with the process: a read from a terminal cannot be given up
		line, err := bufio.NewReader(p.stdin).ReadString('\n')
		if err != nil {
			line = ""
		}
		answer <- line
	}()
	select {
	case line := <-answer:
		if line = strings.ToLower(strings.TrimSpace(line)); line == "y" || line == "yes" {
			return nil
		}
		return unconfirmed("you did not say yes")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recovered is the JSON of a recovery.
type recovered struct {
	Results []recovery.Result `json:"results"`
	recovery.Summary
}

func (p *program) bringBack(ctx context.Context, client *sessionclient.Client, plan []sessions.Recovery) error {
	out := recovered{Results: []recovery.Result{}}
	out.Summary = recovery.Run(ctx, plan, recovery.Config{Client: client, Each: func(r recovery.Result) {
		out.Results = append(out.Results, r)
		if !p.json {
			_, _ = fmt.Fprintln(p.stdout, resultLine(r)) // who has gone away misses it
		}
	}})
	if err := p.say(out, "%s", out.Summary); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case out.Failed > 0 || out.Halted != "":
		return exitStatus(exitFailed)
	}
	return nil
}

// printPlan says of each session how it would come back.
func printPlan(w io.Writer, plan []sessions.Recovery) error {
	if len(plan) == 0 {
		_, err := fmt.Fprintln(w, "no session is lost")
		return err
	}
	for _, r := range plan {
		s := r.Session
		lines := []string{fmt.Sprintf("%s  %s  in %s", s.ID.Short(), sessions.CleanTitle(s.Title), sessions.CleanLine(s.CWD, sessions.MaxPath))}
		if r.Problem != "" {
			lines = append(lines, "cannot come back as it was: "+sessions.CleanLine(r.Problem, 500))
			for _, c := range r.Choices {
				lines = append(lines, "  corral restart "+s.ID.Short()+" --"+choiceLine(c))
			}
		} else {
			lines = append(lines, wayLine(r), "lost: "+sessions.CleanLine(r.Lost, 200))
		}
		if _, err := fmt.Fprintln(w, strings.Join(lines, "\n          ")); err != nil {
			return err
		}
	}
	return nil
}

// choiceLine is a flag of corral restart and what it means.
func choiceLine(c sessions.Choice) string {
	line := string(c.Conversation)
	if c.LastPrompt != "" {
		line += "  (" + sessions.CleanLine(c.LastPrompt, 100) + ")"
	}
	return line
}

// wayLine says how a session comes back.
func wayLine(r sessions.Recovery) string {
	var quoted []string
	for _, arg := range r.Argv {
		quoted = append(quoted, sessions.CleanLine(quote(arg), 200))
	}
	command := strings.Join(quoted, " ")
	switch r.Way {
	case "resume":
		line := "goes on with its conversation: " + command
		if r.LastPrompt != "" {
			line += "\n          last prompt: " + sessions.CleanLine(r.LastPrompt, 200)
		}
		return line
	case "continue":
		return "goes on with the newest conversation there: " + command
	case "fresh":
		return "nothing was said in it yet, begins afresh: " + command
	}
	if command == "" {
		return "a fresh login shell"
	}
	return "is run again: " + command
}

// quote writes an argument so that its borders can be seen.
func quote(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./:,+@%", r)
	}
	if arg != "" && !strings.ContainsFunc(arg, func(r rune) bool { return !plain(r) }) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// resultLine says what became of a session, and what proves it.
func resultLine(r recovery.Result) string {
	var proof []string
	add := func(ok bool, yes, no string) {
		if ok {
			proof = append(proof, yes)
		} else {
			proof = append(proof, no)
		}
	}
	if r.Outcome == recovery.Proven || r.Outcome == recovery.Unproven {
		add(r.Alive, "alive", "not alive yet")
		if r.Hook != nil {
			add(*r.Hook, "its agent told so", "no sign of its agent")
		}
		if r.Conversation != nil {
			add(*r.Conversation, "the right conversation", "another conversation")
		}
	}
	if r.Reason != "" {
		proof = append(proof, sessions.CleanLine(r.Reason, 500))
	}
	return fmt.Sprintf("%-8s  %s  %s: %s", r.Outcome, r.Session.ID.Short(), sessions.CleanTitle(r.Session.Title), strings.Join(slices.Compact(proof), ", "))
}
