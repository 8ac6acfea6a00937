package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"corral/runtime/internal/journal"
	"corral/runtime/recorder"
	"corral/runtime/rtapi"
)

const (
	// wishes is how many terminals can wait for a snapshot; one that is forgotten is asked for after its next output.
	wishes = 1024
	// snapshotTimeout bounds one snapshot.
	snapshotTimeout = 10 * time.Second
	// sequenceTimeout is how long a new picture waits to know its sequence.
	sequenceTimeout = 300 * time.Millisecond
	// usageAge is how old an answer about the journals' size may be.
	usageAge = 5 * time.Second
	// noInput is the file in a journal's directory that says that the session's input is not to be kept.
	noInput = "no-input"
)

// journaling gives the recorder what the runtime knows: input, sizes, starts and ends, viewers, snapshots. It satisfies
// attach.Recorder.
type journaling struct {
	client   *recorder.Client
	dir      string // of all journals
	input    bool   // whether input is kept at all
	tty      func(id string) string
	screen   func(ctx context.Context, id string) (rtapi.Screen, error)
	snapshot chan string
	log      *slog.Logger

	mu       sync.Mutex
	sizes    map[string][2]int // as last recorded; guarded by mu
	attached map[string]int    // guarded by mu
	measured time.Time         // guarded by mu
	used     journal.Usage     // guarded by mu
}

func newJournaling(socket, dir string, input bool, log *slog.Logger) *journaling {
	j := &journaling{
		dir: dir, input: input, log: log,
		snapshot: make(chan string, wishes), sizes: map[string][2]int{}, attached: map[string]int{},
	}
	j.client = &recorder.Client{Socket: socket, Snapshot: j.wish, Log: log}
	return j
}

// Input records what is about to be typed. What is typed at a password prompt, and where input is not kept, counts only.
func (j *journaling) Input(id string, p []byte) {
	if j.keeps(id) {
		j.client.Input(id, p, secret(j.tty(id)))
	}
}

func (j *journaling) keeps(id string) bool {
	if !j.input {
		return false
	}
	_, err := os.Lstat(filepath.Join(j.dir, id, noInput))
	return errors.Is(err, os.ErrNotExist)
}

// leaveInput makes the session's input not be kept, from now on.
func (j *journaling) leaveInput(id string) error {
	dir := filepath.Join(j.dir, id)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, noInput), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("leave the input of %s out of the journal: %w", id, err)
	}
	return nil
}

// secret reports whether a terminal asks for a password: it echoes nothing and reads lines, as getpass and readpassphrase
// set it. A program that edits its line by itself echoes nothing either, but reads characters. A terminal that cannot be
// asked is taken for one that does not.
func secret(tty string) bool {
	if tty == "" {
		return false
	}
	fd, err := unix.Open(tty, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil && t.Lflag&unix.ECHO == 0 && t.Lflag&unix.ICANON != 0
}

// typed records an input by the API: text, then keys by their names.
func (j *journaling) typed(id string, req rtapi.InputRequest) {
	text := req.Text
	for _, k := range req.Keys {
		text += bytesOf(k)
	}
	if req.Enter {
		text += "\r"
	}
	j.Input(id, []byte(text))
}

// bytesOf is what a key with a tmux name sends, for the usual ones; others are named.
func bytesOf(key string) string {
	switch key {
	case "Enter":
		return "\r"
	case "Escape":
		return "\x1b"
	case "Tab":
		return "\t"
	case "Space":
		return " "
	case "BSpace":
		return "\x7f"
	}
	if c, ok := strings.CutPrefix(key, "C-"); ok && len(c) == 1 {
		return string(rune(c[0] & 0x1f))
	}
	if len(key) == 1 {
		return key
	}
	return "<" + key + ">"
}

// Resized records another size.
func (j *journaling) Resized(id string, cols, rows int) {
	j.mu.Lock()
	same := j.sizes[id] == [2]int{cols, rows}
	j.sizes[id] = [2]int{cols, rows}
	j.mu.Unlock()
	if !same {
		j.client.Record(id, journal.Record{Kind: journal.Resize, Details: journal.Details{Cols: cols, Rows: rows}})
	}
}

// Sequence returns the last sequence of what has been printed, 0 when the recorder does not tell.
func (j *journaling) Sequence(ctx context.Context, id string) int64 {
	ctx, cancel := context.WithTimeout(ctx, sequenceTimeout)
	defer cancel()
	n, err := j.client.Sequence(ctx, id)
	if err != nil {
		j.log.Debug("sequence unknown", "id", id, "err", err)
	}
	return n
}

// ModifiedKeys reports whether the program has asked for keys with modifiers, false when the recorder does not tell.
func (j *journaling) ModifiedKeys(ctx context.Context, id string) bool {
	asked, err := j.client.ModifiedKeys(ctx, id)
	if err != nil {
		j.log.Debug("keys unknown", "id", id, "err", err)
	}
	return asked
}

// Pending returns what was typed into terminal id and may not have been answered yet, as the journal has it: for a runtime
// that did not see it being typed. Nothing is pending when the recorder does not tell.
func (j *journaling) Pending(ctx context.Context, id string) journal.Typed {
	if !validID(id) || j.Sequence(ctx, id) == 0 { // which has all that was printed so far recorded
		return journal.Typed{}
	}
	t, err := journal.Pending(filepath.Join(j.dir, id))
	if err != nil {
		j.log.Debug("pending input unknown", "id", id, "err", err)
	}
	return t
}

// started records a start, before anything of it can be printed.
func (j *journaling) started(req rtapi.LaunchRequest) {
	d := journal.Details{Argv: req.Argv, Cols: req.Cols, Rows: req.Rows}
	j.client.Record(req.Meta.ID, journal.Record{Kind: journal.Start, Details: d})
}

// exited records an end. The recorder drops one that it has.
func (j *journaling) exited(id string, code, signal *int) {
	j.client.Record(id, journal.Record{Kind: journal.Exit, Details: journal.Details{Code: code, Signal: signal}})
}

// missed records that output may be missing.
func (j *journaling) missed(id string) {
	j.client.Record(id, journal.Record{Kind: journal.Gap, Details: journal.Details{Why: "the recorder was away"}})
}

// viewers records who comes and goes.
func (j *journaling) viewers(id string, attached int) {
	j.mu.Lock()
	before := j.attached[id]
	j.attached[id] = attached
	if attached == 0 {
		delete(j.attached, id)
	}
	j.mu.Unlock()
	switch {
	case attached > before:
		j.client.Record(id, journal.Record{Kind: journal.Attach})
	case attached < before:
		j.client.Record(id, journal.Record{Kind: journal.Detach})
	}
}

// Read yields the records of a session.
func (j *journaling) Read(ctx context.Context, id string, q journal.Query, follow bool, yield func(*journal.Record) error) error {
	dir := filepath.Join(j.dir, id)
	if !validID(id) {
		return notRecorded(id)
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) && !follow {
		return notRecorded(id)
	}
	if follow {
		return journal.Follow(ctx, dir, q, yield)
	}
	torn, err := journal.Read(dir, q, yield)
	if torn > 0 {
		j.log.Info("lines that are no records", "id", id, "count", torn)
	}
	return err
}

// Remove forgets a session's journal.
func (j *journaling) Remove(ctx context.Context, id string) error {
	if !validID(id) {
		return &rtapi.Error{Code: "invalid", Message: fmt.Sprintf("%q is no id of a terminal", id)}
	}
	err := j.client.Remove(ctx, id)
	if err != nil { // without a recorder nobody writes it
		j.log.Debug("journal removed without the recorder", "id", id, "err", err)
	}
	if err := os.RemoveAll(filepath.Join(j.dir, id)); err != nil {
		return fmt.Errorf("remove the journal of %s: %w", id, err)
	}
	return nil
}

// usage is what the journals take; it is looked up at most every usageAge.
func (j *journaling) usage() rtapi.Journal {
	j.mu.Lock()
	defer j.mu.Unlock()
	if time.Since(j.measured) > usageAge {
		u, err := journal.Measure(j.dir)
		if err != nil {
			j.log.Warn("journals not measured", "err", err)
		}
		j.measured, j.used = time.Now(), u
	}
	return rtapi.Journal{Bytes: j.used.Bytes, Oldest: j.used.Oldest}
}

// wish is told by the recorder that a screen is worth a snapshot.
func (j *journaling) wish(id string) {
	select {
	case j.snapshot <- id:
	default:
	}
}

// run makes the snapshots until ctx ends.
func (j *journaling) run(ctx context.Context) error {
	for {
		select {
		case id := <-j.snapshot:
			if err := j.take(ctx, id); err != nil && ctx.Err() == nil && !isNotFound(err) {
				j.log.Debug("no snapshot", "id", id, "err", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// take makes one. Of a quiet terminal it shows all that was printed up to the sequence that it names; what a busy one
// prints between the two questions may be left out of both or be in both.
func (j *journaling) take(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	s, err := j.screen(ctx, id)
	if err != nil {
		return err
	}
	through, err := j.client.Sequence(ctx, id)
	if err != nil {
		return err
	}
	j.client.Record(id, journal.Record{Kind: journal.Snapshot, Details: journal.Details{
		ANSI: s.ANSI, Cols: s.Cols, Rows: s.Rows, Alternate: s.Alternate,
		Cursor: &journal.Cursor{Row: s.CursorRow, Column: s.CursorColumn}, Modes: s.Modes, Through: through,
	}})
	return nil
}
