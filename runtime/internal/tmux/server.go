package tmux

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"corral/runtime/internal/procfs"
	"corral/runtime/rtapi"
)

// ErrDown means that no connection to the tmux server could be had, or that it broke before the reply came. It says
// nothing about the terminals, nor whether the commands ran.
var ErrDown = errors.New("the tmux server does not answer")

// maxSocket is the longest path of a unix socket, in bytes (sun_path of 108 with its terminator).
const maxSocket = 107

// The pauses between attempts to reach or start a tmux server. A first attempt is made at once.
const (
	minPause = 200 * time.Millisecond // a server that goes down just now is gone by then
	maxPause = 5 * time.Second
	settled  = 10 * time.Second // a connection that held this long ends a row of failures
)

// Config is what a Server needs.
type Config struct {
	Binary       string // path or name of tmux, looked up in the PATH of Env; "tmux" when empty
	Socket       string // in a directory of its own, 0700
	ConfPath     string // where to write the server's configuration
	StatePath    string // where to keep what the next runtime must know of the server
	HistoryLimit int
	Env          []string // K=V; the names on the allow-list become the server's whole environment
	Log          *slog.Logger
}

// Server is the private tmux server of one data directory, seen from one runtime.
type Server struct {
	cfg     Config
	binary  string
	env     []string
	log     *slog.Logger
	systemd systemd
	changed chan struct{} // holds at most one wake-up

	mu      sync.Mutex
	link    *link         // nil while there is none; guarded by mu
	linked  chan struct{} // closed while link is set, replaced when it goes; guarded by mu
	state   state         // guarded by mu
	knownAt time.Time     // when state.Server was last known alive, as found at start; guarded by mu
}

// New checks that there is a tmux that Corral can work with. Serve brings the server to life.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if len(cfg.Socket) > maxSocket {
		return nil, &rtapi.Error{
			Code:    "invalid",
			Message: fmt.Sprintf("the path of the tmux socket is longer than %d bytes: %s", maxSocket, cfg.Socket),
			Hint:    "set CR_RUN_DIR to a shorter directory",
		}
	}
	env := allowed(cfg.Env)
	binary, err := lookPath(cfg.Binary, env)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, binary: binary, env: env, log: cfg.Log,
		systemd: findSystemd(env),
		changed: make(chan struct{}, 1),
		linked:  make(chan struct{}),
	}
	if err := s.checkVersion(ctx); err != nil {
		return nil, err
	}
	st, knownAt, err := loadState(cfg.StatePath)
	if err != nil {
		// Without the record a server that still answers on its socket is found all the same.
		s.log.Warn("tmux record unreadable", "err", err)
	}
	s.state, s.knownAt = st, knownAt
	return s, nil
}

func (s *Server) checkVersion(ctx context.Context) error {
	out, err := s.spawn(ctx, "-V")
	if err != nil {
		return err
	}
	if v := parseVersion(string(out)); v.before(oldest) {
		return &rtapi.Error{
			Code:    "invalid",
			Message: fmt.Sprintf("%s is %s, and Corral needs 3.3a or newer", s.binary, strings.TrimSpace(string(out))),
			Hint:    "install a newer tmux",
		}
	}
	return nil
}

// Serve keeps a tmux server and a connection to it up until ctx ends. The tmux server lives on.
func (s *Server) Serve(ctx context.Context) error {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tasks.Go(func() { s.watchSocket(ctx) })

	pause := time.Duration(0)
	for {
		l, err := s.connect(ctx)
		if err == nil {
			since := time.Now()
			s.setLink(l)
			s.wake()
			s.log.Info("tmux connected", "pid", l.server.PID, "version", l.version)
			err = l.wait(ctx)
			s.dropLink()
			l.close()
			if time.Since(since) > settled {
				pause = 0
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		s.log.Warn("tmux connection lost", "err", err, "pause", pause)
		if !sleep(ctx, pause) {
			return nil
		}
		pause = min(max(2*pause, minPause), maxPause)
	}
}

// sleep waits for d, or returns false as soon as ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// connect returns a connection to the recorded server if that lives, and starts a new one only when it is proven gone.
func (s *Server) connect(ctx context.Context) (*link, error) {
	s.mu.Lock()
	st, knownAt := s.state, s.knownAt
	s.mu.Unlock()

	if st.Server.PID != 0 {
		if procfs.Alive(st.Server) {
			if _, err := os.Lstat(st.Socket); err != nil {
				s.reviveSocket()
			}
			return s.dial(ctx, st.Socket)
		}
		// knownAt is zero once this runtime has seen the server alive: then its end was seen too, just now.
		at := knownAt
		if at.IsZero() {
			at = time.Now()
		}
		s.log.Warn("tmux server gone", "pid", st.Server.PID, "at", at)
		if err := s.record(func(st *state) { st.end(at) }); err != nil {
			return nil, err
		}
	}
	// No recorded server lives. One may have been started by a runtime that ended before it could record it.
	if l, err := s.dial(ctx, s.cfg.Socket); err == nil {
		return l, nil
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s.dial(ctx, s.cfg.Socket)
}

// record changes the state and saves it. Only Serve's goroutine calls it, so the order of the files is that of the
// changes.
func (s *Server) record(change func(*state)) error {
	s.mu.Lock()
	change(&s.state)
	s.knownAt = time.Time{}
	st := s.state
	s.mu.Unlock()
	return st.save(s.cfg.StatePath)
}

func (s *Server) setLink(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = l
	close(s.linked)
}

func (s *Server) dropLink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.link.dropped)
	s.link = nil
	s.linked = make(chan struct{})
}

// current returns the connection, waiting for it until ctx ends.
func (s *Server) current(ctx context.Context) (*link, error) {
	for {
		s.mu.Lock()
		l, linked := s.link, s.linked
		s.mu.Unlock()
		if l != nil {
			return l, nil
		}
		select {
		case <-linked:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrDown, context.Cause(ctx))
		}
	}
}

// Run executes list as one atomic line and returns the replies in order. When a command fails, its Reply and the
// returned error carry tmux's words, and the commands after it are not run. While there is no connection Run waits for
// one until ctx ends; an error that is ErrDown leaves open whether the list ran.
func (s *Server) Run(ctx context.Context, list ...Command) ([]Reply, error) {
	for {
		l, err := s.current(ctx)
		if err != nil {
			return nil, err
		}
		replies, err := l.run(ctx, list)
		if !errors.Is(err, errNotSent) {
			return replies, err
		}
		select {
		case <-l.dropped:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// RunOn is Run for lists that name things of one life of the server, as pane ids: it fails with ErrDown when the server
// is another one by now.
func (s *Server) RunOn(ctx context.Context, server rtapi.Incarnation, list ...Command) ([]Reply, error) {
	l, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	if l.server != server {
		return nil, fmt.Errorf("%w: it was replaced", ErrDown)
	}
	return l.run(ctx, list)
}

// Output runs a tmux client of its own for one command and returns what it printed. It is for captures too large for
// the control client; it costs a process.
func (s *Server) Output(ctx context.Context, command Command) ([]byte, error) {
	l, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	return s.spawn(ctx, append([]string{"-u", "-N", "-S", l.socket}, command...)...)
}

// spawn runs tmux with args to its end.
func (s *Server) spawn(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Env = s.env
	cmd.WaitDelay = time.Second
	s.log.Debug("tmux spawned", "name", spawnName(args))
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			return nil, fmt.Errorf("tmux %s: %s: %w", spawnName(args), strings.TrimSpace(string(exit.Stderr)), err)
		}
		return nil, fmt.Errorf("tmux %s: %w", spawnName(args), err)
	}
	return out, nil
}

// spawnName returns the command's name, which is what follows the options that take a value.
func spawnName(args []string) string {
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-S", "-f":
			i++
		case "-u", "-N", "-C":
		default:
			return args[i]
		}
	}
	return ""
}

// AttachCommand returns the command of a viewer: a client attached to target ("=cr-<id>") in whatever PTY it is
// started in.
func (s *Server) AttachCommand(ctx context.Context, target string) *exec.Cmd {
	s.mu.Lock()
	socket := s.cfg.Socket
	if s.link != nil {
		socket = s.link.socket
	}
	s.mu.Unlock()
	cmd := exec.CommandContext(ctx, s.binary, "-u", "-N", "-S", socket, "attach-session", "-t", target)
	cmd.Env = s.env
	s.log.Debug("tmux spawned", "name", "attach-session")
	return cmd
}

// Changed signals that the inventory may have changed: after each happening that the hooks report and each new
// connection. Signals merge, none is lost.
func (s *Server) Changed() <-chan struct{} { return s.changed }

func (s *Server) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Nonce is the random word that begins every title marker of this tmux server; empty while there is no connection.
func (s *Server) Nonce() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return ""
	}
	return s.link.nonce
}

// Status describes the server for people.
func (s *Server) Status() rtapi.Tmux {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := rtapi.Tmux{Socket: s.cfg.Socket, SurvivesLogout: "unknown"}
	if l := s.link; l != nil {
		st.Up, st.Server, st.Socket, st.Version = true, l.server, l.socket, l.version
		st.Placement, st.SurvivesLogout = l.placement, l.survivesLogout
	}
	return st
}

// Ended lists former servers, newest first.
func (s *Server) Ended() []rtapi.ServerEnd {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Ended // never changed in place
}

// Touch records that the server is known to be alive now, for a runtime that finds it gone later.
func (s *Server) Touch() {
	s.mu.Lock()
	up := s.link != nil
	s.mu.Unlock()
	if !up {
		return
	}
	now := time.Now()
	if err := os.Chtimes(s.cfg.StatePath, now, now); err != nil {
		s.log.Warn("tmux record not touched", "err", err)
	}
}

// LosesExits reports whether this server needs Reap: up to 3.5a, libutempter may swallow the SIGCHLD of a pane.
func (s *Server) LosesExits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link != nil && s.link.parsed.before(reapsSelf)
}

// Reap makes the server look for ended children. It is one system call; tmux runs no command for it.
func (s *Server) Reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return // its pid may be another process by now
	}
	if err := syscall.Kill(s.link.server.PID, syscall.SIGCHLD); err != nil {
		s.log.Warn("tmux not signalled", "err", err)
	}
}

// mkSocketDir makes the directory of a socket, as private as it must be.
func mkSocketDir(socket string) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return fmt.Errorf("make the directory of the tmux socket: %w", err)
	}
	return nil
}
