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

// stateName is a state of a session or of a task.
type stateName interface {
	~string
	Valid() bool
}

// listing is a verb that lists all there is of a kind.
type listing[T any, S stateName] struct {
	noun    string // as people call them
	first   string // how to get the first one
	connect func(context.Context, func(context.Context, *corral, *sessionclient.Client) error) error
	fetch   func(*sessionclient.Client, context.Context) ([]T, error)
	states  []S
	state   func(T) S
	columns []column
	row     func(T, time.Time) []string
}

func (p *program) lsCommand() *cobra.Command {
	return listCommand(p, listing[sessions.Session, sessions.State]{
		noun: "sessions", first: "make one with: corral new",
		connect: withServer, fetch: (*sessionclient.Client).List,
		states: sessions.States(), state: func(s sessions.Session) sessions.State { return s.State },
		columns: sessionColumns(), row: sessionRow,
	})
}

func (p *program) taskLsCommand() *cobra.Command {
	return listCommand(p, listing[sessions.Task, sessions.TaskState]{
		noun: "tasks", first: "run one with: corral task run -- command",
		connect: withTaskServer, fetch: (*sessionclient.Client).Tasks,
		states: sessions.TaskStates(), state: func(t sessions.Task) sessions.TaskState { return t.State },
		columns: taskColumns(), row: taskRow,
	})
}

func listCommand[T any, S stateName](p *program, l listing[T, S]) *cobra.Command {
	var words []string
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"},
		Short: "list the " + l.noun,
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			want, err := parseStates(words, l.states)
			if err != nil {
				return err
			}
			return l.connect(cmd.Context(), func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
				return l.print(ctx, p, client, want)
			})
		},
	}
	cmd.Flags().StringSliceVar(&words, "state", nil, "only "+l.noun+" in this state; may be given several times")
	return cmd
}

// parseStates reads states as people write them.
func parseStates[S stateName](words []string, all []S) ([]S, error) {
	var states []S
	for _, w := range words {
		s := S(strings.ToUpper(strings.ReplaceAll(w, "-", "_")))
		if !s.Valid() {
			names := make([]string, len(all))
			for i, s := range all {
				names[i] = string(s)
			}
			return nil, usage(fmt.Sprintf("there is no state %q", sessions.CleanLine(w, 40)), "the states are "+strings.Join(names, ", "))
		}
		states = append(states, s)
	}
	return states, nil
}

func (l listing[T, S]) print(ctx context.Context, p *program, client *sessionclient.Client, states []S) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	all, err := l.fetch(client, ctx)
	if err != nil {
		return err
	}
	if len(states) > 0 {
		all = slices.DeleteFunc(all, func(one T) bool { return !slices.Contains(states, l.state(one)) })
	}
	if p.json {
		if all == nil {
			all = []T{} // [], not null
		}
		return p.printJSON(all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(p.stderr, "no %s; %s\n", l.noun, l.first)
		return err
	}
	rows := make([][]string, len(all))
	now := time.Now()
	for i, one := range all {
		rows[i] = l.row(one, now)
	}
	return printTable(p.stdout, l.columns, rows, p.width())
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

func sessionRow(s sessions.Session, now time.Time) []string {
	return []string{
		s.ID.Short(), stateWord(s), sessions.CleanTitle(s.Title), sessions.CleanTitle(s.Project),
		sessions.CleanLine(s.CWD, sessions.MaxPath), age(now, s.CreatedAt),
	}
}

func taskColumns() []column {
	return []column{
		{title: "ID"},
		{title: "STATE"},
		{title: "TITLE", least: 6},
		{title: "GROUP", least: 4},
		{title: "DIRECTORY", least: 6, tail: true},
		{title: "TIME"},
		{title: "AGE"},
	}
}

func taskRow(t sessions.Task, now time.Time) []string {
	return []string{
		t.ID.Short(), taskStateWord(t), sessions.CleanTitle(t.Title), sessions.CleanTitle(t.Group),
		sessions.CleanLine(t.CWD, sessions.MaxPath), runTime(t, now), age(now, t.CreatedAt),
	}
}
