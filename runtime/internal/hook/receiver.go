package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	posts "corral/runtime/hook"
	"corral/runtime/internal/inotify"
	"corral/runtime/rtapi"
)

const (
	// remembered is how many ids of posts are kept to tell one that comes twice: some minutes of a busy machine, while
	// the second time comes at once.
	remembered = 4096
	// handOver bounds how long a post waits for whoever makes something of it.
	handOver = 2 * time.Second
)

// Pane is where a session's program runs.
type Pane struct {
	Run  int
	Pane string // %N
	PID  int
}

// Config is what a Receiver needs.
type Config struct {
	Dir       string // the hooks' directory
	TokenFile string
	// Pane finds the pane of a session, dead or alive.
	Pane func(id string) (Pane, bool)
	// Deliver is given each true post, in the order of their arrival.
	Deliver func(ctx context.Context, id string, run int, post rtapi.HookPost) error
	Log     *slog.Logger
}

// Receiver takes posts.
type Receiver struct {
	cfg   Config
	begun chan struct{} // closed by Begin

	mu     sync.Mutex
	key    key             // guarded by mu
	counts rtapi.Hooks     // guarded by mu
	known  map[string]bool // guarded by mu
	order  []string        // of known, oldest first; guarded by mu
}

// New returns a receiver that refuses everything until Begin.
func New(cfg Config) *Receiver {
	return &Receiver{cfg: cfg, begun: make(chan struct{}), known: map[string]bool{}}
}

// Begin settles the token file, once it is known whether any session's process is alive. With one alive the file stays;
// with none it is made anew, after what was spooled under the old one has been taken. Later calls do nothing.
func (r *Receiver) Begin(ctx context.Context, alive bool) error {
	select {
	case <-r.begun:
		return nil
	default:
	}
	k, err := loadKey(r.cfg.TokenFile)
	if err != nil {
		return err
	}
	r.setKey(k)
	if k != nil && !alive {
		r.drain(ctx)
	}
	if k == nil || !alive {
		if k, err = newKey(r.cfg.TokenFile); err != nil {
			return err
		}
		r.setKey(k)
	}
	close(r.begun)
	return nil
}

func (r *Receiver) setKey(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.key = k
}

// Token is the token of one run of a session. It waits for Begin.
func (r *Receiver) Token(ctx context.Context, id string, run int) (string, error) {
	select {
	case <-r.begun:
	case <-ctx.Done():
		return "", fmt.Errorf("make a token for %s: %w", id, context.Cause(ctx))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.key.token(id, run), nil
}

// Counts returns how many posts came since the start.
func (r *Receiver) Counts() rtapi.Hooks {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

func (r *Receiver) count(change func(*rtapi.Hooks)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.counts)
}

// Receive takes the body of one post.
func (r *Receiver) Receive(ctx context.Context, token string, body []byte) error {
	select {
	case <-r.begun:
	default:
		return &rtapi.Error{Code: "runtime_unreachable", Message: "the runtime does not know its sessions yet", Hint: "it is taken from the spool later"}
	}
	return r.receive(ctx, token, body, false)
}

func (r *Receiver) receive(ctx context.Context, token string, body []byte, spooled bool) error {
	if len(body) > rtapi.MaxHook {
		r.count(func(c *rtapi.Hooks) { c.Oversized++ })
		return &rtapi.Error{Code: "too_large", Message: fmt.Sprintf("a hook's post may have %d bytes", rtapi.MaxHook)}
	}
	r.mu.Lock()
	id, run, ok := r.key.session(token)
	r.mu.Unlock()
	if !ok {
		r.count(func(c *rtapi.Hooks) { c.Refused++ })
		return &rtapi.Error{Code: "unauthenticated", Message: "this is no token of a session that lives"}
	}
	var post rtapi.HookPost
	if err := json.Unmarshal(body, &post); err != nil || post.ID == "" || post.Event.Name == "" {
		r.count(func(c *rtapi.Hooks) { c.Refused++ })
		return &rtapi.Error{Code: "invalid", Message: "this is no post of a hook"}
	}
	if why := r.foreign(id, run, post); why != "" {
		r.count(func(c *rtapi.Hooks) { c.Foreign++ })
		r.cfg.Log.Debug("hook of another process", "session", id, "event", post.Event.Name, "why", why)
		return &rtapi.Error{Code: "forbidden", Message: "the post comes from another process than the session's agent: " + why}
	}
	if !r.first(post.ID) {
		r.count(func(c *rtapi.Hooks) { c.Doubled++ })
		return nil
	}
	if now := time.Now(); post.At.IsZero() || post.At.After(now) {
		post.At = now.UTC() // the future would outrank all that comes
	}
	ctx, cancel := context.WithTimeout(ctx, handOver)
	defer cancel()
	if err := r.cfg.Deliver(ctx, id, run, post); err != nil {
		r.forget(post.ID) // it comes again, by the spool
		return err
	}
	r.count(func(c *rtapi.Hooks) {
		c.Accepted++
		if spooled {
			c.Spooled++
		}
	})
	return nil
}

// foreign says why a post is not of the agent in the session's pane. An agent's daemon inherits token and settings, and
// so does whatever the agent starts and leaves behind; none of them is a descendant of the pane's process.
func (r *Receiver) foreign(id string, run int, post rtapi.HookPost) string {
	pane, ok := r.cfg.Pane(id)
	switch {
	case !ok:
		return "the session has no pane"
	case pane.Run != run:
		return fmt.Sprintf("it is of run %d, the session is at run %d", run, pane.Run)
	case post.Background:
		return "it is a background session's"
	case post.Pane != "" && post.Pane != pane.Pane:
		return "it is in another pane"
	case !slices.Contains(post.Ancestors, pane.PID):
		return "its process was not started in the pane"
	}
	return ""
}

// first reports whether a post's id is new, and remembers it.
func (r *Receiver) first(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[id] {
		return false
	}
	if len(r.order) == remembered {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	r.known[id] = true
	r.order = append(r.order, id)
	return true
}

func (r *Receiver) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, id) // its place in the order stays, and means nothing
}

// Run empties the spool when something comes into it, until ctx ends.
func (r *Receiver) Run(ctx context.Context) error {
	select {
	case <-r.begun:
	case <-ctx.Done():
		return nil
	}
	w, err := inotify.New()
	if err != nil {
		return fmt.Errorf("watch the hooks' spool: %w", err)
	}
	defer w.Close() //nolint:errcheck // nothing was written
	defer context.AfterFunc(ctx, func() { _ = w.Close() })()
	if err := w.Add(filepath.Clean(posts.SpoolDir(r.cfg.Dir)), unix.IN_MOVED_TO); err != nil {
		return err
	}
	r.drain(ctx)
	for {
		if _, err := w.Next(); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watch the hooks' spool: %w", err)
		}
		r.drain(ctx)
	}
}

// drain takes every post out of the spool.
func (r *Receiver) drain(ctx context.Context) {
	names, err := posts.ReadSpool(r.cfg.Dir)
	if err != nil {
		r.cfg.Log.Warn("spool not read", "err", err)
		return
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		s, err := posts.Take(r.cfg.Dir, name)
		if err == nil {
			err = r.receive(ctx, s.Token, s.Post, true)
		}
		if err != nil {
			r.cfg.Log.Debug("spooled hook dropped", "err", err)
		}
	}
}
