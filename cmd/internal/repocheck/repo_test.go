package repocheck

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "corral"

// pkg is one package of ours, as `go list` knows it.
type pkg struct {
	ImportPath string
	Dir        string
	Standard   bool
	Imports    []string
	Deps       []string
	GoFiles    []string

	files []file
}

// file is one parsed source file without tests.
type file struct {
	name string // relative to the repository
	ast  *ast.File
	fset *token.FileSet
}

// repo is read once for all tests.
var repo = sync.OnceValues(readRepo) //nolint:gochecknoglobals // parsing it takes longer than checking it

func readRepo() ([]*pkg, error) {
	out, err := goList("-e", "-json=ImportPath,Dir,Imports,Deps,GoFiles", "./...")
	if err != nil {
		return nil, err
	}
	var all []*pkg
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			path := filepath.Join(p.Dir, name)
			parsed, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			p.files = append(p.files, file{name: filepath.Join(p.rel(), name), ast: parsed, fset: fset})
		}
		all = append(all, &p)
	}
}

func packages(t *testing.T) []*pkg {
	t.Helper()
	all, err := repo()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d packages found", len(all))
	}
	return all
}

// goList runs go list at the root of the repository.
func goList(args ...string) (string, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = filepath.Join("..", "..", "..")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.New(string(exit.Stderr))
	}
	return string(out), err
}

// rel is the path of the package below the module.
func (p *pkg) rel() string { return ours(p.ImportPath) }

// ours cuts the module off an import path; "" means that it is not ours.
func ours(path string) string {
	rel, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return ""
	}
	return rel
}

// match reports whether path is pattern, or below it when that ends in "/...".
func match(pattern, path string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == dir || strings.HasPrefix(path, dir+"/")
	}
	return path == pattern
}

func matchAny(patterns []string, path string) bool {
	for _, p := range patterns {
		if match(p, path) {
			return true
		}
	}
	return false
}
