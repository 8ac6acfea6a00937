package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// pours is a program that prints the piece $1 $2 times, in it one line to be found at nine tenths, and its own end.
const pours = `i=0; at=$(($2 * 9 / 10))
while [ $i -lt $2 ]; do
	[ $i = $at ] && echo "there is just one such line"
	cat "$1"; i=$((i+1))
done
echo "the end of the log"`

// ticks is a program that prints $1 lines a second for $2 seconds, in bursts of a tenth of a second, and then waits.
const ticks = `for t in $(seq $(($2 * 10))); do
	seq -f "line %.0f of $t" $(($1 / 10)); sleep 0.09
done; echo "the end of the ticks"; sleep 1000`

// TestLogFigures measures the log viewer where its user sits: in the dashboard, on the log of a task, through server and
// runtime, against less and grep on the same file. The limits are those of the promises, asserted at the full level only.
func TestLogFigures(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	const pieceSize = 8 << 20
	piece := filepath.Join(c.Dir, "piece")
	var text strings.Builder
	for i := 0; text.Len() < pieceSize; i++ {
		fmt.Fprintf(&text, "\x1b[2m2026-11-30 12:00:%02d\x1b[m \x1b[32mINFO\x1b[m request %d of the service was answered in %d ms\n", i%60, i, i%977)
	}
	if err := os.WriteFile(piece, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	big := runTask(c, "--title", "big", "--", "sh", "-c", pours, "sh", piece, fmt.Sprint(rounds.N(1, 8, 128)))
	c.Eventually(5*time.Minute, func() error {
		if now := task(c, big.ID); now.State != sessions.TaskSucceeded {
			return fmt.Errorf("it is %s", now.State)
		}
		return nil
	})
	small := runTask(c, "--title", "small", "--", "true")
	c.OK("task", "wait", string(small.ID))
	log := filepath.Join(c.Data, "tasks", string(big.ID), "log")

	d := c.Dashboard(200, 50)
	d.WaitFor("small", "big", "nothing printed yet")
	timed := func(what string, do func()) time.Duration {
		begun := time.Now()
		do()
		took := time.Since(begun)
		t.Logf("%-60s %v", what, took.Round(10*time.Microsecond))
		return took
	}
	grep := func() {
		if out, err := exec.Command("grep", "-cF", "there is just one such line", log).Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
			t.Fatalf("grep (Debian: grep): %q, %v", out, err)
		}
	}
	grep() // the page cache is warm from here on
	grepped := timed("grep -cF", grep)
	less := timed("less -R +G, its start included", func() {
		l := harness.Open(t, exec.Command("less", "-R", "+G", log), 200, 50) // Debian: less
		l.WaitFor("the end of the log")
		l.Type("q")
	})
	before := pss(t, []int{d.PID()})
	opened := timed("open at the end", func() {
		d.Type("j")
		d.WaitFor("the end of the log")
	})
	d.Type("l")
	d.WaitFor("q back")
	st := c.Status()
	roles := map[string][]int{"dashboard": {d.PID()}, "server": {st.Server.PID}, "runtime": {st.Runtime.PID}}
	used := map[string]time.Duration{}
	for role, pids := range roles {
		used[role] = cpu(t, pids)
	}
	found := timed("search from the end to a hit at 90 %, counted", func() {
		d.Type("/there is just one such line\r")
		d.WaitFor("1 of 1", "there is just one such line")
	})
	for role, pids := range roles {
		t.Logf("%-60s %v", "of it CPU of the "+role, (cpu(t, pids) - used[role]).Round(time.Millisecond))
	}
	d.Type("/\x15\rG")
	d.WaitFor("the end of the log")
	narrowed := timed("filter, the one line shown and all counted", func() {
		d.Type("&one such line\r")
		d.WaitGone("the end of the log")
		d.WaitFor("there is just one such line", "1 line")
	})
	d.Type("&\r")
	d.WaitFor("the end of the log")
	grown := pss(t, []int{d.PID()}) - before
	t.Logf("%-60s %.1f MiB", "memory of the dashboard, grown by", grown)
	if rounds.Now() == rounds.Quick {
		return
	}
	d.Type("q")
	lag, keys := follow(t, c, d)
	if !rounds.Timing() {
		return
	}
	for what, v := range map[string]struct{ took, limit time.Duration }{
		"opening":                    {opened, max(50*time.Millisecond, 2*less)},
		"searching":                  {found, 2 * grepped},
		"filtering":                  {narrowed, 2 * grepped},
		"following":                  {lag, 100 * time.Millisecond},
		"a key while it is followed": {keys, 50 * time.Millisecond},
	} {
		if v.took > v.limit {
			t.Errorf("%s took %v, at most %v was promised", what, v.took, v.limit)
		}
	}
	if grown > 32 {
		t.Errorf("the dashboard grew by %.1f MiB", grown)
	}
}

// follow measures a log that grows by 10 000 lines a second: how far behind the screen is at the end, and how long a key
// takes meanwhile (the median).
func follow(t *testing.T, c *harness.Corral, d *harness.Term) (lag, key time.Duration) {
	t.Helper()
	seconds := rounds.N(1, 2, 10)
	task := runTask(c, "--title", "ticks", "--", "sh", "-c", ticks, "sh", "10000", fmt.Sprint(seconds))
	d.WaitFor("ticks")
	d.Type("g")
	d.WaitFor("ticks", "following", " of 1")
	d.Type("l")
	d.WaitFor("q back")
	var took []time.Duration
	for range rounds.N(3, 10, 40) {
		begun := time.Now()
		d.Type("w")
		d.WaitFor("wrapped")
		took = append(took, time.Since(begun))
		d.Type("w")
		d.WaitGone("wrapped")
	}
	slices.Sort(took)
	key = took[len(took)/2]
	log := filepath.Join(c.Data, "tasks", string(task.ID), "log")
	c.Eventually(5*time.Minute, func() error {
		if b, err := os.ReadFile(log); err != nil || !strings.HasSuffix(string(b), "the end of the ticks\n") {
			return fmt.Errorf("it still prints (%v)", err)
		}
		return nil
	})
	begun := time.Now()
	d.WaitFor("the end of the ticks")
	lag = time.Since(begun)
	t.Logf("%-60s %v", "following 10 000 lines a second, behind at the end", lag.Round(10*time.Microsecond))
	t.Logf("%-60s %v", "a key to its frame meanwhile, median", key.Round(10*time.Microsecond))
	d.Type("q")
	c.OK("task", "cancel", string(task.ID))
	return lag, key
}
