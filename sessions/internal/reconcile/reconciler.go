package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

const (
	defaultEvery  = 15 * time.Second
	defaultStable = time.Second
	// roundTimeout bounds one round, so that a hung database or runtime does not end reconciling for ever.
	roundTimeout = 30 * time.Second
	// again is when to look again after losing a compare-and-set: somebody else is in the middle of something.
	again = 50 * time.Millisecond
	// busy is when to look again while another server makes a round of the same node.
	busy = 250 * time.Millisecond
)

// Store is what a round needs from the metadata; store.Store has it.
type Store interface {
	List(ctx context.Context) ([]store.Record, error)
	Move(ctx context.Context, m store.Move) (store.Record, error)
	Adopt(ctx context.Context, r store.Record, evidence string) (store.Record, error)
	Exclusive(ctx context.Context, node string, do func(context.Context) error) (bool, error)
	Owners(ctx context.Context) ([]string, error)
	SetConversation(ctx context.Context, c store.Conversation) (store.Record, error)
	SetSize(ctx context.Context, id sessions.ID, cols, rows int) error
	UseConversation(ctx context.Context, id sessions.ID, conversation string) error
}

// Runtime is what a round needs from the node.
type Runtime interface {
	Inventory(ctx context.Context) (rtapi.Inventory, error)
	Signal(ctx context.Context, id string, r rtapi.SignalRequest) error
	SetMeta(ctx context.Context, id string, m rtapi.Meta) error
}

// Board is told what the rounds read and write.
type Board interface {
	Mark() uint64
	Sync(mark uint64, rows []store.Record)
	Put(store.Record)
}

// Config is what a Reconciler is made of.
type Config struct {
	// Store returns the store, or an error while there is none; then nothing is done.
	Store   func() (Store, error)
	Runtime Runtime
	Board   Board
	Owner   string
	Node    string
	Every   time.Duration // 0: 15 s
	Stable  time.Duration // how long attached or detached must last; 0: 1 s
	Now     func() time.Time
	Log     *slog.Logger
}

// Reconciler runs the rounds.
type Reconciler struct {
	cfg  Config
	kick chan struct{}

	mu      sync.Mutex
	viewers map[sessions.ID]viewers // guarded by mu
}

type viewers struct {
	attached bool
	since    time.Time
}

// New returns a reconciler that does nothing until it runs.
func New(cfg Config) *Reconciler {
	if cfg.Every == 0 {
		cfg.Every = defaultEvery
	}
	if cfg.Stable == 0 {
		cfg.Stable = defaultStable
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Reconciler{cfg: cfg, kick: make(chan struct{}, 1), viewers: map[sessions.ID]viewers{}}
}

// Kick asks for a round soon. It never blocks.
func (r *Reconciler) Kick() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Viewers notes how many viewers are attached to a terminal, and asks for a round when that went from none to some or
// back.
func (r *Reconciler) Viewers(id sessions.ID, attached int) {
	if r.noteViewers(id, attached > 0) {
		r.Kick()
	}
}

func (r *Reconciler) noteViewers(id sessions.ID, attached bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.viewers[id]
	if ok && v.attached == attached {
		return false
	}
	r.viewers[id] = viewers{attached, r.now()}
	return true
}

func (r *Reconciler) now() time.Time { return r.cfg.Now().UTC().Truncate(time.Microsecond) }

// Run makes rounds until ctx ends. The first is at once.
func (r *Reconciler) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.kick:
		}
		wake, err := r.Round(ctx)
		if err != nil && ctx.Err() == nil {
			r.cfg.Log.Debug("round not finished", "error", err)
		}
		next := r.cfg.Every
		if !wake.IsZero() {
			next = min(next, max(wake.Sub(r.now()), time.Millisecond))
		}
		timer.Reset(next)
	}
}

// Round observes, plans and applies once, and returns when the next round is due at the latest, zero if nothing is
// waited for. Of several servers of one node only one makes a round at a time; another one only reads the rows.
func (r *Reconciler) Round(ctx context.Context) (wake time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	st, err := r.cfg.Store()
	if err != nil {
		return time.Time{}, err
	}
	done, err := st.Exclusive(ctx, r.cfg.Node, func(ctx context.Context) (err error) {
		wake, err = r.round(ctx, st)
		return err
	})
	if done || err != nil {
		return wake, err
	}
	if _, err := r.rows(ctx, st); err != nil {
		return time.Time{}, err
	}
	return r.now().Add(busy), nil
}

func (r *Reconciler) round(ctx context.Context, st Store) (wake time.Time, err error) {
	o, err := r.observe(ctx, st)
	if err != nil {
		return time.Time{}, err
	}
	plan := NewPlan(o)
	for _, a := range plan.Actions {
		err := r.apply(ctx, st, a)
		switch {
		case err == nil:
		case errors.Is(err, sessions.ErrConflict), errors.Is(err, sessions.ErrNotFound):
			r.cfg.Log.Debug("action overtaken", "action", a.Name, "error", err)
			plan.Wake = o.Now.Add(again)
		default:
			return plan.Wake, fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return plan.Wake, nil
}

// rows reads all rows and shows them.
func (r *Reconciler) rows(ctx context.Context, st Store) ([]store.Record, error) {
	mark := r.cfg.Board.Mark()
	rows, err := st.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the rows: %w", err)
	}
	r.cfg.Board.Sync(mark, rows)
	return rows, nil
}

// observe reads the rows first and the inventory after them: a row that the inventory does not know then had its
// terminal before.
func (r *Reconciler) observe(ctx context.Context, st Store) (Observation, error) {
	rows, err := r.rows(ctx, st)
	if err != nil {
		return Observation{}, err
	}
	starting, err := r.starting(ctx, st, rows)
	if err != nil {
		return Observation{}, err
	}
	inv, err := r.cfg.Runtime.Inventory(ctx)
	if err != nil {
		return Observation{}, fmt.Errorf("read the inventory: %w", err)
	}
	return Observation{
		Rows: rows, Inventory: inv, Now: r.now(),
		Node: r.cfg.Node, Owner: r.cfg.Owner, Starting: starting,
		ViewersSince: r.viewersSince(inv), Stable: r.cfg.Stable,
	}, nil
}

// starting returns the other servers that are there, if any of them has a start in these rows.
func (r *Reconciler) starting(ctx context.Context, st Store, rows []store.Record) (map[string]bool, error) {
	if !slices.ContainsFunc(rows, func(rec store.Record) bool {
		return rec.State == sessions.Starting && rec.Node == r.cfg.Node && rec.Owner != r.cfg.Owner
	}) {
		return nil, nil
	}
	owners, err := st.Owners(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the other servers: %w", err)
	}
	there := make(map[string]bool, len(owners))
	for _, owner := range owners {
		there[owner] = true
	}
	return there, nil
}

// viewersSince brings what is known of viewers up to the inventory and returns it.
func (r *Reconciler) viewersSince(inv rtapi.Inventory) map[sessions.ID]time.Time {
	since := make(map[sessions.ID]time.Time, len(inv.Terminals))
	for _, t := range inv.Terminals {
		r.noteViewers(sessions.ID(t.ID), t.Attached > 0)
		since[sessions.ID(t.ID)] = time.Time{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, v := range r.viewers {
		if _, ok := since[id]; !ok && inv.Complete {
			delete(r.viewers, id)
			continue
		}
		since[id] = v.since
	}
	return since
}

func (r *Reconciler) apply(ctx context.Context, st Store, a Action) error {
	switch {
	case a.Move != nil:
		rec, err := st.Move(ctx, *a.Move)
		if err != nil {
			return err
		}
		r.cfg.Board.Put(rec)
		r.cfg.Log.Info("session moved", "session", a.Move.ID, "action", a.Name, "from", a.Move.From, "to", a.Move.To,
			"reason", a.Move.Reason, "evidence", a.Move.Evidence)
	case a.Adopt != nil:
		rec, err := st.Adopt(ctx, a.Adopt.Record, a.Adopt.Evidence)
		if err != nil {
			return err
		}
		r.cfg.Board.Put(rec)
		r.cfg.Log.Info("session adopted", "session", rec.ID, "evidence", a.Adopt.Evidence)
	case a.Learned != nil:
		return r.learn(ctx, st, *a.Learned)
	case a.Sized != nil:
		return st.SetSize(ctx, a.Sized.ID, a.Sized.Cols, a.Sized.Rows)
	case a.Used != nil:
		return st.UseConversation(ctx, a.Used.ID, a.Used.Conversation)
	case a.Kill != nil:
		err := r.cfg.Runtime.Signal(ctx, string(a.Kill.ID), rtapi.SignalRequest{Signal: "KILL", Run: a.Kill.Run})
		var refused *rtapi.Error
		if err != nil && !errors.As(err, &refused) {
			return err
		}
		r.cfg.Log.Info("session killed", "session", a.Kill.ID, "action", a.Name)
	}
	return nil
}

// learn notes a conversation in the row, and in what the terminal carries.
func (r *Reconciler) learn(ctx context.Context, st Store, l Learned) error {
	c := l.Conversation
	rec, err := st.SetConversation(ctx, c)
	if err != nil {
		return err
	}
	r.cfg.Board.Put(rec)
	r.cfg.Log.Info("conversation noted", "session", c.ID, "evidence", c.Evidence)
	var refused *rtapi.Error
	if err := r.cfg.Runtime.SetMeta(ctx, string(c.ID), l.Meta); err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("tell the terminal its conversation: %w", err)
	}
	return nil
}
