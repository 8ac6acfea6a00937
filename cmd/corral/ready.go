package main

import (
	"context"
	"errors"
	"fmt"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

// untilReady waits, by the server's watch, until what it reports of its database and nodes is ready. It returns what is
// still missing when ctx ends first, and a reason why the database is away at once: while it merely starts there is none.
func untilReady(ctx context.Context, client *sessionclient.Client, ready func(sessions.Status) bool) error {
	watch, done := context.WithCancel(ctx)
	defer done()
	var seen sessions.Status
	client.Watch(watch, func(c sessions.Change) {
		if c.Nodes != nil {
			seen.Nodes = c.Nodes
		}
		if c.Database != nil {
			seen.Database = *c.Database
		}
		if ready(seen) || !databaseUp(seen) && seen.Database.Message != "" || databaseUp(seen) && trouble(seen) != "" {
			done()
		}
	}, func(sessions.Link) {})
	switch {
	case ready(seen):
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case !databaseUp(seen):
		return notReady(sessions.CodeDatabaseUnavailable, "the database does not answer", seen.Database.Message)
	default:
		return notReady(sessions.CodeRuntimeUnreachable, "the runtime does not answer", trouble(seen))
	}
}

// trouble says why a node is away and will not come back by itself; "" when that is not so.
func trouble(st sessions.Status) string {
	for _, n := range st.Nodes {
		if n.State != sessions.Up && n.Message != "" {
			return n.Message
		}
	}
	return ""
}

func databaseUp(st sessions.Status) bool { return st.Database.State == sessions.Up }

func allUp(st sessions.Status) bool {
	for _, n := range st.Nodes {
		if n.State != sessions.Up {
			return false
		}
	}
	return databaseUp(st) && len(st.Nodes) > 0
}

func notReady(code sessions.Code, message, detail string) error {
	if detail != "" {
		message = fmt.Sprintf("%s: %s", message, sessions.CleanLine(detail, 300))
	}
	return &sessions.Error{Code: code, Message: message, Hint: "see corral status"}
}
