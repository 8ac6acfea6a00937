package repocheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inTests is what no test may say.
var inTests = []struct { //nolint:gochecknoglobals // a table
	says    *regexp.Regexp
	because string
}{
	{regexp.MustCompile(`os\.WriteFile\(.*0o[1357]\d\d\)`), "a program that a test runs is written by e2e/program.Write, or its file may be busy"},
	{regexp.MustCompile(`\b[tb]\.(Skip|Skipf|SkipNow)\(`), "nothing skips: a missing tool fails the test and is named"},
}

func TestWhatTestsMayNotDo(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(filepath.Join("..", "..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "/e2e/harness/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			for _, c := range inTests {
				if c.says.MatchString(line) {
					t.Errorf("%s:%d: %s", path, n, c.because)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
