package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
	"corral/sessions"
)

// countingScript prints rising numbers, some thousand a second, without starting a process.
const countingScript = `exec 3<> <(:); i=0; while :; do echo $((++i)); ((i%50)) || read -t 0.01 -u 3; done`

// worker returns the process that writes the journals, the recorder's only child but for compressing ones; 0 for none.
func worker(recorder int) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", recorder))
	for _, path := range lists {
		b, _ := os.ReadFile(path)
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				return pid
			}
		}
	}
	return 0
}

// TestRecorderSurvivesEveryKill kills runtime, recorder, its worker and tmux at random moments of output and typing.
func TestRecorderSurvivesEveryKill(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	count := c.Create("--title", "count", "--kind", "command", "--", "bash", "-c", countingScript)
	cat := c.Create("--title", "cat", "--kind", "command", "--", "cat")
	sent := map[string]bool{} // what was typed: whether that was confirmed
	victims := []string{"worker", "runtime", "recorder", "tmux"}
	for i := range rounds.N(4, 12, 100) {
		text := fmt.Sprintf("typed-%d-", i)
		sent[text] = c.Run("send", string(cat.ID), text, "--enter").Code == 0
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
		victim := victims[i%len(victims)]
		if rounds.Now() == rounds.Full {
			victim = victims[rand.IntN(len(victims))]
		}
		switch victim {
		case "worker":
			if pid := worker(c.PID("recorder")); pid != 0 {
				c.KillPID(pid)
			}
		case "tmux":
			c.Kill(victim)
			for _, id := range []sessions.ID{count.ID, cat.ID} {
				c.WaitState(id, harness.Soon, sessions.Recoverable)
				c.OK("restart", string(id))
			}
		default:
			c.Kill(victim)
		}
	}
	c.PID("runtime")
	c.PID("recorder")
	before := len(records(c, count.ID))
	c.Eventually(harness.Soon, func() error { // it goes on
		if now := len(records(c, count.ID)); now <= before {
			return fmt.Errorf("%d records", now)
		}
		return nil
	})
	c.OK("stop", string(count.ID))
	c.WaitState(count.ID, harness.Soon, sessions.Stopped)
	checkCount(t, records(c, count.ID))
	checkTyped(t, records(c, cat.ID), sent)
}

// checkCount checks that numbers rise by one wherever nothing says that something is missing.
func checkCount(t *testing.T, list []sessions.JournalRecord) {
	t.Helper()
	piece, whole, gaps, lines := "", false, 0, 0
	end := func() {
		rows := strings.Split(piece, "\n")
		rows = rows[:len(rows)-1] // without an end
		if !whole && len(rows) > 0 {
			rows = rows[1:] // without a beginning
		}
		for i, row := range rows {
			n, err := strconv.Atoi(strings.TrimSuffix(row, "\r"))
			if err != nil {
				t.Errorf("a line %.40q", row)
				continue
			}
			lines++
			first := 1
			if i > 0 {
				first, _ = strconv.Atoi(strings.TrimSuffix(rows[i-1], "\r"))
				first++
			} else if !whole {
				first = n
			}
			if n != first {
				t.Errorf("%d instead of %d", n, first)
			}
		}
		piece = ""
	}
	for _, r := range list {
		switch r.Kind {
		case "output":
			p, err := r.Data()
			if err != nil {
				t.Error(err)
			}
			piece += string(p)
		case "gap", "start":
			end()
			whole = r.Kind == "start"
			if r.Kind == "gap" {
				gaps++
			}
		}
	}
	end()
	t.Logf("%d lines, %d gaps", lines, gaps)
}

// checkTyped checks that what was typed is recorded once, unless a gap swallowed it.
func checkTyped(t *testing.T, list []sessions.JournalRecord, sent map[string]bool) {
	t.Helper()
	times, gaps := map[string]int{}, 0
	for _, r := range list {
		if r.Kind == "gap" {
			gaps++
		}
		if r.Kind == "input" {
			times[strings.TrimSuffix(r.Payload, "\r")]++
		}
	}
	missing := 0
	for text, confirmed := range sent {
		if times[text] > 1 {
			t.Errorf("%s is there %d times", text, times[text])
		}
		if confirmed && times[text] == 0 {
			missing++
		}
	}
	if missing > gaps {
		t.Errorf("%d inputs are missing with %d gaps", missing, gaps)
	}
}

// TestRecorderFullDisk fills the journals' disk while a program prints: it is never held up, a warning shows, and
// recording goes on by itself once there is room, after a gap.
func TestRecorderFullDisk(t *testing.T) {
	t.Parallel()
	c := harness.Empty(t)
	dir := filepath.Join(c.Data, "journal")
	makeDir(t, c.Data, 0o700)
	makeDir(t, dir, 0o700)
	c.InNamespace("mount -t tmpfs -o size=8m,mode=700 none " + dir)
	c.WriteConfig("[journal]\nmin_free = \"0%\"\n")
	s := c.Create("--title", "loud", "--kind", "command", "--", "bash", "-c", countingScript)
	filler := filepath.Join("/proc", strconv.Itoa(c.PID("recorder")), "root", dir, "filler")
	c.Eventually(harness.Soon, func() error { return os.WriteFile(filler, nil, 0o600) })
	if err := fill(filler); err != nil {
		t.Fatal(err)
	}
	c.Eventually(harness.Soon, func() error {
		if w := c.Status().Journal.Warning; !strings.Contains(w, "full") {
			return fmt.Errorf("warning %q", w)
		}
		return nil
	})
	d := c.Dashboard(100, 30)
	d.WaitFor("sessions are not recorded: the disk is full")
	was := c.OK("screen", string(s.ID))
	c.Eventually(harness.Soon, func() error { // it prints on
		if now := c.OK("screen", string(s.ID)); now == was {
			return fmt.Errorf("the screen stays:\n%s", now)
		}
		return nil
	})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	d.WaitGone("not recorded")
	c.Eventually(harness.Soon, func() error {
		list := records(c, s.ID)
		for i, r := range list {
			if r.Kind == "gap" && strings.Contains(r.Why, "full") && r.Bytes > 0 && i+1 < len(list) {
				return nil
			}
		}
		return fmt.Errorf("no gap in %d records", len(list))
	})
	checkCount(t, records(c, s.ID))
}

// fill writes until the disk is full.
func fill(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for n := 64 << 10; n > 0; {
		if _, err := f.Write(make([]byte, n)); err != nil {
			n /= 2
		}
	}
	return nil
}

// TestRecorderCostsLittle runs the same program in Corral and in plain tmux, in turns.
func TestRecorderCostsLittle(t *testing.T) {
	t.Parallel()
	const limit, lines = 1.3, 5_000_000
	pairs := rounds.N(0, 1, 5)
	if pairs == 0 {
		return // it takes a minute
	}
	c := harness.New(t)
	socket := filepath.Join(c.Dir, "plain")
	// With as much history as Corral keeps: it is tmux's work, not the recorder's.
	conf := filepath.Join(c.Dir, "plain.conf")
	if err := os.WriteFile(conf, []byte("set -g history-limit 22300\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := func(out string) string {
		return fmt.Sprintf(`a=$(date +%%s%%N); seq 1 %d; b=$(date +%%s%%N); echo $((b-a)) >%s.new; mv %s.new %s`, lines, out, out, out)
	}
	took := func(out string) float64 {
		var ns float64
		c.Eventually(3*time.Minute, func() error {
			b, err := os.ReadFile(out)
			if err == nil {
				ns, err = strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
			}
			return err
		})
		return ns
	}
	ours, plain := make([]float64, pairs), make([]float64, pairs)
	for i := range pairs {
		out := filepath.Join(c.Dir, fmt.Sprint("ours", i))
		s := c.Create("--kind", "command", "--", "sh", "-c", script(out))
		ours[i] = took(out)
		c.WaitState(s.ID, harness.Soon, sessions.Stopped)
		out = filepath.Join(c.Dir, fmt.Sprint("plain", i))
		if o, err := c.PlainTmux(socket, "-f", conf, "new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", script(out)); err != nil {
			t.Fatalf("%v: %s", err, o)
		}
		plain[i] = took(out)
	}
	a, b := median(ours), median(plain)
	t.Logf("corral %.2f s, tmux %.2f s, ratio %.2f", a/1e9, b/1e9, a/b)
	if rounds.Timing() && a > limit*b {
		t.Errorf("%.2f times the time of plain tmux, more than %.1f", a/b, limit)
	}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
