package repocheck

import (
	"slices"
	"strings"
	"testing"
)

// may says which packages of ours each package may import. Every package is in the table: a new one is a decision.
var may = map[string][]string{ //nolint:gochecknoglobals // a table
	"cmd/corral": {
		"cmd/internal/...", "sessions", "sessions/backup", "sessions/recovery", "sessions/server", "sessions/sessionclient", "runtime/daemon", "runtime/rtclient",
		"runtime/rtapi", "runtime/hook", "runtime/launch", "runtime/recorder", "runtime/taskrunner", "tui/...", "vt",
	},
	"cmd/internal/paths":     {"sessions"},
	"cmd/internal/config":    {"sessions"},
	"cmd/internal/clipboard": {},
	"cmd/internal/sock":      {"sessions"},
	"cmd/internal/spawn":     {"sessions"},
	"cmd/internal/doctor":    {"sessions"},
	"cmd/internal/logtail":   {"sessions"},
	"cmd/internal/repocheck": {},

	"vt": {},

	"tui":                            {"tui/...", "sessions", "sessions/recovery", "vt"},
	"tui/canvas":                     {"vt"},
	"tui/terminal":                   {"tui/canvas", "tui/internal/nobackgroundquery", "sessions", "vt"},
	"tui/rawattach":                  {"tui/terminal", "tui/canvas", "sessions", "vt"},
	"tui/style":                      {"tui/internal/nobackgroundquery"},
	"tui/keys":                       {},
	"tui/status":                     {"tui/style", "tui/keys", "sessions", "vt"},
	"tui/dialog":                     {"tui/style", "tui/keys", "tui/status", "sessions", "vt"},
	"tui/sessionlist":                {"tui/style", "tui/keys", "tui/status", "sessions", "vt"},
	"tui/termpane":                   {"tui/style", "tui/keys", "tui/canvas", "tui/scrollback", "sessions", "vt"},
	"tui/prompt":                     {"tui/style", "tui/keys", "tui/canvas", "vt"},
	"tui/logview":                    {"tui/style", "tui/keys", "tui/canvas", "tui/prompt", "sessions", "vt"},
	"tui/scrollback":                 {"tui/style", "tui/keys", "tui/canvas", "tui/prompt", "vt"},
	"tui/internal/nobackgroundquery": {},
	"tui/internal/tuitest":           {"tui/...", "sessions", "vt"},

	"sessions":                      {},
	"sessions/recovery":             {"sessions"},
	"sessions/sessionclient":        {"sessions", "internal/ws"},
	"sessions/server":               {"sessions", "sessions/internal/...", "runtime/rtclient", "runtime/rtapi", "migrations"},
	"sessions/backup":               {"sessions"},
	"sessions/internal/store":       {"sessions", "sessions/backup", "runtime/rtapi"},
	"sessions/internal/pgcluster":   {"sessions"},
	"sessions/internal/agent":       {"sessions", "runtime/rtapi"},
	"sessions/internal/reconcile":   {"sessions", "sessions/internal/store", "runtime/rtapi"},
	"sessions/internal/service":     {"sessions", "sessions/internal/store", "sessions/internal/agent", "sessions/internal/reconcile", "runtime/rtapi"},
	"sessions/internal/httpapi":     {"sessions", "sessions/internal/service", "sessions/internal/store", "internal/ws", "runtime/rtapi"},
	"sessions/internal/rttest":      {"sessions", "runtime/rtapi"},
	"sessions/internal/servicetest": {"sessions", "sessions/internal/...", "migrations", "migrations/pgtest", "runtime/rtapi"},

	"runtime/rtapi":            {},
	"runtime/rtclient":         {"runtime/rtapi"},
	"runtime/hook":             {"runtime/rtapi"},
	"runtime/launch":           {"runtime/hook", "runtime/rtapi"},
	"runtime/recorder":         {"runtime/internal/journal"},
	"runtime/daemon":           {"runtime/rtapi", "runtime/hook", "runtime/launch", "runtime/recorder", "runtime/internal/...", "sessions", "vt"},
	"runtime/internal/journal": {},
	"runtime/taskrunner":       {"runtime/rtapi", "runtime/internal/taskdir", "runtime/internal/inotify", "runtime/internal/procfs"},
	"runtime/internal/procfs":  {"runtime/rtapi"},
	"runtime/internal/inotify": {},
	"runtime/internal/hook":    {"runtime/rtapi", "runtime/hook", "runtime/internal/inotify"},
	"runtime/internal/agent":   {"runtime/rtapi", "runtime/internal/inotify", "runtime/internal/procfs"},
	"runtime/internal/taskdir": {"runtime/rtapi", "runtime/internal/procfs"},
	"runtime/internal/task": {
		"runtime/rtapi", "runtime/launch", "runtime/internal/taskdir", "runtime/internal/inotify", "runtime/internal/procfs",
	},
	"runtime/internal/tmux":    {"runtime/rtapi", "runtime/internal/procfs"},
	"runtime/internal/widths":  {"runtime/internal/tmux", "vt"},
	"runtime/internal/attach":  {"runtime/rtapi", "runtime/internal/tmux", "runtime/internal/journal", "internal/ws", "sessions", "vt"},
	"runtime/internal/httpapi": {"runtime/rtapi", "runtime/internal/...", "internal/ws", "sessions"},

	"internal/ws": {},

	"migrations":        {},
	"migrations/pgtest": {"migrations"},
	"e2e":               {},
	"e2e/harness":       {"sessions", "sessions/sessionclient", "vt", "e2e/rounds"},
	"e2e/program":       {},
	"e2e/claudeapi":     {},
	"e2e/standin":       {"e2e/program", "runtime/hook"},
	"e2e/proof":         {},
	"e2e/proof/report":  {"e2e/proof"},
	"e2e/rounds":        {},
}

// forTests lists what only tests, and what is itself for tests, may import.
var forTests = []string{"e2e/...", "migrations/pgtest", "tui/internal/tuitest", "sessions/internal/rttest", "sessions/internal/servicetest"} //nolint:gochecknoglobals // a table

func TestWhoImportsWhom(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range packages(t) {
		seen[p.rel()] = true
		allowed, known := may[p.rel()]
		if !known {
			t.Errorf("%s is not in the table: say what it may import", p.rel())
			continue
		}
		for _, i := range p.Imports {
			o := ours(i)
			if o == "" {
				continue
			}
			if !matchAny(allowed, o) {
				t.Errorf("%s imports %s; it may import %v", p.rel(), o, allowed)
			}
			if matchAny(forTests, o) && !matchAny(forTests, p.rel()) {
				t.Errorf("%s imports %s, which is for tests", p.rel(), o)
			}
		}
	}
	for name := range may {
		if !seen[name] {
			t.Errorf("%s is in the table and not in the repository", name)
		}
	}
}

const (
	bubbletea = "github.com/charmbracelet/bubbletea"
	lipgloss  = "github.com/charmbracelet/lipgloss"
	pgx       = "github.com/jackc/pgx/v5/..."
)

// reach is a ban on whatever a package pulls in, directly or not.
var reach = []struct { //nolint:gochecknoglobals // a table
	from    []string
	never   []string
	because string
}{
	{
		[]string{"tui/..."},
		[]string{module + "/runtime/...", module + "/sessions/server", module + "/sessions/internal/...", pgx},
		"the dashboard knows the types in sessions and is handed its client",
	},
	{[]string{"tui/..."}, []string{"net/http"}, "a screen that speaks HTTP does I/O where it draws"},
	{[]string{"vt"}, []string{module + "/...", bubbletea, lipgloss}, "terminal emulation is tested and used without the rest"},
	{[]string{"runtime/..."}, []string{pgx, bubbletea, lipgloss}, "the runtime must live while the database and every screen are away"},
	{[]string{"sessions/..."}, []string{bubbletea, lipgloss, module + "/tui/..."}, "the server serves any client"},
	{[]string{"runtime/hook", "runtime/launch", "runtime/recorder", "runtime/taskrunner"}, []string{"net/http"}, "they run at every start of a session or task, and on every event of an agent"},
}

func TestWhatPackagesReach(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, r := range reach {
			if !matchAny(r.from, p.rel()) {
				continue
			}
			for _, d := range p.Deps {
				if matchAny(r.never, d) {
					t.Errorf("%s reaches %s: %s", p.rel(), d, r.because)
				}
			}
		}
	}
}

// TestNounsStandAlone: the nouns of both sides need nothing but the standard library.
func TestNounsStandAlone(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.rel() != "sessions" && p.rel() != "runtime/rtapi" {
			continue
		}
		for _, d := range p.Deps {
			if first, _, _ := strings.Cut(d, "/"); strings.Contains(first, ".") || first == module {
				t.Errorf("%s reaches %s", p.rel(), d)
			}
		}
	}
}

// only says which packages may import something themselves.
var only = []struct { //nolint:gochecknoglobals // a table
	path    string
	by      []string
	because string
}{
	{pgx, []string{
		"migrations", "migrations/pgtest", "sessions/internal/store", "sessions/internal/pgcluster",
		"sessions/internal/servicetest", "sessions/server",
	}, "SQL stays in one place"},
	{"os/exec", []string{
		"cmd/internal/clipboard",
		"runtime/internal/tmux", "runtime/internal/attach", "runtime/daemon", "runtime/launch", "runtime/recorder", "sessions/internal/pgcluster", "cmd/internal/spawn",
		"migrations/pgtest", "e2e/harness", "e2e/standin",
	}, "who starts processes must end them"},
	{bubbletea, []string{"tui", "tui/...", "tui/internal/tuitest"}, "only the dashboard is one"},
	{"log", nil, "logs go to the slog.Logger that was handed in"},
	{"net/http/pprof", nil, "it registers handlers by being imported"},
}

func TestWhoMayImportWhat(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, o := range only {
			if slices.ContainsFunc(p.Imports, func(i string) bool { return match(o.path, i) }) && !matchAny(o.by, p.rel()) {
				t.Errorf("%s imports %s: %s", p.rel(), o.path, o.because)
			}
		}
	}
}

// TestTheTableIsChecked proves on a made-up case that the matching can fail.
func TestTheTableIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"tui/...", "tui", true},
		{"tui/...", "tui/canvas", true},
		{"tui/...", "tuition", false},
		{"tui", "tui/canvas", false},
		{pgx, "github.com/jackc/pgx/v5/pgxpool", true},
		{"sessions", "sessions", true},
	} {
		if match(c.pattern, c.path) != c.want {
			t.Errorf("%s and %s", c.pattern, c.path)
		}
	}
}
