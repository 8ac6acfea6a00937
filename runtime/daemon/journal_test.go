package daemon

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"corral/e2e/rounds"
	"corral/runtime/internal/journal"
	"corral/runtime/rtapi"
)

func (b *bed) records(t *testing.T, id string, kinds ...journal.Kind) []journal.Record {
	t.Helper()
	var list []journal.Record
	last := int64(0)
	_, err := journal.Read(filepath.Join(b.data(), "journal", id), journal.Query{}, func(r *journal.Record) error {
		if r.Sequence <= last {
			t.Errorf("sequence %d after %d", r.Sequence, last)
		}
		last = r.Sequence
		for _, k := range kinds {
			if k == r.Kind {
				list = append(list, *r)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (b *bed) awaitRecord(t *testing.T, id string, kind journal.Kind, ok func(journal.Record) bool) journal.Record {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, r := range b.records(t, id, kind) {
			if ok(r) {
				return r
			}
		}
	}
	t.Fatalf("no such %s in %.3000s", kind, fmt.Sprintf("%+v", b.records(t, id, journal.Kinds()...)))
	return journal.Record{}
}

func TestTheJournalTellsTheWholeStory(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "story", `printf 'name? '; read x; echo "hello $x"; exit 3`)
	b.awaitScreen(t, "story", "name?")
	if err := b.Input(deadline(t), "story", rtapi.InputRequest{Text: "jürgen", Enter: true}); err != nil {
		t.Fatal(err)
	}
	exit := b.awaitRecord(t, "story", journal.Exit, func(journal.Record) bool { return true })
	if exit.Code == nil || *exit.Code != 3 {
		t.Errorf("exit %+v", exit)
	}
	start := b.records(t, "story", journal.Start)
	if len(start) != 1 || start[0].Sequence != 1 || start[0].Argv[0] != "sh" {
		t.Errorf("start %+v", start)
	}
	shot := b.awaitRecord(t, "story", journal.Snapshot, func(r journal.Record) bool { return strings.Contains(r.ANSI, "hello jürgen") })
	if shot.Cols != 80 || shot.Rows != 24 || shot.Cursor == nil {
		t.Errorf("snapshot %+v", shot)
	}
	input := b.records(t, "story", journal.Input)
	if len(input) != 1 || input[0].Payload != "jürgen\r" {
		t.Errorf("input %+v", input)
	}
	var text string
	for _, r := range b.records(t, "story", journal.Output) {
		if strings.Contains(r.Payload, "rgen") && r.Sequence < input[0].Sequence {
			t.Error("the echo is before the input")
		}
		text += r.Payload
	}
	if want := "name? jürgen\r\nhello jürgen\r\n"; text != want {
		t.Errorf("output %q", text)
	}
	// The next runtime tells of the same end, which is recorded once.
	b.stop()
	b.serve(t)
	b.await(t, "the end", func(inv rtapi.Inventory) bool { return find(inv, "story").Dead })
	req := b.request("story", "echo again")
	req.Meta.Run = 2
	if _, err := b.Respawn(deadline(t), req); err != nil {
		t.Fatal(err)
	}
	b.awaitRecord(t, "story", journal.Exit, func(r journal.Record) bool { return r.Sequence > exit.Sequence && *r.Code == 0 })
	if n := len(b.records(t, "story", journal.Exit)); n != 2 {
		t.Errorf("%d exits", n)
	}
}

func TestPasswordsAreLengths(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	secret := "hunter2" + fmt.Sprint(time.Now().UnixNano())
	b.create(t, "pw", `stty -echo; printf 'Password: '; read x; stty echo; echo; printf 'plain: '; read y; echo done; sleep 60`)
	b.awaitScreen(t, "pw", "Password:")
	if err := b.Input(deadline(t), "pw", rtapi.InputRequest{Text: secret, Enter: true}); err != nil {
		t.Fatal(err)
	}
	b.awaitScreen(t, "pw", "plain:")
	if out, err := exec.Command("grep", "-rl", secret, b.data()).CombinedOutput(); err == nil {
		t.Errorf("the password is in %s", out)
	}
	if err := b.Input(deadline(t), "pw", rtapi.InputRequest{Text: "not secret", Enter: true}); err != nil {
		t.Fatal(err)
	}
	b.awaitScreen(t, "pw", "done")
	b.awaitRecord(t, "pw", journal.Input, func(r journal.Record) bool { return !r.Redacted })
	in := b.records(t, "pw", journal.Input)
	if len(in) != 2 || !in[0].Redacted || in[0].Bytes != int64(len(secret)+1) || in[0].Payload != "" || in[1].Payload != "not secret\r" {
		t.Errorf("got %+v", in)
	}
	req := b.request("quiet", "cat")
	req.NoInputJournal = true
	if _, err := b.Create(deadline(t), req); err != nil {
		t.Fatal(err)
	}
	if err := b.Input(deadline(t), "quiet", rtapi.InputRequest{Text: "unseen", Enter: true}); err != nil {
		t.Fatal(err)
	}
	b.awaitRecord(t, "quiet", journal.Output, func(r journal.Record) bool { return strings.Contains(r.Payload, "unseen") })
	if in := b.records(t, "quiet", journal.Input); len(in) != 0 {
		t.Errorf("got %+v", in)
	}
}

func TestWhatAKilledRecorderMissedIsAGap(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, "gap", "while :; do echo tick; sleep 0.02; done")
	b.awaitRecord(t, "gap", journal.Output, func(journal.Record) bool { return true })
	old := b.awaitRecorder(t, 0)
	p, err := os.FindProcess(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	gap := b.awaitRecord(t, "gap", journal.Gap, func(journal.Record) bool { return true })
	b.awaitRecord(t, "gap", journal.Output, func(r journal.Record) bool { return r.Sequence > gap.Sequence })
}

func TestALoudProgramIsWhole(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	n := rounds.N(100_000, 500_000, 500_000) // end to end there are more
	b.create(t, "seq", fmt.Sprintf("seq 1 %d", n))
	for range 3 {
		time.Sleep(100 * time.Millisecond)
		b.stop()
		b.serve(t)
		b.awaitRecorder(t, 0)
	}
	b.awaitRecord(t, "seq", journal.Output, func(r journal.Record) bool { return strings.HasSuffix(r.Payload, fmt.Sprintf("\n%d\r\n", n)) })
	var got, want bytes.Buffer
	for _, r := range b.records(t, "seq", journal.Output, journal.Gap) {
		got.WriteString(r.Payload)
	}
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&want, "%d\r\n", i)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes of %d", got.Len(), want.Len())
	}
}
