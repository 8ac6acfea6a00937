package backup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"corral/sessions"
	"corral/sessions/backup"
)

func whole(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w, err := backup.NewWriter(&b, backup.Header{Schema: 2, Node: "here", MadeAt: time.Unix(0, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{`{"name":"here"}`, `{"id":1,"title":"<a> \u2028"}`} {
		if err := w.Write(backup.Row{Table: "t", Row: json.RawMessage(row)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrittenAndRead(t *testing.T) {
	t.Parallel()
	r, err := backup.NewReader(strings.NewReader(whole(t)))
	if err != nil || r.Header.Schema != 2 || r.Header.Node != "here" {
		t.Fatalf("%+v, %v", r, err)
	}
	first, err := r.Next()
	if err != nil || first.Table != "t" || string(first.Row) != `{"name":"here"}` {
		t.Errorf("%s, %v", first.Row, err)
	}
	if _, err := r.Next(); err != nil {
		t.Error(err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
	if s, err := backup.Check(strings.NewReader(whole(t))); err != nil || s.Rows["t"] != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Whatever is wrong with a file is said in one sentence, and cutting or changing it anywhere is found.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	good := whole(t)
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "no backup"},
		"something":     {"PGDMP\x01\x02", "no backup"},
		"other JSON":    {"{}\n{}\n", "no backup"},
		"newer":         {strings.Replace(good, `"format":1`, `"format":2`, 1), "format 2"},
		"cut":           {good[:strings.LastIndex(good, `{"end"`)], "cut off"},
		"a row changed": {strings.Replace(good, `"id":1`, `"id":2`, 1), "damaged"},
		"a row gone":    {strings.Replace(good, `{"table":"t","row":{"name":"here"}}`+"\n", "", 1), "damaged"},
		"more after it": {good + good, "damaged"},
		"garbage":       {strings.Replace(good, `{"table"`, `{"tab`, 1), "damaged"},
		"long line":     {strings.Replace(good, "here", strings.Repeat("x", 5<<20), 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := backup.Check(strings.NewReader(c.text))
			var e *sessions.Error
			if !errors.As(err, &e) || e.Code != sessions.CodeInvalid || !strings.Contains(e.Message, c.want) || e.Hint == "" {
				t.Errorf("got %v", err)
			}
		})
	}
	for n := range len(good) - 1 { // without its last newline it is still whole
		if _, err := backup.Check(strings.NewReader(good[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes pass", n, len(good))
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"corral":"metadata backup","format":1}` + "\n" + `{"end":{}}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		_, _ = backup.Check(bytes.NewReader(text)) // it does not panic
	})
}
