package repocheck

import (
	"go/ast"
	"strconv"
	"strings"
	"testing"
)

const (
	maxFile     = 500
	maxFunction = 110
)

// calls says which functions only some packages may call.
var calls = []struct { //nolint:gochecknoglobals // a table
	pkg     string
	names   []string
	by      []string
	because string
}{
	{
		"os",
		[]string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv"},
		[]string{"cmd/internal/paths", "runtime/launch", "runtime/taskrunner", "e2e/..."},
		"cmd/internal/paths alone reads the environment, and launch with the runner before it, which make a program's from it; everybody else is handed what it needs",
	},
	{"syscall", []string{"Getenv", "Environ", "Setenv"}, nil, "cmd/internal/paths alone reads the environment"},
	{"time", []string{"Sleep"}, []string{"e2e/harness"}, "wait for an event instead"},
	{"os", []string{"Exit"}, []string{"cmd/corral", "e2e/proof/report"}, "only main ends the process"},
	{"fmt", []string{"Print", "Printf", "Println"}, nil, "standard output is handed in"},
	{"signal", []string{"Ignore"}, nil, "an ignored signal is inherited by tmux and every shell in it; catch it instead"},
	{"syscall", []string{"Umask"}, nil, "it is inherited by tmux and every shell in it; give the mode instead"},
	{"unix", []string{"Umask"}, nil, "it is inherited by tmux and every shell in it; give the mode instead"},
	{"lipgloss", []string{"Color", "AdaptiveColor"}, []string{"tui/style"}, "a colour is a token of the theme"},
	{"slog", []string{"Default", "Info", "Warn", "Error", "Debug"}, nil, "the logger is handed in"},
	{"slog", []string{"SetDefault"}, []string{"cmd/corral"}, "only main silences what the standard library logs by itself"},
}

func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, f := range p.files {
			imports := importNames(f.ast)
			ast.Inspect(f.ast, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := sel.X.(*ast.Ident)
				if !ok {
					return true
				}
				for _, c := range calls {
					if imports[x.Name] != c.pkg || matchAny(c.by, p.rel()) {
						continue
					}
					for _, name := range c.names {
						if sel.Sel.Name == name {
							t.Errorf("%s:%d: %s.%s: %s", f.name, f.fset.Position(sel.Pos()).Line, c.pkg, name, c.because)
						}
					}
				}
				return true
			})
		}
	}
}

// importNames maps the names by which a file knows its imports to the last element of their paths.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		last := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			names[i.Name.Name] = last
			continue
		}
		names[last] = last
	}
	return names
}

// TestNoInit: what happens before main cannot be handed anything, and every start of a session pays for it.
func TestNoInit(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.rel() == "tui/internal/nobackgroundquery" {
			continue // its reason for being
		}
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s has an init function", f.name)
				}
			}
		}
	}
}

func TestEveryPackageExplainsItself(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if len(p.files) == 0 {
			continue // tests only
		}
		var doc string
		for _, f := range p.files {
			if f.ast.Doc != nil {
				doc += f.ast.Doc.Text()
			}
		}
		want := "Package " + p.files[0].ast.Name.Name + " "
		if p.files[0].ast.Name.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(doc, want) {
			t.Errorf("%s has no comment that begins with %q", p.rel(), want)
		}
	}
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, f := range p.files {
			if ast.IsGenerated(f.ast) {
				continue
			}
			if lines := f.fset.Position(f.ast.FileEnd).Line; lines > maxFile {
				t.Errorf("%s has %d lines; at most %d", f.name, lines, maxFile)
			}
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				from, to := f.fset.Position(fn.Pos()).Line, f.fset.Position(fn.End()).Line
				if lines := to - from + 1; lines > maxFunction {
					t.Errorf("%s:%d: %s has %d lines; at most %d", f.name, from, fn.Name.Name, lines, maxFunction)
				}
			}
		}
	}
}

func TestEveryExportedNameIsExplained(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !wellKnown[d.Name.Name] {
						t.Errorf("%s:%d: %s has no comment", f.name, f.fset.Position(d.Pos()).Line, d.Name.Name)
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil && ts.Comment == nil {
							t.Errorf("%s:%d: %s has no comment", f.name, f.fset.Position(ts.Pos()).Line, ts.Name.Name)
						}
					}
				}
			}
		}
	}
}

// wellKnown methods implement an interface of the standard library or of Bubble Tea that everybody knows.
var wellKnown = map[string]bool{ //nolint:gochecknoglobals // a table
	"Error": true, "String": true, "Read": true, "Write": true, "Close": true, "Unwrap": true, "Is": true,
	"Init": true, "Update": true, "View": true, "Fd": true, "Name": true, "Len": true, "Less": true, "Swap": true,
}

// exportedReceiver reports whether fn is a function, or a method of an exported type.
func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}
