package attach

import (
	"context"
	"log/slog"
	"net/url"
	"os/exec"

	"github.com/coder/websocket"

	"corral/runtime/internal/tmux"
)

// Tmux is what the viewers need of the private tmux server; *tmux.Server satisfies it.
type Tmux interface {
	// Run executes a list of commands as one atomic line.
	Run(ctx context.Context, list ...tmux.Command) ([]tmux.Reply, error)
	// AttachCommand returns the command that attaches to target in the PTY it is started in.
	AttachCommand(ctx context.Context, target string) *exec.Cmd
	// Nonce is the random word that begins this tmux server's title markers.
	Nonce() string
}

// Config is what a Hub needs.
type Config struct {
	Tmux Tmux
	// Counts is told the viewers of a terminal whenever their number changes; calls for one terminal never overlap, and
	// the last one is the truth. It must not block for long nor call the Hub. May be nil.
	Counts func(id string, attached, watching int)
	// Dir is where big pastes lie for the moment that tmux needs to read them; the system's temporary directory when
	// empty. The files are 0600.
	Dir string
	Log *slog.Logger
}

// Hub owns all viewers of a node.
type Hub struct{ cfg Config }

// New returns a Hub without viewers.
func New(cfg Config) *Hub { return &Hub{cfg: cfg} }

// Serve is one viewer's stream of the terminal id, from attached to the close code. It owns conn and closes it. The
// error says why a stream ended that should not have; a viewer that went away is none.
func (h *Hub) Serve(ctx context.Context, conn *websocket.Conn, id string, q url.Values) error { return nil }

// Exited tells the viewers of a terminal that its program has ended; code or signal is set. Their streams end with an
// exited frame and close code 1000 after the remaining output.
func (h *Hub) Exited(id string, code, signal *int) {}

// Shutdown ends every stream with close code 1001 and waits until their viewers are gone, at most until ctx ends. The
// Hub serves no stream afterwards.
func (h *Hub) Shutdown(ctx context.Context) error { return nil }
