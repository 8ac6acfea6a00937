package recorder

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"corral/e2e/rounds"
	"corral/runtime/internal/journal"
)

// recording is a recorder with one session's pipe.
type recording struct {
	socket string
	pane   *os.File
	stop   func()
}

func newRecording(t testing.TB) *recording {
	t.Helper()
	r := &recording{socket: filepath.Join(shortDir(t), "s")}
	r.stop = start(t, r.socket)
	r.pane = r.hand(t, "cr-x")
	return r
}

func (r *recording) hand(t testing.TB, name string) *os.File {
	t.Helper()
	pane, command := pipeOf(t)
	if err := handoff(deadline(t), r.socket, name, command); err != nil {
		t.Fatal(err)
	}
	_ = command.Close()
	return pane
}

func (r *recording) print(t testing.TB, p []byte) {
	t.Helper()
	if _, err := r.pane.Write(p); err != nil {
		t.Error(err)
	}
}

func (r *recording) records(t testing.TB, id string) []journal.Record {
	t.Helper()
	var list []journal.Record
	_, err := journal.Read(filepath.Join(journals(r.socket), id), journal.Query{}, func(rec *journal.Record) error {
		list = append(list, *rec)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(list); i++ {
		if list[i].Sequence != list[i-1].Sequence+1 || list[i].Time.Before(list[i-1].Time) {
			t.Fatalf("record %d follows %d", list[i].Sequence, list[i-1].Sequence)
		}
	}
	return list
}

func (r *recording) output(t testing.TB, id string) []byte {
	t.Helper()
	var all []byte
	for _, rec := range r.records(t, id) {
		if rec.Kind != journal.Output {
			continue
		}
		p, err := rec.Data()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p...)
	}
	return all
}

// workers lists the workers of this recorder.
func (r *recording) worker(t testing.TB) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		b, _ := os.ReadFile(path)
		for _, f := range strings.Fields(string(b)) {
			env, _ := os.ReadFile("/proc/" + f + "/environ")
			if bytes.Contains(env, []byte("JOURNALS="+journals(r.socket)+"\x00")) {
				pid, _ := strconv.Atoi(f)
				return pid
			}
		}
	}
	return 0
}

func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not seen", what)
		}
	}
}

func TestEveryByteIsJournaled(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	want := make([]byte, 3<<20)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range want {
		want[i] = byte(rng.IntN(256))
	}
	copy(want, "grün \x1b[1mfett\x1b[m\x00")
	r.print(t, want)
	for i := range 2000 { // small writes
		p := []byte(fmt.Sprintf("%d\r\n", i))
		r.print(t, p)
		want = append(want, p...)
	}
	_ = r.pane.Close()
	await(t, "the end", func() bool { return len(heldBy(t, r.socket)) == 0 })
	r.stop()
	if got := r.output(t, "x"); !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d", len(got), len(want))
	}
}

// Every death of the worker is at another moment of looking, appending and taking.
func TestAKilledWorkerLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	var want []byte
	for i := range 200_000 {
		want = fmt.Appendf(want, "%d\r\n", i)
	}
	var printing sync.WaitGroup
	printing.Go(func() {
		for p := want; len(p) > 0; {
			n := min(len(p), 1+rand.IntN(5000))
			r.print(t, p[:n])
			p = p[n:]
			time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
		}
	})
	for range rounds.N(4, 10, 100) {
		await(t, "a worker", func() bool { return r.worker(t) != 0 })
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
		if pid := r.worker(t); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	printing.Wait()
	_ = r.pane.Close()
	await(t, "the end", func() bool { return len(heldBy(t, r.socket)) == 0 })
	r.stop()
	if got := r.output(t, "x"); !bytes.Equal(got, want) {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Errorf("%d bytes of %d, different from %d on", len(got), len(want), at)
	}
}

// client connects a runtime's side.
func (r *recording) client(t testing.TB) *Client {
	t.Helper()
	c := &Client{Socket: r.socket, Snapshot: func(string) {}, Log: slog.New(slog.DiscardHandler)}
	r.run(t, c)
	return c
}

func (r *recording) run(t testing.TB, c *Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	await(t, "the recorder", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.conn != nil
	})
}

func TestAnInputIsBeforeItsEcho(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	flood := r.hand(t, "cr-flood")
	c := r.client(t)
	var flooding sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	flooding.Go(func() {
		for ctx.Err() == nil {
			if _, err := flood.Write(bytes.Repeat([]byte("flood\r\n"), 1000)); err != nil {
				return
			}
		}
	})
	count := rounds.N(2000, 10_000, 10_000)
	for i := range count {
		key := []byte(strconv.Itoa(i) + " ")
		c.Input("x", key, false)
		r.print(t, key) // the echo
		if i == count/2 {
			if pid := r.worker(t); pid != 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	cancel()
	flooding.Wait()
	if n, err := c.Sequence(deadline(t), "x"); err != nil || n < int64(count) {
		t.Errorf("sequence %d, %v", n, err)
	}
	r.stop()
	var typed, echoed []byte
	for _, rec := range r.records(t, "x") {
		p, _ := rec.Data()
		switch rec.Kind {
		case journal.Input:
			typed = append(typed, p...)
		case journal.Output:
			echoed = append(echoed, p...)
			if len(echoed) > len(typed) || !bytes.Equal(echoed, typed[:len(echoed)]) {
				t.Fatalf("record %d shows the echo of what was not typed", rec.Sequence)
			}
		}
	}
	if len(echoed) != len(typed) {
		t.Errorf("%d bytes typed, %d echoed", len(typed), len(echoed))
	}
}

func TestASnapshotIsAskedForAfterQuiet(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	asked := make(chan string, 10)
	c := &Client{Socket: r.socket, Snapshot: func(id string) { asked <- id }, Log: slog.New(slog.DiscardHandler)}
	r.run(t, c)
	began := time.Now()
	for range 10 { // not quiet
		r.print(t, []byte("x"))
		time.Sleep(150 * time.Millisecond)
	}
	select {
	case id := <-asked:
		if id != "x" || time.Since(began) < 1500*time.Millisecond {
			t.Errorf("asked for %q after %v", id, time.Since(began))
		}
	case <-time.After(patience):
		t.Fatal("not asked")
	}
	select {
	case id := <-asked:
		t.Errorf("asked for %q while nothing is printed", id)
	case <-time.After(1500 * time.Millisecond):
	}
}

func TestAPasswordIsALength(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	c := r.client(t)
	c.Input("x", []byte("geheim"), true)
	c.Input("x", bytes.Repeat([]byte("ä"), 20_000), false) // in pieces, none of which breaks a character
	if err := c.Remove(deadline(t), "other"); err != nil {
		t.Error(err)
	}
	r.stop()
	list := r.records(t, "x")
	if len(list) < 3 || !list[0].Redacted || list[0].Bytes != 6 || list[0].Payload != "" {
		t.Fatalf("got %+v", list)
	}
	for _, rec := range list[1:] {
		if rec.Encoding != "" {
			t.Errorf("record %d is broken text", rec.Sequence)
		}
	}
}

func TestAJournalIsRemoved(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	c := r.client(t)
	r.print(t, []byte("hello"))
	dir := filepath.Join(journals(r.socket), "x")
	await(t, "the journal", func() bool { _, err := os.Stat(dir); return err == nil })
	if err := c.Remove(deadline(t), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
}

// A program can be over before tmux's pipe command has handed over what it printed.
func TestAnExitWaitsForItsOutput(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	c := r.client(t)
	zero := 0
	exit := journal.Record{Kind: journal.Exit, Details: journal.Details{Code: &zero}}
	c.Record("quick", journal.Record{Kind: journal.Start})
	c.Record("quick", exit)
	if n, err := c.Sequence(deadline(t), "quick"); err != nil || n != 1 {
		t.Errorf("sequence %d before the pipe is there, %v", n, err)
	}
	pane, command := pipeOf(t)
	if _, err := pane.WriteString("last words \xc3"); err != nil {
		t.Fatal(err)
	}
	if err := handoff(deadline(t), r.socket, "cr-quick", command); err != nil {
		t.Fatal(err)
	}
	// Of another one no output ever comes; the next start cannot wait.
	c.Record("none", exit)
	c.Record("none", journal.Record{Kind: journal.Start})
	kinds := func(id string) (list []journal.Kind) {
		for _, rec := range r.records(t, id) {
			list = append(list, rec.Kind)
		}
		return list
	}
	await(t, "the exit", func() bool { return len(kinds("quick")) == 3 && len(kinds("none")) == 2 })
	if got := kinds("quick"); !slices.Equal(got, []journal.Kind{journal.Start, journal.Output, journal.Exit}) {
		t.Errorf("got %v", got)
	}
	if got := kinds("none"); !slices.Equal(got, []journal.Kind{journal.Exit, journal.Start}) {
		t.Errorf("got %v", got)
	}
}
