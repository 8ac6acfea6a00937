package recorder

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"corral/e2e/rounds"
)

// chunk is what a program that prints short lines writes at once.
var chunk = bytes.Repeat([]byte("1234567\r\n"), 7200)

// BenchmarkWorker measures how fast a pane's output gets into its journal.
func BenchmarkWorker(b *testing.B) {
	r := newRecording(b)
	c := r.client(b)
	pid := r.worker(b)
	used, written := ticks(b, pid), 0
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		r.print(b, chunk)
		written += len(chunk)
	}
	if _, err := c.Sequence(deadline(b), "x"); err != nil { // all of it
		b.Fatal(err)
	}
	b.ReportMetric(float64(10*(ticks(b, pid)-used))/float64(written)*(1<<20), "ms-cpu/MiB")
}

// BenchmarkCat measures the same with the plainest recorder there is.
func BenchmarkCat(b *testing.B) {
	pane, command := pipeOf(b)
	f, err := os.Create(filepath.Join(b.TempDir(), "out"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	cat := exec.Command("cat")
	cat.Stdin, cat.Stdout = command, f
	if err := cat.Start(); err != nil {
		b.Fatal(err)
	}
	_ = command.Close()
	b.SetBytes(int64(len(chunk)))
	written := 0
	for b.Loop() {
		written += len(chunk)
		if _, err := pane.Write(chunk); err != nil {
			b.Fatal(err)
		}
	}
	_ = pane.Close()
	if err := cat.Wait(); err != nil {
		b.Fatal(err)
	}
	used := cat.ProcessState.UserTime() + cat.ProcessState.SystemTime()
	b.ReportMetric(ms(used)/float64(written)*(1<<20), "ms-cpu/MiB")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkIdle measures what quiet sessions cost the worker: memory of its own for each, and processor time.
func BenchmarkIdle(b *testing.B) {
	const sessions = 50
	span := time.Duration(rounds.N(2, 5, 30)) * time.Second
	for b.Loop() {
		r := newRecording(b)
		await(b, "a worker", func() bool { return r.worker(b) != 0 })
		pid := r.worker(b)
		before := private(b, pid)
		for i := range sessions {
			pane := r.hand(b, fmt.Sprint("cr-s", i))
			if _, err := pane.WriteString("$ "); err != nil {
				b.Fatal(err)
			}
		}
		last := filepath.Join(journals(r.socket), fmt.Sprint("s", sessions-1))
		await(b, "the last journal", func() bool { _, err := os.Stat(last); return err == nil })
		used := ticks(b, pid)
		time.Sleep(span)
		b.ReportMetric(float64(private(b, pid)), "KiB-worker")
		b.ReportMetric(float64(private(b, pid)-before)/sessions, "KiB/session")
		b.ReportMetric(float64(ticks(b, pid)-used)/span.Seconds(), "%cpu")
		r.stop()
	}
}

// private is the memory that a process alone uses, in KiB.
func private(tb testing.TB, pid int) int {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		tb.Fatal(err)
	}
	sum := 0
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "Private_") {
			n, _ := strconv.Atoi(f[1])
			sum += n
		}
	}
	return sum
}

// ticks is the processor time that a process has used, in hundredths of a second.
func ticks(tb testing.TB, pid int) int {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return user + system
}
