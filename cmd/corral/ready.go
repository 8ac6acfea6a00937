package main

import (
	"context"
	"errors"
	"fmt"

	"corral/sessions"
	"corral/sessions/sessionclient"
)

// untilReady waits until the server reports that its database and every node are up, by its watch. It returns what is
// still missing when ctx ends first, and a reason why the database is away at once: while it merely starts there is none.
func untilReady(ctx context.Context, client *sessionclient.Client) error {
	watch, done := context.WithCancel(ctx)
	defer done()
	var nodes []sessions.NodeStatus
	var database sessions.DatabaseStatus
	ready := false
	client.Watch(watch, func(c sessions.Change) {
		if c.Nodes != nil {
			nodes = c.Nodes
		}
		if c.Database != nil {
			database = *c.Database
		}
		ready = database.State == sessions.Up && len(nodes) > 0 && allUp(nodes)
		if ready || database.State != sessions.Up && database.Message != "" {
			done()
		}
	}, func(sessions.Link) {})
	switch {
	case ready:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case database.State != sessions.Up:
		return notReady(sessions.CodeDatabaseUnavailable, "the database does not answer", database.Message)
	default:
		return notReady(sessions.CodeRuntimeUnreachable, "the runtime does not answer", "")
	}
}

func allUp(nodes []sessions.NodeStatus) bool {
	for _, n := range nodes {
		if n.State != sessions.Up {
			return false
		}
	}
	return true
}

func notReady(code sessions.Code, message, detail string) error {
	if detail != "" {
		message = fmt.Sprintf("%s: %s", message, sessions.CleanLine(detail, 300))
	}
	return &sessions.Error{Code: code, Message: message, Hint: "see corral status"}
}
