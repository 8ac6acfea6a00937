package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"corral/runtime/rtapi"
	"corral/sessions"
	"corral/sessions/internal/store"
)

const (
	// startDeadline is how long a session may be STARTING before nobody waits for it any more.
	startDeadline = 60 * time.Second
	// StopGrace is how long a program has to end by itself before it is killed.
	StopGrace = 10 * time.Second
	// casTries bounds how often a use case reads again after losing a compare-and-set against the reconciler. Each loss
	// means that somebody else made progress; more than a few in a row do not happen.
	casTries = 5
)

// Store is what the use cases need from the metadata; store.Store has it.
type Store interface {
	Create(ctx context.Context, r store.Record, actor sessions.Actor, reason string) (store.Record, error)
	Move(ctx context.Context, m store.Move) (store.Record, error)
	Update(ctx context.Context, id sessions.ID, title, project *string, at time.Time) (store.Record, error)
	Get(ctx context.Context, id sessions.ID) (store.Record, error)
	List(ctx context.Context) ([]store.Record, error)
	Delete(ctx context.Context, id sessions.ID, version int64) error
	Events(ctx context.Context, q store.EventQuery) ([]sessions.Event, error)
	Backup(ctx context.Context, w io.Writer, node string, at time.Time) error
	Restore(ctx context.Context, r io.Reader, node string) (sessions.Restored, error)
}

// Runtime is what the use cases need from the node. An error that carries an *rtapi.Error is the
// runtime's own answer, any other means that nobody knows what happened.
type Runtime interface {
	Status(ctx context.Context) (rtapi.Status, error)
	Create(ctx context.Context, r rtapi.LaunchRequest) (rtapi.Terminal, error)
	Respawn(ctx context.Context, r rtapi.LaunchRequest) (rtapi.Terminal, error)
	Signal(ctx context.Context, id string, r rtapi.SignalRequest) error
	Remove(ctx context.Context, id string) error
	SetMeta(ctx context.Context, id string, m rtapi.Meta) error
	Input(ctx context.Context, id string, r rtapi.InputRequest) error
	// Variables returns those of the named variables that a session's program has at its start.
	Variables(ctx context.Context, id string, names []string, login bool) (map[string]string, error)
	Screen(ctx context.Context, id string) (rtapi.Screen, error)
	History(ctx context.Context, id string, lines, before int) (rtapi.History, error)
	Tasks
}

// Hooks let a test stop a use case between two of its steps, as a kill of the server would.
type Hooks struct {
	// After is called when the named step is done. Its error ends the use case at once, without any cleaning up.
	After func(step string) error
}

func (h Hooks) after(step string) error {
	if h.After == nil {
		return nil
	}
	return h.After(step)
}

// Config is what a Service is made of.
type Config struct {
	// Store returns the store, or a *sessions.Error that says why there is none now.
	Store   func() (Store, error)
	Runtime Runtime
	Board   *Board
	// Kick asks the reconciler for a round: a deadline was set, or something was left for it to settle.
	Kick func()
	// Owner is the incarnation of this server, Self its line in Status.
	Owner string
	Self  sessions.RoleStatus
	// RuntimeSocket is the path of the runtime's socket, for Status.
	RuntimeSocket string
	Node          string
	// StartupGrace is how long after New a creation waits for database and runtime rather than being refused; 0 means
	// 60 s.
	StartupGrace time.Duration
	// Agents are the agents that sessions can run; nil: those that are built in.
	Agents sessions.Profiles
	NewID  func() string // of a conversation; nil: a random UUID
	Hooks  Hooks
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger
}

// Service carries out the use cases. It is safe for concurrent use.
type Service struct {
	Config
	started time.Time
	// claims is held from the look at who runs a conversation until the session that takes it is on the board.
	claims sync.Mutex
}

// New returns a service.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Agents == nil {
		cfg.Agents = sessions.BuiltinProfiles()
	}
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}
	if cfg.StartupGrace == 0 {
		cfg.StartupGrace = defaultStartupGrace
	}
	if cfg.Kick == nil {
		cfg.Kick = func() {}
	}
	return &Service{Config: cfg, started: time.Now()}
}

// now is the time as PostgreSQL keeps it: UTC, in microseconds.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// move carries out one compare-and-set and shows the result on the board.
func (s *Service) move(ctx context.Context, m store.Move) (store.Record, error) {
	st, err := s.Store()
	if err != nil {
		return store.Record{}, err
	}
	m.At = s.now()
	rec, err := st.Move(ctx, m)
	if err != nil {
		return store.Record{}, fmt.Errorf("move session %s from %s to %s: %w", m.ID, m.From, m.To, lost(err))
	}
	s.Log.Info("session moved", "session", m.ID, "from", m.From, "to", m.To, "actor", m.Actor, "reason", m.Reason)
	s.Board.Put(rec)
	return rec, nil
}

// errLost marks the loss of a compare-and-set against somebody else, which is worth another look at the row, unlike a
// state that forbids what was asked for. Both have the code conflict.
var errLost = errors.New("somebody else changed it at the same moment")

func lost(err error) error {
	if errors.Is(err, sessions.ErrConflict) {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

// read returns the row of a session.
func (s *Service) read(ctx context.Context, id sessions.ID) (store.Record, error) {
	if parsed, err := uuid.Parse(string(id)); err != nil || parsed.String() != string(id) {
		return store.Record{}, notFound(id)
	}
	st, err := s.Store()
	if err != nil {
		return store.Record{}, err
	}
	rec, err := st.Get(ctx, id)
	if errors.Is(err, sessions.ErrNotFound) {
		return store.Record{}, notFound(id)
	}
	if err != nil {
		return store.Record{}, fmt.Errorf("read session %s: %w", id, err)
	}
	s.Board.Put(rec) // what was answered from must not be newer than what is shown
	return rec, nil
}

// shown returns a record's session as people see it, viewer counts included.
func (s *Service) shown(rec store.Record) sessions.Session {
	if seen, ok := s.Board.Get(rec.ID); ok {
		rec.Attached, rec.Watching, rec.Agent = seen.Attached, seen.Watching, seen.Agent
	}
	return rec.Session
}

func notFound(id sessions.ID) error {
	return &sessions.Error{
		Code:    sessions.CodeNotFound,
		Message: fmt.Sprintf("no session has the id %s", sessions.CleanLine(string(id), 80)),
		Hint:    "see corral ls",
	}
}

// meta is what a terminal carries of its session.
func meta(rec store.Record) rtapi.Meta {
	return rtapi.Meta{
		ID:           string(rec.ID),
		Kind:         string(rec.Kind),
		Title:        rec.Title,
		Project:      rec.Project,
		CWD:          rec.CWD,
		Args:         rec.Args,
		Conversation: rec.ConversationID,
		Run:          rec.Run,
	}
}

// canStart refuses to begin what the runtime could not finish: it is away, and it is known why it does not come back.
func (s *Service) canStart() error {
	node := s.Board.Node()
	if node.State == sessions.Up || node.Message == "" {
		return nil
	}
	return &sessions.Error{Code: sessions.CodeRuntimeUnreachable, Message: node.Message}
}

// here refuses what only the node that a session lives on can do: servers of several nodes may share the database, and
// each reaches its own runtime alone.
func (s *Service) here(seen sessions.Session) error {
	if seen.Node == s.Node || seen.Node == "" {
		return nil
	}
	return &sessions.Error{
		Code:    sessions.CodeConflict,
		Message: fmt.Sprintf("%s lives on the node %s, and this is %s", seen.ID.Short(), sessions.CleanLine(seen.Node, 100), s.Node),
		Hint:    "use corral there",
		Details: map[string]any{"node": seen.Node},
	}
}

// refusal returns the runtime's own answer in err. Without one nobody knows whether the request took effect: the
// runtime was not reached, or gave up waiting for tmux.
func refusal(err error) (*rtapi.Error, bool) {
	var e *rtapi.Error
	if !errors.As(err, &e) {
		return nil, false
	}
	switch sessions.Code(e.Code) {
	case sessions.CodeRuntimeUnreachable, sessions.CodeDeadline:
		return nil, false
	}
	return e, true
}

// runtimeError makes a runtime's error one for people.
func runtimeError(err error) error {
	if e, ok := refusal(err); ok {
		return &sessions.Error{Code: sessions.Code(e.Code), Message: e.Message, Hint: e.Hint, Cause: err}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &sessions.Error{
			Code: sessions.CodeDeadline, Message: "the runtime did not answer in time",
			Hint: "try again, or see corral status", Cause: err,
		}
	}
	return &sessions.Error{
		Code: sessions.CodeRuntimeUnreachable, Message: "the runtime of this node is away",
		Hint: "it is started again by itself; see corral status", Cause: err,
	}
}
