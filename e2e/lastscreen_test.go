package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/sessions"
	"corral/vt"
)

// TestRecorderShowsTheLastScreen kills tmux under a quiet session: what it showed is in the dashboard, dimmed and with its
// time, and printed by `corral screen`.
func TestRecorderShowsTheLastScreen(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	s := c.Create("--title", "gone", "--", "sh", "-c", `printf 'kept \033[31mred\033[m\n> '; read x`)
	c.Eventually(harness.Soon, func() error {
		for _, r := range records(c, s.ID) {
			if r.Kind == "snapshot" && strings.Contains(r.ANSI, "kept") {
				return nil
			}
		}
		return fmt.Errorf("no snapshot yet")
	})
	var before, after sessions.Screen
	c.JSON(&before, "screen", string(s.ID))
	c.Kill("tmux")
	c.WaitState(s.ID, harness.Soon, sessions.Recoverable)
	c.JSON(&after, "screen", string(s.ID))
	if strings.TrimRight(after.ANSI, "\n") != strings.TrimRight(before.ANSI, "\n") || !before.At.IsZero() || time.Since(after.At) > time.Minute {
		t.Errorf("before\n%q\nafter, of %v\n%q", before.ANSI, after.At, after.ANSI)
	}
	r := c.Run("screen", string(s.ID))
	if r.Code != 0 || !strings.HasPrefix(r.Stdout, "kept red\n>") || r.Stderr != "" {
		t.Errorf("printed %q, %q, %d", r.Stdout, r.Stderr, r.Code)
	}
	d := c.Dashboard(100, 30)
	d.WaitFor("kept red", "as of "+after.At.Local().Format(time.TimeOnly), "R restarts")
	f := d.Frame()
	for y := range f.Rows {
		row := f.Row(y)
		for x := range len(row) - 4 {
			if row[x].Text+row[x+1].Text+row[x+2].Text+row[x+3].Text == "kept" && row[x].Style.Attr&vt.Faint == 0 {
				t.Errorf("row %d is not dimmed", y)
			}
		}
	}
}
