package daemon

import (
	"context"
	"path/filepath"

	"corral/runtime/internal/tmux"
)

// Inspection is what the runtime would find of tmux.
type Inspection = tmux.Inspection

// Inspect says what the runtime would find of tmux, and returns the error that would keep it from working. It starts
// nothing; it is for `corral doctor`.
func Inspect(ctx context.Context, cfg Config) (Inspection, error) {
	return tmux.Inspect(ctx, tmuxConfig(cfg))
}

// Check returns the error with which Run would refuse at once: there is no tmux that it can work with.
func Check(ctx context.Context, cfg Config) error {
	_, err := tmux.New(ctx, tmuxConfig(cfg))
	return err
}

func tmuxConfig(cfg Config) tmux.Config {
	limit := cfg.HistoryLimit
	if limit == 0 {
		limit = defaultHistory
	}
	return tmux.Config{
		Binary:       cfg.TmuxBinary,
		Socket:       filepath.Join(cfg.RunDir, "tmux.sock"),
		ConfPath:     filepath.Join(cfg.DataDir, "tmux.conf"),
		StatePath:    filepath.Join(cfg.DataDir, "tmux.json"),
		HistoryLimit: limit,
		Env:          cfg.Env,
		Log:          cfg.Log,
	}
}
