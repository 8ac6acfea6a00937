package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"corral/runtime/internal/journal"
	"corral/runtime/rtapi"
	"corral/vt"
)

// maxReplayed is how much output is replayed for a last screen that has no snapshot near: with none for so long the
// program printed a flood, of which the end is what was on the screen.
const maxReplayed = 8 << 20

// screens reads what terminals show, and showed last when there is nothing left of them but the journal.
type screens struct {
	*terminals
	journals *journaling
}

// Screen implements httpapi.Reader.
func (s screens) Screen(ctx context.Context, id string) (rtapi.Screen, error) {
	have, _, _, err := s.inventory.find(ctx, id)
	if isNotFound(err) {
		last, lerr := s.journals.LastScreen(id)
		if lerr == nil || !isNotFound(lerr) {
			return last, lerr
		}
	}
	if err != nil {
		return rtapi.Screen{}, err
	}
	screen, err := s.terminals.Screen(ctx, id)
	if have.Dead {
		screen.At = have.DeadAt
	}
	return screen, err
}

// LastScreen rebuilds the last screen of a session from its journal: the newest snapshot, and what came after it.
func (j *journaling) LastScreen(id string) (rtapi.Screen, error) {
	if !validID(id) {
		return rtapi.Screen{}, notRecorded(id)
	}
	p, err := lastPicture(filepath.Join(j.dir, id))
	if err != nil {
		return rtapi.Screen{}, fmt.Errorf("rebuild the last screen of %s: %w", id, err)
	}
	if p.at.IsZero() {
		return rtapi.Screen{}, notRecorded(id)
	}
	return p.show()
}

func notRecorded(id string) error {
	return &rtapi.Error{Code: "not_found", Message: fmt.Sprintf("there is no terminal %s, and no record of it", id)}
}

// picture is what a last screen is made of.
type picture struct {
	snapshot *journal.Record   // nil without one
	after    []*journal.Record // start, output and resizes, newest first
	at       time.Time         // of the newest record that shows in it; zero when nothing does
}

// lastPicture reads a journal from its end to the newest snapshot or, if that is nearer, start.
func lastPicture(dir string) (p picture, err error) {
	bytes := 0
	err = journal.Backward(dir, func(r *journal.Record) bool {
		if p.snapshot != nil && r.Sequence <= p.snapshot.Through {
			return false
		}
		switch r.Kind {
		case journal.Output, journal.Resize:
			bytes += len(r.Payload)
			p.after = append(p.after, r)
		case journal.Snapshot:
			if p.snapshot != nil {
				return true
			}
			p.snapshot = r
		case journal.Start:
			if p.snapshot == nil {
				p.after = append(p.after, r)
				return false
			}
			return true
		case journal.Input, journal.Exit, journal.Attach, journal.Detach, journal.Hook, journal.Gap:
			return true
		}
		if p.at.IsZero() && r.Kind != journal.Resize {
			p.at = r.Time
		}
		return bytes < maxReplayed && (p.snapshot == nil || p.snapshot.Through > 0)
	})
	slices.Reverse(p.after)
	return p, err
}

// show draws the picture. A snapshot after which nothing happened is the screen as tmux gave it.
func (p picture) show() (rtapi.Screen, error) {
	screen := vt.New(defaultCols, defaultRows)
	if s := p.snapshot; s != nil {
		screen = vt.New(s.Cols, s.Rows)
		_, _ = screen.Write(drawn(s)) // a screen takes everything, also below
	}
	for _, r := range p.after {
		switch {
		case r.Kind == journal.Output:
			data, err := r.Data()
			if err != nil {
				return rtapi.Screen{}, err
			}
			_, _ = screen.Write(data)
		case r.Cols > 0 && r.Rows > 0:
			screen.Resize(r.Cols, r.Rows)
		}
	}
	_, _ = screen.Write([]byte(endSync))
	f := screen.Frame()
	shown := rtapi.Screen{
		Cols: f.Cols, Rows: f.Rows, CursorRow: f.Cursor.Row, CursorColumn: f.Cursor.Col,
		Text: f.Text(), ANSI: f.ANSI(vt.TrueColor), Title: f.Title, Alternate: f.Modes.AlternateScreen, At: p.at,
	}
	if len(p.after) == 0 && p.snapshot != nil {
		shown.ANSI = p.snapshot.ANSI
	}
	return shown, nil
}

// endSync ends a synchronized update that the program did not come to end.
const endSync = "\x1b[?2026l"

// drawn is what brings a new terminal to a snapshot.
func drawn(s *journal.Record) []byte {
	var b strings.Builder
	if s.Alternate {
		b.WriteString("\x1b[?1049h")
	}
	b.WriteString(strings.ReplaceAll(s.ANSI, "\n", "\r\n"))
	for _, m := range screenModes() {
		if slices.Contains(s.Modes, m.name) {
			b.WriteString(m.set)
		}
	}
	if s.Cursor != nil {
		fmt.Fprintf(&b, "\x1b[m\x1b[%d;%dH", s.Cursor.Row+1, s.Cursor.Column+1)
	}
	return []byte(b.String())
}

// screenMode is a mode of a terminal that snapshots keep.
type screenMode struct {
	name string // in the journal
	flag string // tmux's format; true where the mode is not the default
	set  string // what a program prints to set it
}

// screenModes are the modes that tmux 3.3 tells. What a program sets beside them, as bracketed paste, it does not.
func screenModes() []screenMode {
	return []screenMode{
		{"applicationKeys", "#{keypad_cursor_flag}", "\x1b[?1h"},
		{"applicationKeypad", "#{keypad_flag}", "\x1b="},
		{"cursorHidden", "#{?cursor_flag,0,1}", "\x1b[?25l"},
		{"insert", "#{insert_flag}", "\x1b[4h"},
		{"origin", "#{origin_flag}", ""}, // it would move the cursor, whose place is known
		{"noWrap", "#{?wrap_flag,0,1}", "\x1b[?7l"},
		{"mouse1000", "#{mouse_standard_flag}", "\x1b[?1000h"},
		{"mouse1002", "#{mouse_button_flag}", "\x1b[?1002h"},
		{"mouse1003", "#{mouse_all_flag}", "\x1b[?1003h"},
		{"mouseSGR", "#{mouse_sgr_flag}", "\x1b[?1006h"},
	}
}

// modesFormat asks tmux for all modes: a digit each.
func modesFormat() string {
	var b strings.Builder
	for _, m := range screenModes() {
		b.WriteString(m.flag)
	}
	return b.String()
}

// modesOf reads the answer to modesFormat.
func modesOf(digits string) ([]string, error) {
	var set []string
	all := screenModes()
	if len(digits) != len(all) {
		return nil, errors.New("tmux told its modes as " + fmt.Sprintf("%q", digits))
	}
	for i, m := range all {
		if digits[i] == '1' {
			set = append(set, m.name)
		}
	}
	return set, nil
}
