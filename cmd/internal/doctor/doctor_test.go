package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"corral/sessions"
)

// healthy are the facts of a Corral that runs and has nothing wrong.
func healthy() Facts {
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	return Facts{
		User:    "ann",
		Config:  Config{Path: "/c.toml", Found: true},
		Data:    Data{Path: "/d", Exists: true},
		Sockets: []Socket{{Path: "/d/run/server.sock", Most: 107}, {Path: "/d/run/pg", Most: 93}},
		Disks:   []Disk{{Name: "disk", Path: "/d", Free: 50 << 30, All: 100 << 30, FreeInodes: 5, AllInodes: 9}},
		Tmux: Tmux{
			Binary: "/usr/bin/tmux", Version: "3.3a", PID: 7, Placement: "scope", SurvivesLogout: "true", CanLinger: true,
		},
		Database: Database{Kind: "private", Version: "15", Dir: "/d/postgres", Made: true, PID: 8},
		Terminal: Terminal{Term: "xterm", Locale: "C.UTF-8", Interactive: true},
		Clock:    Clock{Now: now, Synchronized: true, Newest: now.Add(-time.Hour)},
		Roles:    []Role{{Name: "server", Lock: 3, Listens: 3, Socket: "/d/run/server.sock", Version: "1", Ours: "1"}},
	}
}

func TestHealthyIsAllOK(t *testing.T) {
	t.Parallel()
	checks := Examine(healthy())
	if Worst(checks) != OK {
		t.Errorf("%+v", checks)
	}
	for _, c := range checks {
		if c.Fix != "" || c.Message == "" || c.Name == "" {
			t.Errorf("%+v", c)
		}
	}
}

// TestWhatIsWrongIsFound spoils one fact at a time: exactly one check tells, at the right level, with the fix.
func TestWhatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	refusal := &sessions.Error{Message: "it refuses", Hint: "do this"}
	for name, c := range map[string]struct {
		spoil func(*Facts)
		check string
		level Level
		says  string
		fix   string
	}{
		"config":         {func(f *Facts) { f.Config.Err = refusal }, "configuration", Problem, "it refuses", "do this"},
		"plain error":    {func(f *Facts) { f.Config.Err = errors.New("a\x1bb\nc") }, "configuration", Problem, "a", ""},
		"mode":           {func(f *Facts) { f.Data.Err = refusal }, "directories", Problem, "it refuses", "do this"},
		"unwritable":     {func(f *Facts) { f.Data.WriteErr = refusal }, "directories", Problem, "it refuses", "do this"},
		"long path":      {func(f *Facts) { f.Sockets[1].Path = strings.Repeat("x", 94) }, "socket paths", Problem, "94 of 93", "CR_RUN_DIR"},
		"full":           {func(f *Facts) { f.Disks[0].Free = 1 << 20 }, "disk", Problem, "1.0 MiB free", "free some space"},
		"nearly full":    {func(f *Facts) { f.Disks[0].Free = 900 << 20 }, "disk", Warning, "900 MiB free", "free some space"},
		"inodes":         {func(f *Facts) { f.Disks[0].FreeInodes = 0 }, "disk", Problem, "inode", "free some space"},
		"no disk":        {func(f *Facts) { f.Disks[0].Err = errors.New("gone") }, "disk", Warning, "gone", "df /d"},
		"tmux options":   {func(f *Facts) { f.Tmux.Wrong = []string{"mouse is on"} }, "tmux options", Problem, "mouse is on", "corral down"},
		"logout":         {func(f *Facts) { f.Tmux.SurvivesLogout = "false" }, "logout", Warning, "ends it at logout", "enable-linger ann"},
		"logout unknown": {func(f *Facts) { f.Tmux.SurvivesLogout = "unknown" }, "logout", Warning, "not known", "enable-linger ann"},
		"database":       {func(f *Facts) { f.Database.Err = refusal }, "database", Problem, "it refuses", "do this"},
		"TERM":           {func(f *Facts) { f.Terminal.TermErr = refusal }, "terminal", Problem, "it refuses", "do this"},
		"TERM in a pipe": {func(f *Facts) { f.Terminal.TermErr, f.Terminal.Interactive = refusal, false }, "terminal", Warning, "it refuses", "do this"},
		"locale":         {func(f *Facts) { f.Terminal.LocaleErr = refusal }, "locale", Problem, "it refuses", "do this"},
		"1970":           {func(f *Facts) { f.Clock.Now = time.Unix(0, 0) }, "clock", Problem, "cannot be right", "timedatectl"},
		"clock back":     {func(f *Facts) { f.Clock.Newest = f.Clock.Now.Add(time.Hour) }, "clock", Warning, "went back", "timedatectl"},
		"foreign":        {func(f *Facts) { f.Roles[0].Listens = 99 }, "server", Problem, "process 99 listens", "ps -fp 99"},
		"hangs":          {func(f *Facts) { f.Roles[0].Listens = 0 }, "server", Problem, "does not answer", "corral logs server"},
		"lock":           {func(f *Facts) { f.Roles[0].LockErr = refusal }, "server", Problem, "it refuses", "do this"},
		"other version":  {func(f *Facts) { f.Roles[0].Version = "2" }, "server", Warning, "version 2", "corral down"},
		"down":           {func(f *Facts) { f.Down = true }, "corral down", Warning, "stopped", "corral up"},
	} {
		f := healthy()
		c.spoil(&f)
		var told []Check
		for _, check := range Examine(f) {
			if check.Level != OK {
				told = append(told, check)
			}
		}
		if len(told) != 1 || told[0].Name != c.check || told[0].Level != c.level ||
			!strings.Contains(told[0].Message, c.says) || !strings.Contains(told[0].Fix, c.fix) {
			t.Errorf("%s: %+v", name, told)
		}
		if len(told) == 1 && strings.ContainsAny(told[0].Message, "\x1b\n") {
			t.Errorf("%s: %q is no clean line", name, told[0].Message)
		}
	}
}

// TestBeforeTheFirstStart: nothing runs and nothing is there yet; that is in order.
func TestBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	f := healthy()
	f.Config.Found, f.Data.Exists = false, false
	f.Tmux.PID, f.Database.PID, f.Database.Made = 0, 0, false
	f.Roles = []Role{{Name: "server"}, {Name: "runtime", Stale: true}}
	if checks := Examine(f); Worst(checks) != OK {
		t.Errorf("%+v", checks)
	}
}

func TestNothingIsKnown(t *testing.T) {
	t.Parallel()
	if Worst(Examine(Facts{})) == OK {
		t.Error("no facts at all are in order")
	}
	f := healthy()
	f.Tmux = Tmux{Err: errors.New("tmux is not installed")}
	if got := Worst(Examine(f)); got != Problem {
		t.Errorf("without tmux: %s", got)
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "a", "b")
	if err := CanWrite(missing); err != nil {
		t.Errorf("a directory that can be made: %v", err)
	}
	if err := CanWrite("/proc/1/x"); err == nil {
		t.Error("a directory of the kernel can be written")
	}
	if d := DiskOf("disk", missing); d.Err != nil || d.Path != dir || d.All == 0 || d.Free > d.All {
		t.Errorf("%+v", d)
	}
	file := filepath.Join(dir, "f")
	future := time.Now().Add(time.Hour)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, future, future); err != nil {
		t.Fatal(err)
	}
	if c := ClockOf(missing, file); c.Newest.Sub(c.Now) < time.Minute {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(filepath.Dir(missing)); err == nil {
		t.Error("a probe made a directory")
	}
}
