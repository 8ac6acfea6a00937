package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"corral/e2e/harness"
	"corral/e2e/rounds"
)

// BenchmarkStart measures from the start of the binary to the first session's picture on the terminal: cold (no daemon,
// no database cluster yet: to the empty list), stopped (daemons down, cluster there) and warm (daemons running).
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		c := harness.Empty(b)
		began := time.Now()
		d := c.Dashboard(120, 40)
		d.WaitFor("No sessions yet")
		c.OK("new", "--title", "here", "--cwd", c.Home)
		b.ReportMetric(ms(began), "ms-cold-to-session")
		d.WaitFor("here", harness.Prompt)
		d.Type("q")
		d.Exit()

		began = time.Now()
		d = c.Dashboard(120, 40)
		d.WaitFor("here", harness.Prompt)
		b.ReportMetric(ms(began), "ms-warm")
		d.Type("q")
		d.Exit()

		c.OK("down")
		began = time.Now()
		d = c.Dashboard(120, 40)
		d.WaitFor("here", harness.Prompt)
		b.ReportMetric(ms(began), "ms-after-down")
		d.Type("q")
		d.Exit()
	}
}

func ms(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// BenchmarkIdle measures what 20 idle sessions with an open dashboard cost: CPU of each role in percent of a core, and
// its memory (PSS) in MiB.
func BenchmarkIdle(b *testing.B) {
	span := time.Duration(rounds.N(5, 60, 60)) * time.Second
	for b.Loop() {
		c := harness.New(b)
		for i := range 20 {
			c.Create("--title", fmt.Sprintf("idle%d", i), "--cwd", c.Home)
		}
		d := c.Dashboard(120, 40)
		d.WaitFor("idle0", harness.Prompt)
		time.Sleep(5 * time.Second) // until what the starts brought about is over, in every role
		st := c.Status()
		roles := map[string][]int{
			"dashboard": {d.PID()}, "server": {st.Server.PID}, "runtime": {st.Runtime.PID}, "recorder": {st.Recorder.PID},
			"tmux": {st.Tmux.PID}, "postgres": c.PostgresPIDs(),
		}
		before := map[string]time.Duration{}
		for role, pids := range roles {
			before[role] = cpu(b, pids)
		}
		received := d.Received()
		time.Sleep(span)
		for role, pids := range roles {
			used := cpu(b, pids) - before[role]
			b.ReportMetric(100*used.Seconds()/span.Seconds(), "%cpu-"+role)
			b.ReportMetric(pss(b, pids), "MiB-"+role)
		}
		b.ReportMetric(float64(d.Received()-received), "B-to-idle-terminal")
		d.Type("q")
		d.Exit()
	}
}

// cpu returns the user and system time of processes, from the scheduler's nanosecond clock where the kernel has it.
func cpu(t testing.TB, pids []int) time.Duration {
	t.Helper()
	var sum time.Duration
	for _, pid := range pids {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, task.Name()))
			if err != nil {
				continue
			}
			ns, err := strconv.ParseInt(strings.Fields(string(line))[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(ns)
		}
	}
	return sum
}

// pss returns the proportional set size of processes in MiB.
func pss(t testing.TB, pids []int) float64 {
	t.Helper()
	var kib float64
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range bytes.Split(b, []byte{'\n'}) {
			if f := strings.Fields(string(l)); len(f) > 1 && f[0] == "Pss:" {
				v, err := strconv.ParseFloat(f[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				kib += v
			}
		}
	}
	return kib / 1024
}
