package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/procfs"
	"corral/runtime/internal/tmux"
	"corral/runtime/rtapi"
)

const (
	maxText   = 1 << 20 // of one input
	maxKeys   = 256
	typedText = 4 << 10 // more than this is given by a buffer of tmux, which is a thousand times faster
)

// Signal signals a terminal's program. HUP is what a terminal sends that is closed: to the foreground process group
// and to the pane's own, or a shell that waits for its job would not hear of it. KILL goes to both too, so that nothing
// of the terminal stays; TERM only to the foreground. A program that has ended already is no error.
func (t *terminals) Signal(ctx context.Context, id string, req rtapi.SignalRequest) error {
	sig, ok := map[string]syscall.Signal{"HUP": unix.SIGHUP, "TERM": unix.SIGTERM, "KILL": unix.SIGKILL}[req.Signal]
	if !ok {
		return &rtapi.Error{Code: "invalid", Message: fmt.Sprintf("the signal must be HUP, TERM or KILL, not %q", req.Signal)}
	}
	release, err := t.locks.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	have, pane, server, err := t.fresh(ctx, id)
	switch {
	case err != nil:
		return err
	case have.Run != req.Run:
		return &rtapi.Error{Code: "conflict", Message: fmt.Sprintf("terminal %s is at run %d, not %d", id, have.Run, req.Run)}
	case pane.Dead:
		return nil
	}
	return signalPane(pane.PID, server.PID, sig)
}

// signalPane signals the groups of the process pid, which must be a child of the tmux server: that is what tells it
// from a stranger with its number.
func signalPane(pid, serverPID int, sig syscall.Signal) error {
	st, err := procfs.ReadStat(pid)
	if errors.Is(err, os.ErrNotExist) || err == nil && (st.Gone() || st.PPID != serverPID) {
		return nil // it has ended
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	groups := []int{st.TPGID}
	if sig != unix.SIGTERM && st.PGRP != st.TPGID {
		groups = append(groups, st.PGRP)
	}
	for _, g := range groups {
		if g <= 1 {
			g = st.PGRP // no foreground group: the terminal has none just now
		}
		if err := syscall.Kill(-g, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal process group %d: %w", g, err)
		}
		if sig != unix.SIGKILL {
			_ = syscall.Kill(-g, unix.SIGCONT) // a stopped program would not get the signal; ended is as well
		}
	}
	return nil
}

// Remove ends a terminal and forgets it. Its program is killed, not only hung up on: a terminal that is gone must not
// go on running unseen.
func (t *terminals) Remove(ctx context.Context, id string) error {
	release, err := t.locks.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	_, pane, server, err := t.fresh(ctx, id)
	if isNotFound(err) {
		return errors.Join(err, t.environments.forget(id))
	}
	if err != nil {
		return err
	}
	if !pane.Dead {
		if err := signalPane(pane.PID, server.PID, unix.SIGKILL); err != nil {
			return err
		}
	}
	if _, err := t.tmux.RunOn(ctx, server, tmux.Command{"kill-session", "-t", "=" + sessionPrefix + id}); err != nil {
		return internal(ctx, fmt.Errorf("remove terminal %s: %w", id, err))
	}
	if err := t.environments.forget(id); err != nil {
		return err
	}
	return t.refreshed(ctx)
}

// SetMeta replaces what a terminal carries for adoption; its id, its run and whether it has hooks stay.
func (t *terminals) SetMeta(ctx context.Context, id string, meta rtapi.Meta) error {
	release, err := t.locks.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	have, _, server, err := t.fresh(ctx, id)
	if err != nil {
		return err
	}
	meta.ID, meta.Run, meta.Hooks = id, have.Run, have.Hooks
	option, err := json.Marshal(meta)
	if err != nil {
		return fmt.Errorf("change terminal %s: %w", id, err)
	}
	if _, err := t.tmux.RunOn(ctx, server, tmux.Command{"set-option", "-t", target(id), tmux.MetaOption, string(option)}); err != nil {
		return internal(ctx, fmt.Errorf("change terminal %s: %w", id, err))
	}
	return t.refreshed(ctx)
}

// refreshed brings the cache up to what was just done, for which tmux has no hook.
func (t *terminals) refreshed(ctx context.Context) error {
	if err := t.inventory.refresh(ctx); err != nil {
		return internal(ctx, err)
	}
	return nil
}

// Input types text, then keys, then Enter.
func (t *terminals) Input(ctx context.Context, id string, req rtapi.InputRequest) error {
	if err := validInput(req); err != nil {
		return err
	}
	release, err := t.locks.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	have, _, server, err := t.inventory.find(ctx, id)
	if err != nil {
		return err
	}
	if have.Dead {
		return &rtapi.Error{Code: "conflict", Message: fmt.Sprintf("the program of terminal %s has ended", id)}
	}
	list, forget, err := t.typing(id, req)
	if err != nil {
		return err
	}
	defer forget()
	t.journals.typed(id, req)
	if _, err := t.tmux.RunOn(ctx, server, list...); err != nil {
		return internal(ctx, fmt.Errorf("type into terminal %s: %w", id, err))
	}
	return nil
}

// typing makes the commands of an input. Long text goes by a file, which forget removes.
func (t *terminals) typing(id string, req rtapi.InputRequest) (list []tmux.Command, forget func(), err error) {
	forget = func() {}
	pane := target(id)
	switch {
	case req.Text == "":
	case len(req.Text) <= typedText && !req.Paste:
		list = append(list, tmux.Command{"send-keys", "-l", "-t", pane, "--", req.Text})
	default:
		f, err := os.CreateTemp(t.specs, "input-") // 0600
		if err != nil {
			return nil, nil, fmt.Errorf("type into terminal %s: %w", id, err)
		}
		forget = func() { _ = os.Remove(f.Name()) } // sweep finds what stays
		_, err = f.WriteString(req.Text)
		if err := errors.Join(err, f.Close()); err != nil {
			forget()
			return nil, nil, fmt.Errorf("type into terminal %s: %w", id, err)
		}
		// -d forgets the buffer, -r keeps line feeds, -p puts a paste into brackets. load-buffer's file is a format.
		paste := tmux.Command{"paste-buffer", "-d", "-r", "-b", "input-" + id, "-t", pane}
		if req.Paste {
			paste = append(paste, "-p")
		}
		list = append(list,
			tmux.Command{"load-buffer", "-b", "input-" + id, tmux.EscapeFormat(f.Name())},
			paste)
	}
	if keys := req.Keys; len(keys) > 0 {
		list = append(list, append(tmux.Command{"send-keys", "-t", pane, "--"}, keys...))
	}
	if req.Enter {
		list = append(list, tmux.Command{"send-keys", "-t", pane, "Enter"})
	}
	return list, forget, nil
}

// isKey reports whether tmux takes name for a key; what it does not know it would type out as text.
func isKey(name string) bool {
	for {
		rest, ok := strings.CutPrefix(name, "^")
		if !ok && len(name) > 2 && strings.ContainsRune("CMS", rune(name[0])) && name[1] == '-' {
			rest, ok = name[2:], true
		}
		if !ok || rest == "" {
			break
		}
		name = rest
	}
	switch name {
	case "Enter", "Escape", "Tab", "BTab", "Space", "BSpace", "Up", "Down", "Left", "Right", "Home", "End", "IC", "Insert",
		"DC", "Delete", "NPage", "PageDown", "PgDn", "PPage", "PageUp", "PgUp", "F1", "F2", "F3", "F4", "F5", "F6", "F7",
		"F8", "F9", "F10", "F11", "F12", "KPEnter":
		return true
	}
	return len(name) == 1 && name[0] > ' ' && name[0] < 0x7f
}

func validInput(req rtapi.InputRequest) error {
	invalid := func(format string, args ...any) error {
		return &rtapi.Error{Code: "invalid", Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case req.Text == "" && len(req.Keys) == 0 && !req.Enter:
		return invalid("there is nothing to type")
	case len(req.Text) > maxText:
		return &rtapi.Error{Code: "too_large", Message: fmt.Sprintf("a text of %d bytes is longer than %d", len(req.Text), maxText), Hint: "paste it into an attached session"}
	case strings.ContainsRune(req.Text, 0) || !utf8.ValidString(req.Text):
		return invalid("the text holds what cannot be typed")
	case len(req.Keys) > maxKeys:
		return invalid("%d keys are more than %d", len(req.Keys), maxKeys)
	}
	for _, k := range req.Keys {
		if !isKey(k) {
			return &rtapi.Error{Code: "invalid", Message: fmt.Sprintf("%q is no key", k), Hint: "keys are named as in tmux: Enter, Escape, Up, C-c, M-x, F1"}
		}
	}
	return nil
}
