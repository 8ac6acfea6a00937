package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"corral/sessions"
	"corral/tui/canvas"
	"corral/vt"
)

func discipline(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	st, err := term.GetState(f.Fd())
	if err != nil {
		t.Fatal(err)
	}
	return st.Termios
}

// gaveBack reports whether b ends by leaving the alternate screen and switching every mode off after that.
func gaveBack(b []byte) bool {
	i := bytes.LastIndex(b, []byte(altScreenOff))
	if i < 0 {
		return false
	}
	for _, off := range []string{
		"\x1b[?1000l", "\x1b[?1002l", "\x1b[?1003l", "\x1b[?1006l", "\x1b[?1004l", "\x1b[?2004l", "\x1b[>4m", "\x1b[<u", "\x1b[0 q", "\x1b[?25h", "\x1b[m",
	} {
		if !bytes.Contains(b[i:], []byte(off)) {
			return false
		}
	}
	return bytes.HasSuffix(b, []byte("\x1b[m"))
}

func TestOpenAndClose(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	before := discipline(t, p.tty)
	c := p.config()
	c.StatePath, c.Mouse = filepath.Join(t.TempDir(), "terminal"), true
	term := open(t, c)
	if cols, rows := term.Size(); cols != 80 || rows != 24 {
		t.Errorf("size %dx%d", cols, rows)
	}
	if ev := event[Resized](t, term); ev != (Resized{80, 24}) {
		t.Errorf("first size %v", ev)
	}
	p.seesText("\x1b[?1049h")
	p.seesText("\x1b[?1002h\x1b[?1006h")
	p.seesText("\x1b]11;?\x1b\\")
	if d := discipline(t, p.tty); d.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
		t.Error("not in raw mode")
	}
	if files, _ := filepath.Glob(c.StatePath + "*"); len(files) != 1 {
		t.Errorf("state files: %v", files)
	}
	for range 2 {
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	}
	p.sees("the terminal given back", gaveBack)
	if d := cmp.Diff(before, discipline(t, p.tty)); d != "" {
		t.Errorf("line discipline: %s", d)
	}
	if files, _ := filepath.Glob(c.StatePath + "*"); len(files) != 0 {
		t.Errorf("state files left: %v", files)
	}
	if _, ok := <-term.Events(); ok {
		for range term.Events() { //nolint:revive // until it is closed
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tests := []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.In = file }, "standard input is not a terminal"},
		{func(c *Config) { c.Out = file }, "standard output is not a terminal"},
		{func(c *Config) { c.Env.Term = "" }, "TERM is not set"},
		{func(c *Config) { c.Env.Term = "dumb" }, "TERM=dumb"},
		{func(c *Config) { c.Env.Locale = "de_DE.ISO-8859-1" }, "is not UTF-8"},
	}
	for _, tt := range tests {
		c := p.config()
		tt.change(&c)
		_, err := Open(c)
		if sessions.CodeOf(err) != sessions.CodeInvalid || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %q, got %v", tt.want, err)
		}
	}
	for _, locale := range []string{"", "C", "C.UTF-8", "de_DE.utf8", "ca_ES.UTF-8@valencia"} {
		c := p.config()
		c.Env.Locale = locale
		if err := check(c); err != nil {
			t.Errorf("locale %q: %v", locale, err)
		}
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		env  Env
		want vt.Profile
	}{
		{Env{Term: "xterm-256color"}, vt.ANSI256},
		{Env{Term: "xterm-256color", ColorTerm: "truecolor"}, vt.TrueColor},
		{Env{Term: "xterm-256color", ColorTerm: "truecolor", NoColor: "1"}, vt.NoColor},
		{Env{Term: "xterm-kitty"}, vt.TrueColor},
		{Env{Term: "xterm"}, vt.ANSI16},
		{Env{Term: "screen"}, vt.ANSI16},
		{Env{Term: "linux", ColorTerm: "truecolor"}, vt.ANSI16},
		{Env{Term: "vt220"}, vt.NoColor},
		{Env{Term: "tmux-direct"}, vt.TrueColor},
	}
	for _, tt := range tests {
		if got := profileOf(tt.env); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.env, got, tt.want)
		}
	}
}

// TestConsole holds that a terminal that prints what it does not know is sent nothing of it.
func TestConsole(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	c := p.config()
	c.Env.Term = "linux"
	term := open(t, c)
	cv := canvas.New(80, 24)
	cv.SetCursor(3, 3, 5)
	term.Present(cv)
	p.seesText("\x1b[?25h")
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	p.seesText("\x1b[?2004l")
	for _, bad := range []string{"\x1b]", " q", "\x1b[>", "\x1b[<", "$p"} {
		if bytes.Contains(p.saw(), []byte(bad)) {
			t.Errorf("sent %q", bad)
		}
	}
}

func TestAnswersBecomeEvents(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	term := open(t, p.config())
	m := newMemory()
	term.Divert(m, canvas.Rect{W: 80, H: 24})
	p.types("a\x1b]10;rgb:ffff/ffff/ffff\x07\x1b]11;rgb:1e1e/20/2\x1b\\\x1b[?2026;2$y\x1b[?62;22cb")
	m.gets(t, "ab")
	if ev := event[Foreground](t, term); ev.Color != "#ffffff" {
		t.Error(ev)
	}
	if ev := event[Background](t, term); ev != (Background{Color: "#1e2022", Dark: true}) {
		t.Error(ev)
	}
	event[SyncSupported](t, term)
	term.Present(canvas.New(80, 24))
	p.seesText("\x1b[?2026h")
	p.seesText("\x1b[?2026l")
	p.types("\x1b[O")
	if ev := event[Focus](t, term); ev.In {
		t.Error(ev)
	}
}

func TestModesFollowThePane(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	c := p.config()
	c.Mouse = true
	term := open(t, c)
	p.seesText("\x1b[?1002h")
	term.SetModes(vt.Modes{MouseTracking: 1003})
	p.seesText("\x1b[?1002l\x1b[?1003h\x1b[?1006h")
	term.SetModes(vt.Modes{})
	p.seesText("\x1b[?1003l\x1b[?1002h\x1b[?1006h")
	p.forget()
	term.SetModes(vt.Modes{MouseTracking: 1000})
	term.SetModes(vt.Modes{BracketedPaste: true})
	term.Present(canvas.New(80, 24))
	p.seesText("\x1b[2J")
	if bytes.Contains(p.saw(), []byte("\x1b[?100")) || bytes.Contains(p.saw(), []byte("\x1b[?2004")) {
		t.Errorf("modes sent without need: %q", p.saw())
	}
}

func TestLoneEscapeIsNotHeldForLong(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	term := open(t, p.config())
	m := newMemory()
	term.Divert(m, canvas.Rect{W: 80, H: 24})
	p.types("\x1b")
	m.gets(t, "\x1b")
	p.types("\x1b[<35;10") // half a mouse report: no key, so it is dropped in the end
	p.types("\x1c")        // which also breaks it off
	event[Resized](t, term)
	if got := m.text(); got != "\x1b" {
		t.Errorf("the pane got %q", got)
	}
}

// TestDeadTerminal holds the terminal's output back, as ctrl+s or a dead connection does.
func TestDeadTerminal(t *testing.T) {
	t.Parallel()
	p := deafPerson(t, 200, 50)
	before := discipline(t, p.tty)
	term := open(t, p.config())
	full := openTTY(p.tty, p.tty, "")             // after Open: in raw mode more fits in
	for _, size := range []int{1 << 20, 256, 1} { // the kernel has room for small writes where it has none for large ones
		for err := error(nil); err == nil; err = full.write(make([]byte, size)) {
			full.giveUp(50 * time.Millisecond)
		}
	}
	full.close()
	c := canvas.New(200, 50)
	for i := range 200 {
		for y := range 50 {
			c.DrawLine(0, y, 200, strings.Repeat(string(rune('a'+i%26)), 200))
		}
		start := time.Now()
		term.Present(c)
		if took := time.Since(start); took > time.Second {
			t.Fatalf("Present took %v", took)
		}
	}
	start := time.Now()
	_ = term.Close() // says so if the kernel had no room for the reset
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("Close took %v", took)
	}
	if d := cmp.Diff(before, discipline(t, p.tty)); d != "" {
		t.Errorf("line discipline: %s", d)
	}
}

// TestStalledTerminal holds the output back for a while: what shows in the end is the newest canvas, not all of them.
func TestStalledTerminal(t *testing.T) {
	t.Parallel()
	p := deafPerson(t, 80, 24)
	term := open(t, p.config())
	c := canvas.New(80, 24)
	fill := func(r rune) {
		for y := range 24 {
			c.DrawLine(0, y, 80, strings.Repeat(string(r), 80))
		}
		term.Present(c)
	}
	for i := range 500 {
		fill(rune('a' + i%26))
	}
	fill('Z')
	p.listen()
	p.seesText(strings.Repeat("Z", 80))
	if n := bytes.Count(p.saw(), []byte{'\n'}) / 24; n > 400 {
		t.Errorf("about %d frames were written", n)
	}
}

func TestNothingChangedNothingWritten(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	term := open(t, p.config())
	c := canvas.New(80, 24)
	draw := func(s string) {
		c.Clear()
		c.DrawLine(0, 0, 80, s)
		term.Present(c)
	}
	draw("one")
	p.seesText("one")
	p.forget()
	for range 10 {
		draw("one")
	}
	draw("two")
	p.seesText("two")
	if got, want := string(p.saw()), "\rtwo"; got != want && got != "\x1b[Htwo" {
		t.Errorf("wrote %q, want %q", got, want)
	}
	p.forget()
	term.Invalidate()
	p.seesText("two")
	p.seesText("\x1b[2J")
}

func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	before := discipline(t, p.tty)
	c := p.config()
	c.StatePath = filepath.Join(t.TempDir(), "terminal")
	term := open(t, c)
	cv := canvas.New(80, 24)
	cv.DrawLine(0, 0, 80, "picture")
	term.Present(cv)
	p.seesText("picture")
	for range 3 {
		if err := term.Suspend(); err != nil {
			t.Fatal(err)
		}
		p.sees("the terminal given back", gaveBack)
		if d := cmp.Diff(before, discipline(t, p.tty)); d != "" {
			t.Errorf("line discipline: %s", d)
		}
		if files, _ := filepath.Glob(c.StatePath + "*"); len(files) != 0 {
			t.Errorf("state files left: %v", files)
		}
		p.forget()
		if err := pty.Setsize(p.ptmx, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
			t.Fatal(err)
		}
		if err := term.Resume(); err != nil {
			t.Fatal(err)
		}
		p.seesText("\x1b[?1049h")
		p.seesText("picture")
		event[Resumed](t, term)
	}
	m := newMemory()
	term.Divert(m, canvas.Rect{W: 80, H: 24})
	p.types("typed")
	m.gets(t, "typed")
}

// TestAfterKill opens a terminal that a killed process left raw and in its modes.
func TestAfterKill(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	before := discipline(t, p.tty)
	path := filepath.Join(t.TempDir(), "terminal")
	killed := openTTY(p.tty, p.tty, path)
	if err := killed.raw(); err != nil {
		t.Fatal(err)
	}
	if err := killed.hold(); err != nil {
		t.Fatal(err)
	}
	killed.close()

	c := p.config()
	c.StatePath = path
	term := open(t, c)
	p.seesText(altScreenOn)
	first, _, _ := bytes.Cut(p.saw(), []byte(altScreenOn))
	if !gaveBack(first) {
		t.Errorf("began with %q", first)
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, discipline(t, p.tty)); d != "" {
		t.Errorf("line discipline: %s", d)
	}
}

func TestWindowSize(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	term := open(t, p.config())
	event[Resized](t, term)
	if err := pty.Setsize(p.ptmx, &pty.Winsize{Cols: 132, Rows: 43}); err != nil {
		t.Fatal(err)
	}
	// The kernel signals the terminal's foreground group, which this process is not in.
	if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	if ev := event[Resized](t, term); ev != (Resized{132, 43}) {
		t.Errorf("size %v", ev)
	}
}

func TestHangUp(t *testing.T) {
	t.Parallel()
	p := deafPerson(t, 80, 24) // since a read under way would keep the other end open
	term := open(t, p.config())
	_ = p.ptmx.Close()
	event[Gone](t, term)
	start := time.Now()
	_ = term.Close() // says what it could not do
	if took := time.Since(start); took > time.Second {
		t.Errorf("Close took %v", took)
	}
}

func TestBareTerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t, 80, 24)
	c := p.config()
	c.Bare = true
	term := open(t, c)
	if _, err := term.Write([]byte("bytes")); err != nil {
		t.Fatal(err)
	}
	p.seesText("bytes")
	if bytes.Contains(p.saw(), []byte(altScreenOn)) {
		t.Error("went to the alternate screen")
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	p.seesText("\x1b[?2004l")
	if bytes.Contains(p.saw(), []byte(altScreenOff)) {
		t.Error("left an alternate screen it was not on")
	}
	if _, err := term.Write([]byte("x")); err == nil {
		t.Error("wrote to a closed terminal")
	}
}
