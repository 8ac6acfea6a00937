package repocheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"corral/e2e/proof"
)

// testFunc begins a test in a source file.
var testFunc = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(t \*testing\.T\)`)

// existing returns the names of all tests of the repository.
func existing(t *testing.T) map[string]bool {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestPersistenceIsProven: each row of the table names a test that exists, or says that it is not verified yet. That
// the tests ran and passed is for scripts/test to see.
func TestPersistenceIsProven(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "persistence.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests, rows := existing(t), 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| what happens") {
			continue
		}
		rows++
		if len(cells) != 5 {
			t.Errorf("%d cells, want 5: %s", len(cells), line)
			continue
		}
		proofs := cells[4]
		if len(proof.Named(proofs)) == 0 && !strings.Contains(proofs, "not verified yet") {
			t.Errorf("neither a test nor \"not verified yet\": %s", line)
		}
	}
	if rows < 10 {
		t.Errorf("only %d rows", rows)
	}
	for _, name := range proof.Named(string(text)) {
		if !tests[name] {
			t.Errorf("%s is named and does not exist", name)
		}
	}
}
