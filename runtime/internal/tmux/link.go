package tmux

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"corral/runtime/internal/procfs"
	"corral/runtime/rtapi"
)

// dialTimeout bounds the making of a connection; a server that is stopped by a signal does not hold up the loop.
const dialTimeout = 10 * time.Second

// link is a connection to one life of the tmux server: a control client for commands and one that waits for hooks.
type link struct {
	server         rtapi.Incarnation
	socket         string
	version        string
	parsed         version
	nonce          string
	placement      string
	survivesLogout string
	log            *slog.Logger

	commands, waiter *client
	wake             func()
	dropped          chan struct{} // closed when the server has let go of this link
}

// client is a control client with its process.
type client struct {
	*control
	cmd    *exec.Cmd
	stderr *tail
}

// dial connects to the server behind socket and makes sure of its configuration. It never starts a server.
func (s *Server) dial(ctx context.Context, socket string) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTimeout, errors.New("it took too long"))
	defer cancel()
	l := &link{socket: socket, log: s.log, wake: s.wake, dropped: make(chan struct{})}
	ok := false
	defer func() {
		if !ok {
			l.close()
		}
	}()
	var err error
	if l.commands, err = s.dialControl(ctx, socket); err != nil {
		return nil, err
	}
	if err := s.identify(ctx, l); err != nil {
		return nil, err
	}
	if l.waiter, err = s.dialControl(ctx, socket); err != nil {
		return nil, err
	}
	if err := s.record(func(st *state) { st.Server, st.Socket = l.server, socket }); err != nil {
		return nil, err
	}
	ok = true
	return l, nil
}

// identify asks who the server is, applies the options and reads or makes the nonce.
func (s *Server) identify(ctx context.Context, l *link) error {
	replies, err := l.run(ctx, append([]Command{
		{"display-message", "-p", "#{pid} #{version}"},
		{"show-options", "-gqv", nonceOption},
	}, options(s.cfg.HistoryLimit)...))
	if err != nil {
		return fmt.Errorf("configure the tmux server: %w", err)
	}
	who, ver, _ := strings.Cut(strings.Join(replies[0].Lines, " "), " ")
	pid, err := strconv.Atoi(who)
	if err != nil {
		return fmt.Errorf("ask the tmux server for its pid: %w", err)
	}
	if l.server, err = procfs.Identify(pid); err != nil {
		return fmt.Errorf("identify the tmux server: %w", err)
	}
	l.version, l.parsed = ver, parseVersion(ver)
	l.placement, l.survivesLogout = s.systemd.placed(ctx, pid)

	l.nonce = strings.Join(replies[1].Lines, "")
	list := []Command{}
	if l.nonce == "" {
		l.nonce = rand.Text()
		list = append(list, Command{"set-option", "-g", nonceOption, l.nonce})
	}
	if _, err := l.run(ctx, append(list, titleMarker(l.nonce))); err != nil {
		return fmt.Errorf("configure the tmux server: %w", err)
	}
	return nil
}

// dialControl starts a control client and waits until it is attached.
func (s *Server) dialControl(ctx context.Context, socket string) (*client, error) {
	// -A attaches to the hub or makes it; -N keeps new-session from starting a server. The hub's own program needs
	// to do nothing, for ever.
	args := []string{
		"-u", "-N", "-S", socket, "-C", "new-session", "-A", "-s", hub,
		"-f", "no-output,ignore-size", "--", "sleep", "infinity",
	}
	cmd := exec.Command(s.binary, args...) // ends when its input is closed; killed by close
	cmd.Env = s.env
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no signal of a terminal may reach it
	stderr := &tail{}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to tmux: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to tmux: %w", err)
	}
	s.log.Debug("tmux spawned", "name", "control client")
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("connect to tmux: %w", err)
	}
	c := &client{cmd: cmd, stderr: stderr}
	var greeting *exchange
	c.control, greeting = newControl(in, out)
	if _, err := c.await(ctx, greeting); err != nil {
		c.close()
		if said := stderr.String(); said != "" {
			return nil, fmt.Errorf("connect to tmux: %s: %w", said, err)
		}
		return nil, fmt.Errorf("connect to tmux: %w", err)
	}
	return c, nil
}

// close ends the client and waits for its process and goroutines.
func (c *client) close() {
	_ = c.cmd.Process.Kill() // it may have ended
	c.hangUp()
	_ = c.cmd.Wait() // it was killed: the error says so
}

func (l *link) run(ctx context.Context, list []Command) ([]Reply, error) {
	for _, c := range list {
		if len(c) > 0 {
			l.log.Debug("tmux command", "name", c[0], "tmux", l.server.PID)
		}
	}
	return l.commands.run(ctx, list)
}

// wait turns signals of the hooks into wake-ups until the connection breaks or ctx ends.
func (l *link) wait(ctx context.Context) error {
	var waiting sync.WaitGroup
	waitCtx, cancel := context.WithCancel(ctx)
	waiting.Go(func() {
		defer cancel()
		for {
			// tmux ends the block of wait-for at once and the exchange, whose closing line has to queue behind it,
			// when the channel is signalled. A signal given meanwhile is kept by tmux for the next wait.
			if _, err := l.waiter.run(waitCtx, []Command{{"wait-for", channel}}); err != nil {
				return
			}
			l.wake()
		}
	})
	select {
	case <-l.commands.done:
	case <-waitCtx.Done():
	}
	cancel()
	waiting.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case <-l.commands.done:
		return l.commands.failure()
	default:
		return l.waiter.failure()
	}
}

func (l *link) close() {
	if l.commands != nil {
		l.commands.close()
	}
	if l.waiter != nil {
		l.waiter.close()
	}
}

// tail keeps the end of what a process printed, for error messages.
type tail struct {
	mu  sync.Mutex
	buf []byte // guarded by mu
}

func (t *tail) Write(p []byte) (int, error) {
	const keep = 1024
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > keep {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-keep:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
