package store_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// source type-checks the package far enough to evaluate its constants, and returns its files.
func source(t *testing.T) (files []*ast.File, constants map[string]string) {
	t.Helper()
	fset := token.NewFileSet()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	cfg := types.Config{Error: func(error) {}, Importer: nil} // imports do not resolve, string constants do
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	cfg.Check("store", fset, files, info) //nolint:errcheck // see Error above
	constants = make(map[string]string)
	for id, obj := range info.Defs {
		if c, ok := obj.(*types.Const); ok && strings.HasPrefix(id.Name, "sql") && c.Val().Kind() == constant.String {
			constants[id.Name] = constant.StringVal(c.Val())
		}
	}
	return files, constants
}

// PostgreSQL takes every statement of the package against the newest schema.
func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	_, pool := setup(t)
	_, constants := source(t)
	prepared := 0
	for name, sql := range constants {
		// Parts; and LISTEN and LOCK cannot be prepared: TestListen and TestRestore run them.
		if strings.HasSuffix(name, "Columns") || name == "sqlListen" || name == "sqlRestoreLock" {
			continue
		}
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rewritten, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), conn.Conn(), sql, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := conn.Conn().Prepare(t.Context(), name, rewritten); err != nil {
			t.Errorf("%s: %v\n%s", name, err, rewritten)
		}
		conn.Release()
		prepared++
	}
	if prepared < 10 {
		t.Errorf("only %d statements were found", prepared)
	}
}

// A statement that is written at its call would escape the test above, and SELECT * would follow the schema silently.
func TestStatementsAreConstants(t *testing.T) {
	t.Parallel()
	files, constants := source(t)
	for name, sql := range constants {
		if strings.Contains(sql, "*") && !strings.Contains(sql, "count(*)") {
			t.Errorf("%s names no columns", name)
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || (sel.Sel.Name != "Exec" && sel.Sel.Name != "Query" && sel.Sel.Name != "QueryRow") {
				return true
			}
			if id, ok := call.Args[1].(*ast.Ident); !ok || !strings.HasPrefix(id.Name, "sql") {
				t.Errorf("%s in %s is called with a statement that is no constant", sel.Sel.Name, f.Name.Name)
			}
			return true
		})
	}
}
