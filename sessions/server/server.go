package server

import (
	"context"
	"errors"
)

// Run is the server role. It returns when ctx ends or a shutdown was asked for over the API (nil), or when it cannot go
// on.
func Run(ctx context.Context, cfg Config) error { return errors.New("not written yet") }

// StopCluster stops the private cluster of a server that does not run; it is for `corral down`. An external database or
// a cluster that does not run is no error.
func StopCluster(ctx context.Context, cfg Config) error { return errors.New("not written yet") }
