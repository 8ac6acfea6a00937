package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"corral/cmd/internal/doctor"
	"corral/e2e/harness"
)

// examined runs doctor and returns its checks by name.
func examined(t *testing.T, c *harness.Corral, code int) map[string]doctor.Check {
	t.Helper()
	r := c.Run("doctor", "--json")
	var list []doctor.Check
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil || r.Code != code {
		t.Fatalf("exit %d, want %d: %v\n%s%s", r.Code, code, err, r.Stdout, r.Stderr)
	}
	out := map[string]doctor.Check{}
	for _, check := range list {
		out[check.Name] = check
	}
	return out
}

// TestDoctor looks before the first start, while all runs, and after somebody has changed the tmux server.
func TestDoctor(t *testing.T) {
	t.Parallel()
	c := harness.Empty(t)
	for name, check := range examined(t, c, 0) {
		if check.Level == doctor.Problem {
			t.Errorf("before the first start: %s: %s", name, check.Message)
		}
	}
	if _, err := os.Stat(c.Data); err == nil {
		t.Error("doctor made the data directory")
	}

	c.Create("--title", "one", "--cwd", c.Home)
	checks := examined(t, c, 0)
	for _, name := range []string{"server", "runtime", "recorder", "database"} {
		if check := checks[name]; check.Level != doctor.OK || !strings.Contains(check.Message, "process ") {
			t.Errorf("%s: %+v", name, check)
		}
	}
	if out, err := c.Tmux("set-option", "-g", "remain-on-exit", "off"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if check := examined(t, c, 1)["tmux options"]; check.Level != doctor.Problem || check.Fix == "" {
		t.Errorf("a changed option: %+v", check)
	}
	c.OK("down")
	c.OK("up")
	if check := examined(t, c, 0)["tmux options"]; check.Level != doctor.OK {
		t.Errorf("its fix does not mend it: %+v", check)
	}
}

// TestDoctorSurvivesWhatIsBroken: each thing that keeps all other verbs from working is one line of doctor's.
func TestDoctorSurvivesWhatIsBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, c *harness.Corral)
		check string
	}{
		"broken configuration": {func(_ *testing.T, c *harness.Corral) { c.WriteConfig("histroy.lines = 3\n") }, "configuration"},
		"open data directory": {func(t *testing.T, c *harness.Corral) {
			t.Helper()
			if err := os.Mkdir(c.Data, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(c.Data, 0o777); err != nil { //nolint:gosec // the point of the test
				t.Fatal(err)
			}
		}, "directories"},
		"no tmux":  {func(_ *testing.T, c *harness.Corral) { c.Setenv("PATH", "/nowhere") }, "tmux"},
		"password": {func(_ *testing.T, c *harness.Corral) { c.Setenv("CR_DATABASE_URL", "postgres://u:swordfish@h/d") }, "configuration"},
		"no database": {func(_ *testing.T, c *harness.Corral) {
			c.Setenv("CR_DATABASE_URL", "postgres://u@/d?host="+filepath.Join(c.Dir, "nothing"))
		}, "database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			corral := harness.Empty(t)
			c.spoil(t, corral)
			check := examined(t, corral, 1)[c.check]
			if check.Level != doctor.Problem || check.Fix == "" || strings.Contains(check.Message, "swordfish") {
				t.Errorf("%+v", check)
			}
		})
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	c := harness.Empty(t)
	play(t, c,
		step{args("logs"), 2, "", `corral logs takes server\|runtime\|recorder`},
		step{args("logs", "nothing"), 2, "", `there is no log of "nothing"`},
		step{args("logs", "server", "-n", "-3"), 2, "", `0 or more`},
		step{args("logs", "server"), 3, "", `has no log yet`},
		step{args("up"), 0, `server`, ""},
		step{args("logs", "server", "-n", "1000"), 0, `INFO started .*version=`, ""},
		step{args("logs", "runtime"), 0, `INFO started`, ""},
		step{args("logs", "recorder", "--json"), 0, `"msg":"started"`, ""},
	)
	if out := c.OK("logs", "server", "-n", "1"); strings.Count(out, "\n") != 1 {
		t.Errorf("one line is %q", out)
	}
	d := c.Dashboard(120, 40, "logs", "server", "-f", "-n", "1")
	d.WaitFor("INFO")
	c.OK("new", "--title", "seen", "--cwd", c.Home)
	d.WaitFor("session created")
	d.Type("\x03")
	if code := d.Exit(); code != 0 {
		t.Errorf("the interrupt ended it with %d", code)
	}
}
