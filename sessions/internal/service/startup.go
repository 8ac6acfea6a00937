package service

import (
	"context"
	"time"

	"corral/sessions"
)

const (
	// defaultStartupGrace is how long after its start a server may still be bringing its parts up: making a database
	// cluster takes some seconds, once.
	defaultStartupGrace = 60 * time.Second
	// startupShare is how much of a request's time waiting for the parts may take; the rest is for the work.
	startupShare = 0.8
)

// awaitStartup waits, while the server is still starting its parts, for as long as missing says so, so that the first thing that a new
// user does is not refused for coming too early. Later, and when the time is over, what is away is reported by whoever
// needs it.
func (s *Service) awaitStartup(ctx context.Context, missing func(sessions.NodeStatus, sessions.DatabaseStatus) bool) {
	bound := s.started.Add(s.StartupGrace)
	if d, ok := ctx.Deadline(); ok {
		share := time.Duration(float64(time.Until(d)) * startupShare)
		if t := time.Now().Add(share); t.Before(bound) {
			bound = t
		}
	}
	ctx, cancel := context.WithDeadline(ctx, bound)
	defer cancel()
	sub := s.Board.Subscribe()
	defer s.Board.Unsubscribe(sub)
	node, database := s.Board.Node(), *sub.Snapshot.Database
	for missing(node, database) {
		select {
		case c, ok := <-sub.Changes:
			if !ok {
				return
			}
			if len(c.Nodes) > 0 {
				node = c.Nodes[0]
			}
			if c.Database != nil {
				database = *c.Database
			}
		case <-ctx.Done():
			return
		}
	}
}

// runtimeMissing is for what needs the runtime alone.
func runtimeMissing(node sessions.NodeStatus, _ sessions.DatabaseStatus) bool {
	return node.State != sessions.Up
}

// starting reports whether something is away without a reason that would make waiting pointless.
func starting(node sessions.NodeStatus, database sessions.DatabaseStatus) bool {
	if database.State != sessions.Up {
		return database.Message == ""
	}
	return node.State != sessions.Up && node.Message == ""
}
