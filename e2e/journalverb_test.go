package e2e

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"corral/e2e/harness"
	"corral/sessions"
)

// TestRecorderIsRead follows a session, makes a recording of it, and reads what was kept of it after its removal.
func TestRecorderIsRead(t *testing.T) {
	t.Parallel()
	c := harness.New(t)
	s := c.Create("--title", "read", "--", "sh", "-c", `printf 'first\n'; read x; echo "got $x"; exit 3`)
	cmd := c.Cmd(t.Context(), "journal", string(s.ID), "--follow", "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last, sent := int64(0), false
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r sessions.JournalRecord
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.Sequence != last+1 {
			t.Fatalf("after %d: %s: %v", last, lines.Text(), err)
		}
		last = r.Sequence
		if !sent && strings.Contains(r.Payload, "first") {
			c.OK("send", string(s.ID), "hello", "--enter")
			sent = true
		}
		if r.Kind == "exit" {
			if r.Code == nil || *r.Code != 3 {
				t.Errorf("ends with %+v", r)
			}
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()

	cast := strings.Split(strings.TrimSpace(c.OK("journal", "--asciicast", string(s.ID))), "\n")
	var header struct{ Version, Width, Height int }
	if err := json.Unmarshal([]byte(cast[0]), &header); err != nil || header.Version != 2 || header.Width < 1 || header.Height < 1 {
		t.Errorf("header %s: %v", cast[0], err)
	}
	played, before := "", 0.0
	for _, line := range cast[1:] {
		var event []any
		if err := json.Unmarshal([]byte(line), &event); err != nil || len(event) != 3 {
			t.Fatalf("event %s: %v", line, err)
		}
		at, _ := event[0].(float64)
		if at < before {
			t.Errorf("time goes back: %s", line)
		}
		before = at
		if event[1] == "o" {
			data, _ := event[2].(string)
			played += data
		}
	}
	if want := "first\r\nhello\r\ngot hello\r\n"; played != want {
		t.Errorf("a player would show %q", played)
	}

	all := records(c, s.ID)
	c.OK("rm", "--keep-journal", string(s.ID))
	if kept := records(c, s.ID); len(kept) < len(all) || kept[0].Sequence != all[0].Sequence {
		t.Errorf("%d records of %d were kept", len(kept), len(all))
	}
	if text := c.OK("journal", "--text", string(s.ID)); text != "first\nhello\ngot hello\n" {
		t.Errorf("text %q", text)
	}
	if r := c.Run("journal", "01234567-89ab-4def-8123-456789abcdef"); r.Code != 3 {
		t.Errorf("the journal of nobody: %+v", r)
	}
}
