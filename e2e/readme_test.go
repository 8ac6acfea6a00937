package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"corral/e2e/harness"
)

const (
	screenBegin = "<!-- screen:begin -->\n"
	screenEnd   = "<!-- screen:end -->"
)

// readmeScreen drives a real dashboard over a few sessions and returns what it shows at 100x24. Everything in it is
// the same at each run: the programs print fixed words, and the directory is one that every machine has.
func readmeScreen(t *testing.T) string {
	t.Helper()
	c := harness.New(t)
	prints := func(title, project, script string) {
		c.Create("--kind", "command", "--title", title, "--project", project, "--cwd", "/usr", "--", "sh", "-c", script)
	}
	const serve = `printf '%s\n' '$ make serve' 'go build -o bin/api ./cmd/api' 'listening on 127.0.0.1:8080' ` +
		`'GET  /v1/orders       200   3 ms' 'POST /v1/orders       201  11 ms' 'GET  /v1/orders/4711  200   2 ms'; sleep 1000`
	prints("api server", "shop", serve)
	prints("tests", "shop", "exit 1")
	prints("migrate", "shop", "exit 0")
	prints("backup", "ops", "sleep 1000")
	prints("log watch", "ops", "sleep 1000")
	d := c.Dashboard(100, 24)
	d.WaitFor("api server", "FAILED 1", "STOPPED", "DETACHED", "log watch")
	d.Type("g")
	for _, step := range []struct{ key, title string }{{"", "backup"}, {"j", "log watch"}, {"j", "api server"}} {
		d.Type(step.key)
		d.WaitFor("│ " + step.title)
	}
	d.WaitFor("listening on", "4711", " live\n")
	screen := d.Screen()
	quit(c, d, "")
	return screen
}

// TestReadmeScreen holds the picture in the README to what the dashboard shows; `make screen` draws it anew.
func TestReadmeScreen(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "README.md")
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(readme), screenBegin)
	old, after, ended := strings.Cut(rest, screenEnd)
	if !found || !ended {
		t.Fatalf("the README has no place for the screen: %s...%s", screenBegin, screenEnd)
	}
	want := "```\n" + readmeScreen(t) + "\n```\n"
	if old == want {
		return
	}
	if os.Getenv("CORRAL_WRITE_SCREEN") == "" {
		t.Fatalf("the README shows another dashboard than this one (make screen draws it anew):\n%s", want)
	}
	if err := os.WriteFile(path, []byte(before+screenBegin+want+screenEnd+after), 0o644); err != nil { //nolint:gosec // a page
		t.Fatal(err)
	}
}
