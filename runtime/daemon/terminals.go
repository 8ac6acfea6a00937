package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/tmux"
	"corral/runtime/launch"
	"corral/runtime/rtapi"
)

// Limits of a terminal's size in cells. tmux takes up to 10 000; a screen of that size is no terminal but an attack.
const (
	defaultCols, defaultRows = 80, 24
	maxCols, maxRows         = 1000, 500
)

// maxID is the longest id; sessions' are UUIDs of 36 characters.
const maxID = 64

// staleSpec is the age at which a launch file belongs to a start that never happened.
const staleSpec = time.Minute

// terminals makes, changes and ends terminals.
type terminals struct {
	tmux      *tmux.Server
	inventory *inventory
	specs     string // directory of launch files
	self      string
	recorder  string // socket
	log       *slog.Logger
	locks     *locks
	journals  *journaling
	hooks     hooks

	environments environments
}

// target names the current pane of a terminal, exactly.
func target(id string) string { return "=" + sessionPrefix + id + ":" }

// Create starts a terminal. One that exists at the same run is answered as it is.
func (t *terminals) Create(ctx context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	if err := validLaunch(&req); err != nil {
		return rtapi.Terminal{}, err
	}
	release, err := t.locks.acquire(ctx, req.Meta.ID)
	if err != nil {
		return rtapi.Terminal{}, err
	}
	defer release()
	have, _, _, err := t.fresh(ctx, req.Meta.ID)
	switch {
	case err == nil && have.Run == req.Meta.Run:
		return have, nil
	case err == nil:
		return rtapi.Terminal{}, &rtapi.Error{Code: "conflict", Message: fmt.Sprintf("terminal %s exists, at run %d", req.Meta.ID, have.Run)}
	case !isNotFound(err):
		return rtapi.Terminal{}, err
	}
	return t.create(ctx, req)
}

// Respawn starts a fresh process in the kept pane of a terminal, or makes the terminal when there is none.
func (t *terminals) Respawn(ctx context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	if err := validLaunch(&req); err != nil {
		return rtapi.Terminal{}, err
	}
	release, err := t.locks.acquire(ctx, req.Meta.ID)
	if err != nil {
		return rtapi.Terminal{}, err
	}
	defer release()
	have, pane, server, err := t.fresh(ctx, req.Meta.ID)
	switch {
	case isNotFound(err):
		return t.create(ctx, req)
	case err != nil:
		return rtapi.Terminal{}, err
	case have.Run == req.Meta.Run:
		return have, nil
	case have.Run > req.Meta.Run:
		return rtapi.Terminal{}, &rtapi.Error{Code: "conflict", Message: fmt.Sprintf("terminal %s is at run %d already", req.Meta.ID, have.Run)}
	case !have.Dead:
		return rtapi.Terminal{}, &rtapi.Error{Code: "conflict", Message: fmt.Sprintf("the program of terminal %s still runs", req.Meta.ID)}
	}
	return t.respawn(ctx, req, pane, server)
}

// fresh is what tmux knows of a terminal now, not what it knew when last something happened.
func (t *terminals) fresh(ctx context.Context, id string) (rtapi.Terminal, tmux.Pane, rtapi.Incarnation, error) {
	if err := t.inventory.await(ctx); err != nil {
		return rtapi.Terminal{}, tmux.Pane{}, rtapi.Incarnation{}, err
	}
	if err := t.inventory.refresh(ctx); err != nil {
		return rtapi.Terminal{}, tmux.Pane{}, rtapi.Incarnation{}, internal(ctx, err)
	}
	return t.inventory.find(ctx, id)
}

// create makes the session, its output pipe, its meta and its manual size in one list, so that neither a kill of the
// runtime nor a quick program finds it half-made.
func (t *terminals) create(ctx context.Context, req rtapi.LaunchRequest) (rtapi.Terminal, error) {
	id, cols, rows := req.Meta.ID, strconv.Itoa(req.Cols), strconv.Itoa(req.Rows)
	spec := launch.Spec{Argv: req.Argv, CWD: req.Meta.CWD, KeepTmuxEnv: req.KeepTmuxEnv}
	return t.start(ctx, req, spec, func(file, meta string) error {
		_, err := t.tmux.Run(ctx,
			tmux.Command{
				"new-session", "-d", "-s", sessionPrefix + id, "-x", cols, "-y", rows, "-c", tmux.EscapeFormat(req.Meta.CWD),
				"--", t.self, "launch", file,
			},
			t.pipe(target(id)),
			tmux.Command{"set-option", "-t", target(id), tmux.MetaOption, meta},
			// Makes the size manual, for this window alone: viewers then change nothing.
			tmux.Command{"resize-window", "-t", target(id), "-x", cols, "-y", rows},
		)
		var refused *tmux.Error
		if errors.As(err, &refused) && refused.Command != "new-session" {
			t.undo(ctx, id)
		}
		return err
	})
}

// undo removes a session of which only a part could be made.
func (t *terminals) undo(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTimeout)
	defer cancel()
	if _, err := t.tmux.Run(ctx, tmux.Command{"kill-session", "-t", "=" + sessionPrefix + id}); err != nil {
		t.log.Error("half-made terminal not removed", "id", id, "err", err)
	}
}

// respawn starts a fresh process in a dead pane. tmux keeps the history but clears the screen, so what the screen
// shows is printed again by the launch.
func (t *terminals) respawn(ctx context.Context, req rtapi.LaunchRequest, pane tmux.Pane, server rtapi.Incarnation) (rtapi.Terminal, error) {
	req.Cols, req.Rows = pane.Cols, pane.Rows // it keeps its size
	screen, err := t.lastScreen(ctx, pane, server)
	if err != nil {
		return rtapi.Terminal{}, err
	}
	spec := launch.Spec{Argv: req.Argv, CWD: req.Meta.CWD, KeepTmuxEnv: req.KeepTmuxEnv, Screen: screen}
	return t.start(ctx, req, spec, func(file, meta string) error {
		_, err := t.tmux.RunOn(ctx, server,
			tmux.Command{
				"respawn-pane", "-t", pane.ID, "-c", tmux.EscapeFormat(req.Meta.CWD), "--", t.self, "launch", file,
			},
			t.pipe(pane.ID),
			tmux.Command{"set-option", "-t", target(req.Meta.ID), tmux.MetaOption, meta},
		)
		return err
	})
}

// lastScreen returns the rows of a dead pane's main screen without the empty ones at its end.
func (t *terminals) lastScreen(ctx context.Context, pane tmux.Pane, server rtapi.Incarnation) ([]string, error) {
	read := func(list ...tmux.Command) ([]string, error) {
		replies, err := t.tmux.RunOn(ctx, server, list...)
		if err != nil {
			return nil, fmt.Errorf("read the screen of %s: %w", pane.Session, err)
		}
		return replies[0].Lines, nil
	}
	capture := tmux.Command{"capture-pane", "-p", "-e", "-J", "-t", pane.ID}
	alternate, err := read(tmux.Command{"display-message", "-p", "-t", pane.ID, "#{alternate_on}"})
	if err != nil {
		return nil, err
	}
	if strings.Join(alternate, "") == "1" {
		capture = append(capture, "-a") // the main screen, hidden behind it
	}
	lines, err := read(capture)
	if err != nil {
		return nil, err
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, nil
}

// start writes the launch file, runs list and answers with what then is there. A list whose answer was lost may have
// run: what tmux knows decides.
func (t *terminals) start(ctx context.Context, req rtapi.LaunchRequest, spec launch.Spec, list func(file, meta string) error) (rtapi.Terminal, error) {
	req.Meta.Hooks = req.Hooks
	meta := req.Meta
	if err := checkDirectory(meta.CWD); err != nil {
		return rtapi.Terminal{}, err
	}
	var err error
	if req.Env, err = t.environments.of(req); err != nil {
		return rtapi.Terminal{}, err
	}
	spec.Env = req.Env
	if req.Hooks {
		if err := t.hooks.equip(ctx, t.self, req, &spec); err != nil {
			return rtapi.Terminal{}, err
		}
	}
	option, err := json.Marshal(meta)
	if err != nil {
		return rtapi.Terminal{}, fmt.Errorf("start terminal %s: %w", meta.ID, err)
	}
	file := filepath.Join(t.specs, fmt.Sprintf("%s-%d", meta.ID, meta.Run))
	_ = os.Remove(file) // left by a start that never happened
	if err := launch.Write(file, spec); err != nil {
		return rtapi.Terminal{}, fmt.Errorf("start terminal %s: %w", meta.ID, err)
	}
	if req.NoInputJournal {
		if err := t.journals.leaveInput(meta.ID); err != nil {
			return rtapi.Terminal{}, err
		}
	}
	t.journals.started(req)
	lerr := list(file, string(option))
	if lerr != nil && !errors.Is(lerr, tmux.ErrDown) {
		_ = os.Remove(file) // nobody will read it
		return rtapi.Terminal{}, internal(ctx, fmt.Errorf("start terminal %s: %w", meta.ID, lerr))
	}
	have, _, _, err := t.fresh(ctx, meta.ID)
	if err == nil && have.Run == meta.Run {
		return have, nil
	}
	if lerr == nil {
		lerr = errors.Join(errors.New("it vanished at once"), err)
	}
	_ = os.Remove(file) // likewise
	return rtapi.Terminal{}, internal(ctx, fmt.Errorf("start terminal %s: %w", meta.ID, lerr))
}

// pipe sends a pane's output to the recorder. It replaces a pipe that is there, and must be in the list that starts
// the program to catch its first byte.
func (t *terminals) pipe(pane string) tmux.Command {
	script := "exec " + tmux.EscapeTime(shellQuote(t.self)) + " handoff " + tmux.EscapeTime(shellQuote(t.recorder)) + " '#{session_name}'"
	return tmux.Command{"pipe-pane", "-O", "-t", pane, script}
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// repipe gives every living pane that the recorder does not hold to it.
func (t *terminals) repipe(ctx context.Context, held []string) error {
	l, err := t.tmux.List(ctx)
	if err != nil {
		return fmt.Errorf("pipe the terminals to the recorder: %w", err)
	}
	has := map[string]bool{}
	for _, name := range held {
		has[name] = true
	}
	for _, p := range l.Panes {
		id, ours := strings.CutPrefix(p.Session, sessionPrefix)
		if !ours || p.Dead || p.Piped && has[p.Session] {
			continue
		}
		t.log.Info("terminal piped anew", "id", id)
		t.journals.missed(id)
		var refused *tmux.Error
		if _, err := t.tmux.RunOn(ctx, l.Server, t.pipe(p.ID)); err != nil && !errors.As(err, &refused) {
			return fmt.Errorf("pipe the terminals to the recorder: %w", err)
		} // refused: it has just ended
		t.journals.wish(id) // what was missed shows in it
	}
	return nil
}

// sweep removes launch files of starts that never happened; they may hold secrets.
func (t *terminals) sweep() {
	entries, err := os.ReadDir(t.specs)
	if err != nil {
		t.log.Warn("launch files not swept", "err", err)
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleSpec {
			_ = os.Remove(filepath.Join(t.specs, e.Name())) // gone already is as well
		}
	}
}

// validLaunch checks a request's form and fills in what it leaves out.
func validLaunch(req *rtapi.LaunchRequest) error {
	invalid := func(format string, args ...any) error {
		return &rtapi.Error{Code: "invalid", Message: fmt.Sprintf(format, args...)}
	}
	if req.Cols == 0 {
		req.Cols = defaultCols
	}
	if req.Rows == 0 {
		req.Rows = defaultRows
	}
	switch {
	case !validID(req.Meta.ID):
		return invalid("%q is no id of a terminal", req.Meta.ID)
	case req.Meta.Run < 1:
		return invalid("the run of terminal %s must be 1 or more, not %d", req.Meta.ID, req.Meta.Run)
	case req.Cols < 1 || req.Cols > maxCols || req.Rows < 1 || req.Rows > maxRows:
		return invalid("a terminal cannot have %d columns and %d rows", req.Cols, req.Rows)
	case len(req.Argv) > 0 && req.Argv[0] == "":
		return invalid("the program has no name")
	case req.Hooks && len(req.Argv) == 0:
		return invalid("a shell has no hooks")
	}
	for _, text := range append(append([]string{req.Meta.CWD}, req.Argv...), req.Env...) {
		if strings.ContainsRune(text, 0) {
			return invalid("no argument, directory or variable can hold a NUL character")
		}
	}
	for _, kv := range req.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			return invalid("%q is no variable of the form NAME=VALUE", name)
		}
	}
	return nil
}

// validID reports whether id can be part of a session's name and target without changing its meaning.
func validID(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// checkDirectory says what is wrong with a working directory before tmux silently takes another one.
func checkDirectory(dir string) error {
	say := func(what, hint string) error {
		return &rtapi.Error{Code: "invalid", Message: fmt.Sprintf("the directory %s %s", strconv.Quote(dir), what), Hint: hint}
	}
	if !filepath.IsAbs(dir) {
		return say("is not an absolute path", "give one that begins with /")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return say("does not exist", "make it, or choose another one")
	case errors.Is(err, os.ErrPermission):
		return say("cannot be reached", "choose one that you may enter")
	case err != nil:
		return say("cannot be used: "+errors.Unwrap(err).Error(), "choose another one")
	case !info.IsDir():
		return say("is not a directory", "choose another one")
	case unix.Access(dir, unix.X_OK) != nil:
		return say("cannot be entered", "choose one that you may enter")
	}
	return nil
}

func isNotFound(err error) bool {
	var e *rtapi.Error
	return errors.As(err, &e) && e.Code == "not_found"
}

// internal gives an error of tmux the code that a client can act on.
func internal(ctx context.Context, err error) error {
	var e *rtapi.Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, tmux.ErrDown):
		return fmt.Errorf("%w: %w", err, &rtapi.Error{Code: "runtime_unreachable", Message: "the tmux server does not answer", Hint: "try again"})
	case ctx.Err() != nil:
		return err // the handler knows the reason
	}
	var refused *tmux.Error
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", err, &rtapi.Error{Code: "internal", Message: "tmux refused: " + refused.Message})
	}
	return err
}
