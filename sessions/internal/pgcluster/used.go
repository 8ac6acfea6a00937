package pgcluster

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// askTimeout bounds the question who uses the cluster; one that does not answer has no users that could go on.
	askTimeout = 2 * time.Second
	// leaveTime is how long the connections of a server that has just closed them take to be gone.
	leaveTime, leavePause = time.Second, 20 * time.Millisecond
)

// sqlUsers counts Corral's own connections but this one. A person's psql is no reason to run on.
const sqlUsers = `SELECT count(*) FROM pg_stat_activity
	WHERE datname = current_database() AND starts_with(application_name, 'corral') AND pid <> pg_backend_pid()`

// used reports whether a server works with this cluster.
func (c *Cluster) used(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return false
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is left to say to it
	for deadline := time.Now().Add(leaveTime); ; {
		var users int
		if err := conn.QueryRow(ctx, sqlUsers).Scan(&users); err != nil || users == 0 {
			return false
		}
		if time.Now().After(deadline) || pause(ctx, leavePause) != nil {
			return true
		}
	}
}
