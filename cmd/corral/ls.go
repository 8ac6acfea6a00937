package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

func (p *program) lsCommand() *cobra.Command {
	var states []string
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"},
		Short: "list the sessions",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			want, err := parseStates(states)
			if err != nil {
				return err
			}
			return p.list(cmd.Context(), want)
		},
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "only sessions in this state; may be given several times")
	return cmd
}

// parseStates reads states as people write them.
func parseStates(words []string) ([]sessions.State, error) {
	var all []sessions.State
	for _, w := range words {
		s := sessions.State(strings.ToUpper(strings.ReplaceAll(w, "-", "_")))
		if !s.Valid() {
			var names []string
			for _, s := range sessions.States() {
				names = append(names, string(s))
			}
			return nil, usage(fmt.Sprintf("there is no state %q", sessions.CleanLine(w, 40)), "the states are "+strings.Join(names, ", "))
		}
		all = append(all, s)
	}
	return all, nil
}

func (p *program) list(ctx context.Context, states []sessions.State) error {
	return withServer(ctx, func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		list, err := client.List(ctx)
		if err != nil {
			return err
		}
		if len(states) > 0 {
			list = slices.DeleteFunc(list, func(s sessions.Session) bool { return !slices.Contains(states, s.State) })
		}
		if p.json {
			if list == nil {
				list = []sessions.Session{} // [], not null
			}
			return p.printJSON(list)
		}
		if len(list) == 0 {
			_, err := fmt.Fprintln(p.stderr, "no sessions; make one with: corral new")
			return err
		}
		return printTable(p.stdout, sessionColumns(), sessionRows(list, time.Now()), p.width())
	})
}

func sessionColumns() []column {
	return []column{
		{title: "ID"},
		{title: "STATE"},
		{title: "TITLE", least: 6},
		{title: "PROJECT", least: 4},
		{title: "DIRECTORY", least: 6, tail: true},
		{title: "AGE"},
	}
}

func sessionRows(list []sessions.Session, now time.Time) [][]string {
	rows := make([][]string, len(list))
	for i, s := range list {
		rows[i] = []string{
			s.ID.Short(), stateWord(s), sessions.CleanTitle(s.Title), sessions.CleanTitle(s.Project),
			sessions.CleanLine(s.CWD, sessions.MaxPath), age(now, s.CreatedAt),
		}
	}
	return rows
}
