package server

import (
	"context"
	"log/slog"
	"time"

	"corral/sessions/internal/store"
)

const (
	// firstPrune leaves a starting server to more urgent work.
	firstPrune = time.Minute
	// pruneEvery is often enough for a limit in days. A try that the database was not there for is made up for sooner.
	pruneEvery, pruneAgain = 24 * time.Hour, time.Hour
	pruneTimeout           = 5 * time.Minute
)

// prune removes events older than kept, now and then, until ctx ends.
func prune(ctx context.Context, current func() (*store.Store, error), kept time.Duration, log *slog.Logger) {
	if kept <= 0 {
		return
	}
	for pause := firstPrune; sleep(ctx, pause); {
		pause = pruneEvery
		if err := pruneOnce(ctx, current, time.Now().Add(-kept), log); err != nil {
			log.Debug("events not pruned", "error", err)
			pause = pruneAgain
		}
	}
}

func pruneOnce(ctx context.Context, current func() (*store.Store, error), before time.Time, log *slog.Logger) error {
	st, err := current()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pruneTimeout)
	defer cancel()
	n, err := st.PruneEvents(ctx, before)
	if n > 0 {
		log.Info("old events removed", "events", n, "before", before)
	}
	return err
}
