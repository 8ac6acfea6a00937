package migrations

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestFilesLoad(t *testing.T) {
	t.Parallel()
	all, err := load(embedded)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d migrations, %v", len(all), err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"nothing", nil, "no migrations"},
		{"a gap", []string{"0001_a.sql", "0003_c.sql"}, "should be 0002"},
		{"a double", []string{"0001_a.sql", "0001_b.sql"}, "should be 0002"},
		{"no number", []string{"0001_a.sql", "extra.sql"}, "not of the form"},
		{"no beginning", []string{"0002_a.sql"}, "should be 0001"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{}
			for _, f := range c.files {
				fsys[f] = &fstest.MapFile{Data: []byte("SELECT 1")}
			}
			if _, err := load(fsys); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestHashFollowsTheFiles(t *testing.T) {
	t.Parallel()
	if h := Hash(); len(h) != 16 || h != Hash() {
		t.Errorf("hash %q", h)
	}
}
