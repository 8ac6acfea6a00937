package pgcluster

import (
	"context"
	"os"
	"path/filepath"
)

// Inspection is what Ensure would find.
type Inspection struct {
	Programs string // the directory of the programs that it would use
	Major    int    // their version
	Made     bool   // the cluster exists
	PID      int    // its running postmaster, 0 for none
}

// Inspect says what Ensure would find, and returns the error with which it would refuse. It makes and starts nothing.
func (c *Cluster) Inspect(ctx context.Context) (Inspection, error) {
	as, err := c.check()
	if err != nil {
		return Inspection{}, err
	}
	made, err := c.madeBy()
	if err != nil {
		return Inspection{}, err
	}
	bin, err := c.binaries(ctx, made)
	if err != nil {
		return Inspection{}, err
	}
	found := Inspection{Programs: bin.dir, Major: bin.major, Made: made != ""}
	if _, err := os.Stat(filepath.Dir(c.cfg.Dir)); err == nil {
		if err := as.checkReach(ctx, bin.path("postgres"), c.cfg.Dir); err != nil {
			return found, err
		}
	}
	pm, err := c.running()
	if err != nil || pm == nil {
		return found, err
	}
	defer pm.close()
	found.PID = pm.pid
	return found, nil
}
