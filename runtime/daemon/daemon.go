// Package daemon wires the runtime role: the private tmux server, the recorder, the inventory and its events, the
// viewers and the HTTP API.
package daemon

import (
	"context"
	"log/slog"
	"net"
)

// Config is what the runtime needs.
type Config struct {
	Listener     net.Listener // already checks who connects
	DataDir      string
	RunDir       string
	Self         string // path of the corral binary, for launch, handoff and recorder
	TmuxBinary   string // "tmux" when empty
	HistoryLimit int    // tmux's history-limit; 22300 when 0
	// Env is the environment that children may see, as K=V. The recorder gets all of it, with CR_DATA_DIR and
	// CR_RUN_DIR set; tmux gets only the names on its allow-list.
	Env []string
	Log *slog.Logger
}

// Run is the runtime. It returns when ctx ends or a shutdown is asked for, and leaves tmux and the recorder running.
func Run(ctx context.Context, cfg Config) error { <-ctx.Done(); return nil }
