package server

import (
	"context"
	"fmt"
	"time"

	"corral/sessions/internal/store"
)

// inspectTimeout bounds the question whether an external database answers.
const inspectTimeout = 5 * time.Second

// Inspection is what the server would find of its database.
type Inspection struct {
	Version string // of an external database that answers, or of the programs of the private one
	Dir     string // the private cluster's data directory
	Made    bool   // the private cluster exists
	PID     int    // the private cluster's postmaster, 0 when it does not run
}

// Inspect says what the server would find of its database, and returns the error that would keep it from working. It
// makes and starts nothing; it is for `corral doctor`.
func Inspect(ctx context.Context, cfg Config) (Inspection, error) {
	cluster := cfg.cluster()
	if cluster != nil {
		found, err := cluster.Inspect(ctx)
		return Inspection{Version: fmt.Sprint(found.Major), Dir: cfg.Database.Dir, Made: found.Made, PID: found.PID}, err
	}
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	pool, err := store.Connect(ctx, cfg.Database.URL)
	if err != nil {
		return Inspection{}, err
	}
	defer pool.Close()
	version, err := store.New(pool).Version(ctx)
	return Inspection{Version: version}, err
}
