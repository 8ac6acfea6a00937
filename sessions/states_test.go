package sessions_test

import (
	"os"
	"regexp"
	"testing"

	"corral/migrations/pgtest"
	"corral/sessions"
)

// The state table exists three times: in Go, in the database, and as a picture for people.
func TestStateTableAgrees(t *testing.T) {
	t.Parallel()
	type edge struct{ from, to sessions.State }
	inGo := map[edge]bool{{"", sessions.Starting}: true, {"", sessions.Detached}: true}
	for _, from := range sessions.States() {
		for _, to := range sessions.States() {
			if from.CanFollow(to) {
				inGo[edge{from, to}] = true
			}
		}
	}

	inDatabase := map[edge]bool{}
	rows, err := pgtest.Pool(t).Query(t.Context(), `SELECT from_state, to_state FROM state_transitions`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var e edge
		if err := rows.Scan(&e.from, &e.to); err != nil {
			t.Fatal(err)
		}
		inDatabase[e] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}

	inPicture := map[edge]bool{}
	page, err := os.ReadFile("../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	arrow := regexp.MustCompile(`(?m)^    (\[\*\]|[A-Z_]+) --> ([A-Z_]+): \S`)
	for _, m := range arrow.FindAllStringSubmatch(string(page), -1) {
		from := sessions.State(m[1])
		if from == "[*]" {
			from = ""
		}
		e := edge{from, sessions.State(m[2])}
		if inPicture[e] {
			t.Errorf("the picture has %s --> %s twice", e.from, e.to)
		}
		inPicture[e] = true
	}

	all := append([]sessions.State{""}, sessions.States()...)
	for _, from := range all {
		for _, to := range all {
			e := edge{from, to}
			if inGo[e] != inDatabase[e] || inGo[e] != inPicture[e] {
				t.Errorf("%q to %q: Go says %v, the database %v, the picture %v", from, to, inGo[e], inDatabase[e], inPicture[e])
			}
			delete(inDatabase, e)
			delete(inPicture, e)
		}
	}
	for e := range inDatabase {
		t.Errorf("the database knows %q to %q, of which one is no state", e.from, e.to)
	}
	for e := range inPicture {
		t.Errorf("the picture knows %q to %q, of which one is no state", e.from, e.to)
	}
}
