package sessions_test

import (
	"errors"
	"testing"

	"corral/sessions"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	list := []sessions.Session{
		{ID: "0b7c0000-0000-4000-8000-000000000001", Title: "api", State: sessions.Detached},
		{ID: "0b7c0000-0000-4000-8000-000000000002", Title: "web", State: sessions.Failed},
		{ID: "1aaa0000-0000-4000-8000-000000000003", Title: "web"},
		{ID: "2bbb0000-0000-4000-8000-000000000004", Title: "1aaa"},
		{ID: "3ccc0000-0000-4000-8000-000000000005", Title: "2bbb0000-0000-4000-8000-000000000004"},
	}
	tests := []struct {
		text string
		want int // index in list; -1 for an error
		code sessions.Code
	}{
		{text: "0b7c0000-0000-4000-8000-000000000001", want: 0},
		{text: "1aaa0", want: 2},
		{text: "1AAA0", want: 2},
		{text: "api", want: 0},
		{text: "1aaa", want: 2}, // an id comes before a title
		{text: "2bbb0000-0000-4000-8000-000000000004", want: 3},
		{text: "0b7c", want: -1, code: sessions.CodeInvalid},
		{text: "web", want: -1, code: sessions.CodeInvalid},
		{text: "ap", want: -1, code: sessions.CodeNotFound}, // titles are given whole
		{text: "", want: -1, code: sessions.CodeInvalid},
		{text: "\x1b[2J", want: -1, code: sessions.CodeNotFound},
	}
	for _, test := range tests {
		got, err := sessions.Resolve(list, test.text)
		if test.want >= 0 {
			if err != nil || got.ID != list[test.want].ID {
				t.Errorf("%q: %s, %v", test.text, got.ID, err)
			}
			continue
		}
		if sessions.CodeOf(err) != test.code {
			t.Errorf("%q: %v", test.text, err)
		}
	}
	_, err := sessions.Resolve(list, "0b7c")
	var e *sessions.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	candidates, _ := e.Details["candidates"].([]map[string]any)
	if len(candidates) != 2 || candidates[0]["title"] != "api" || candidates[1]["state"] != sessions.Failed {
		t.Errorf("candidates %v", candidates)
	}
}
