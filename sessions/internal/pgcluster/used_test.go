package pgcluster

import (
	"testing"

	"corral/sessions/internal/store"
)

// A cluster that another server uses is not stopped under it; a person's psql does not keep it.
func TestStoppedOnlyWhenNobodyUsesIt(t *testing.T) {
	t.Parallel()
	cfg := madeHome(t)
	url := ensure(t, cfg)
	server, err := store.Connect(t.Context(), url) // names itself corral
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := server.Exec(t.Context(), `SELECT 1`); err != nil {
		t.Fatal(err)
	}
	if err := New(cfg).Stop(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Exec(t.Context(), `SELECT 1`); err != nil {
		t.Errorf("the other server: %v", err)
	}
	server.Close()
	person, err := store.Connect(t.Context(), url+"&application_name=psql")
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	if _, err := person.Exec(t.Context(), `SELECT 1`); err != nil {
		t.Fatal(err)
	}
	if err := New(cfg).Stop(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if pm, err := New(cfg).running(); pm != nil || err != nil {
		t.Errorf("it runs on: %+v, %v", pm, err)
	}
}
