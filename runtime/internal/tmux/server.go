package tmux

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"

	"corral/runtime/rtapi"
)

// Command is one tmux command with its arguments, as argv: no quoting, no formats unless the command expands them.
type Command []string

// Reply is what one command of a list answered.
type Reply struct {
	Lines []string
	Err   error // an *Error when tmux refused the command; the commands after it were not run
}

// Error is tmux's refusal of a command.
type Error struct {
	Command string // name of the command
	Message string // tmux's words
}

func (e *Error) Error() string { return "tmux " + e.Command + ": " + e.Message }

// ErrDown means that no connection to the tmux server could be had in time. It says nothing about the terminals.
var ErrDown = errors.New("the tmux server does not answer")

// Config is what a Server needs.
type Config struct {
	Binary       string // tmux by default
	Socket       string
	ConfPath     string
	StatePath    string
	HistoryLimit int
	Env          []string
	Log          *slog.Logger
}

// Server is the private tmux server.
type Server struct{ cfg Config }

// New returns a Server; Serve brings it to life.
func New(cfg Config) (*Server, error) { return &Server{cfg: cfg}, nil }

// Serve keeps the tmux server and the connection to it up until ctx ends. The tmux server lives on.
func (s *Server) Serve(ctx context.Context) error { <-ctx.Done(); return nil }

// Run executes list as one atomic line and returns the replies in order. When a command fails, its Reply and the
// returned error carry tmux's words and the commands after it are not run. While the connection is being made Run
// waits until ctx ends.
func (s *Server) Run(ctx context.Context, list ...Command) ([]Reply, error) { return nil, ErrDown }

// AttachCommand returns the command of a viewer: an attach to target (as "=cr-<id>") in whatever PTY it is started in.
func (s *Server) AttachCommand(ctx context.Context, target string) *exec.Cmd {
	return exec.CommandContext(ctx, s.cfg.Binary)
}

// Nonce is the random word that begins every title marker of this tmux server; empty while it was never reached.
func (s *Server) Nonce() string { return "" }

// Status describes the server.
func (s *Server) Status() rtapi.Tmux { return rtapi.Tmux{} }
